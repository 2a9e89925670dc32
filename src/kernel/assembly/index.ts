// kernel/: the module's exports. It has no static data and no heap: every function works on the addresses it is given,
// so any number of threads may run it over one shared memory.

export { cast, castScaled } from './cast'
export { crc32, crcTables } from './crc32'
export { copyFixed, copyOffsets, resolve } from './gather'
export { shuffle } from './shuffle'
export { checkSums, sumEntries, sumRecords } from './sums'
export { random, randomSeed, randomSkip, sequential } from './streams'
