// zrecord/: checks records against their sums as they are read: each the first time that the process touches it, always,
// or never. Lies in the store's shared memory, so all threads know what any of them has checked.

import { crc32 } from 'node:zlib'
import { LoaderxError } from '../errors.ts'
import type { KernelExports } from '../kernel/kernel.ts'
import type { Plan } from './plan.ts'

/**
 * When a record is checked against its checksum: the first time this process reads it (default), each time, or never.
 * Records that another program wrote have none and are not checked until `verify` seals them.
 */
export type VerifyMode = 'first' | 'always' | 'never'

/** Where the sums of a store lie in its memory; can be sent to a worker. */
export interface SealState {
  readonly mode: 'first' | 'always'
  /** Tables of the kernel's CRC-32. */
  readonly tables: number
  /** Sums of record 0. */
  readonly sums: number
  /** Records that have sums. */
  readonly summed: number
  /** Whether nobody else changed the store since: then an entry that was not summed is damaged. */
  readonly exact: boolean
  /** A bit for each record: whether it has been checked. */
  readonly seen: number
  /** For `file`: one byte for each 64 KiB of sums.zr, 1 when it has been read to its place. */
  readonly pages: number | undefined
}

/** A batch that is checked. */
export interface SealBatch {
  readonly path: string
  readonly plan: Plan
  readonly indexAt: (i: number) => number
}

function mismatch({ path, plan, indexAt }: SealBatch, i: number, expected: number, actual: number): LoaderxError {
  const index = indexAt(i)
  const hex = (sum: number) => (sum >>> 0).toString(16).padStart(8, '0')
  return new LoaderxError(
    'LOADERX_CORRUPT_RECORD',
    `record ${index} of ${path} is damaged: the checksum of its stored bytes is ${hex(actual)}, but ${hex(expected)} was written (chunk ${plan.chunk(i)}, byte ${plan.offset(i)}); restore the store from a copy, remove the record with repair, or, when another program wrote it anew in the same place, seal the store with verify`,
    {
      path,
      index,
      position: i,
      chunk: plan.chunk(i),
      offset: plan.offset(i),
      expected: hex(expected),
      actual: hex(actual),
    },
  )
}

/** Checks a whole batch whose records lie in the kernel's memory. @throws LOADERX_CORRUPT_RECORD */
export function checkInMemory(
  kernel: KernelExports,
  memory: WebAssembly.Memory,
  seals: SealState,
  batch: SealBatch,
  at: { readonly list: number; readonly plan: number; readonly base: number },
): void {
  const { tables, sums, summed, exact } = seals
  const seen = seals.mode === 'always' ? 0 : seals.seen
  const bad = kernel.checkSums(tables, at.list, at.plan, batch.plan.length, at.base, sums, summed, seen, Number(exact))
  if (bad < 0) return
  const { plan } = batch
  const expected = new DataView(memory.buffer).getUint32(sums + 8 * batch.indexAt(bad), true)
  const actual = kernel.crc32(tables, at.base + plan.offset(bad), plan.phys(bad), 0)
  throw mismatch(batch, bad, expected, actual)
}

/** Checks one record whose stored bytes lie in `bytes` from `at`. @throws LOADERX_CORRUPT_RECORD */
export function checkRecord(
  memory: WebAssembly.Memory,
  seals: SealState,
  batch: SealBatch,
  i: number,
  bytes: Uint8Array,
  at: number,
): void {
  const index = batch.indexAt(i)
  if (index >= seals.summed) return
  const flags = new Uint8Array(memory.buffer, seals.seen + (index >>> 3), 1)
  const bit = 1 << (index & 7)
  if (seals.mode === 'first' && (Atomics.load(flags, 0) & bit) !== 0) return
  const view = new DataView(memory.buffer, seals.sums + 8 * index, 8)
  const known = crc32(batch.plan.entryBytes(i)) === view.getUint32(4, true)
  if (!known && (!seals.exact || view.getBigUint64(0) === 0n)) return
  const actual = crc32(bytes.subarray(at, at + batch.plan.phys(i)))
  const expected = view.getUint32(0, true)
  if (actual !== expected) throw mismatch(batch, i, expected, actual)
  Atomics.or(flags, 0, bit)
}
