// kernel/: all twins as one object that can stand in the place of a WebAssembly instance.

import type { KernelExports } from '../kernel.ts'
import { cast, castScaled } from './cast.ts'
import { crc32, crcTables } from './crc32.ts'
import { copyFixed, copyOffsets, resolve } from './gather.ts'
import { type TwinMemory, twinMemory } from './memory.ts'
import { shuffle } from './shuffle.ts'
import { random, randomSeed, randomSkip, sequential } from './streams.ts'
import { checkSums, sumEntries, sumRecords } from './sums.ts'

/** The kernel in plain TypeScript over `memory`: same addresses, same results, slower. */
export function twinKernel(memory: WebAssembly.Memory): KernelExports {
  let buffer: ArrayBufferLike = memory.buffer
  let views = twinMemory(buffer)
  const bind =
    <A extends unknown[], R>(run: (memory: TwinMemory, ...args: A) => R) =>
    (...args: A): R => {
      // Growing replaces the buffer.
      if (memory.buffer !== buffer) {
        buffer = memory.buffer
        views = twinMemory(buffer)
      }
      return run(views, ...args)
    }
  return {
    resolve: bind(resolve),
    copyFixed: bind(copyFixed),
    copyOffsets: bind(copyOffsets),
    crcTables: bind(crcTables),
    crc32: bind(crc32),
    cast: bind(cast),
    castScaled: bind(castScaled),
    sequential: bind(sequential),
    randomSeed: bind(randomSeed),
    randomSkip: bind(randomSkip),
    random: bind(random),
    shuffle: bind(shuffle),
    sumRecords: bind(sumRecords),
    sumEntries: bind(sumEntries),
    checkSums: bind(checkSums),
  }
}
