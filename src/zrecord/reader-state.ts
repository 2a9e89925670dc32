// zrecord/: what a reader works on, as plain data that can be sent to another thread, and the scratch that it needs.

import { MAX_CHUNK } from '../format/limits.ts'
import type { WindowState } from './windows.ts'

/** Everything that a thread needs to read a store; can be sent to a worker. */
export interface ReaderState {
  readonly path: string
  readonly kind: 'memory' | 'mapped' | 'file'
  readonly length: number
  readonly limits: Uint32Array
  /** The memory that holds the record table (with the header before it) and, when `dataAddress` is set, chunk 0. */
  readonly memory: WebAssembly.Memory
  readonly metaAddress: number
  readonly dataAddress: number | undefined
  /** Bytes of chunk 0 from `dataAddress`. */
  readonly dataBytes: number
  /** For `file`: one byte for each 64 KiB of meta.zr, 1 when it has been read to its place. */
  readonly pagesAddress: number | undefined
  readonly windowBytes: number
  readonly windows: readonly WindowState[]
}

/** Which records a gather accepts: any that fits, or only those of exactly one length (samples of a dataset). */
export interface GatherBounds {
  readonly exactly?: number
}

/** Records shorter than this are copied by one kernel call and a second copy of the whole batch. */
export const SMALL_BYTES = 4096
/** Most bytes that a batch takes beside the store before it is copied record by record. */
export const SCRATCH_BYTES: number = 32 * 2 ** 20
/** Bytes of scratch for the first unreadable byte of each of the most chunks that there can be. */
export const LIMITS_BYTES: number = (MAX_CHUNK + 1) * 4

/** Gives an address in the state's memory, or undefined where there is no more room. */
export type Allocate = (bytes: number) => number | undefined

/** Bytes of scratch that a reader needs for batches of `n` records. */
export function readerScratch(n: number): number {
  return LIMITS_BYTES + n * 24
}

/** Bytes of scratch beside that for batches of `n` records of `bytes` bytes that go to another memory without a gap. */
export function bulkScratch(n: number, bytes: number): number {
  return bytes < SMALL_BYTES && n * bytes <= SCRATCH_BYTES ? 2 * (n * (bytes + 4) + 64) : 0
}
