// kernel/: the module's exports. It has no static data and no heap: every function works on the addresses it is given,
// so any number of threads may run it over one shared memory.

export { copyFixed, copyOffsets, resolve } from './gather'
