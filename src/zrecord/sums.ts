// zrecord/: the sums of a store's records as this process has them: read once, kept beside the table, written with every
// change. What another writer changed is recognised by the entry's sum and never believed.

import { entryPosition } from '../format/entry.ts'
import { type Header, sameHeader } from '../format/header.ts'
import { ENTRY_BYTES } from '../format/limits.ts'
import {
  type Crc32,
  decodeSumsHeader,
  encodeSumsHeader,
  SUM_BYTES,
  SUMS_HEADER_BYTES,
  SUMS_NAME,
  stampCovers,
  sumPosition,
} from '../format/sums.ts'
import { checksums } from '../kernel/checksums.ts'
import type { StoreDirectory } from '../storage/files.ts'
import type { WriteFiles } from './write-files.ts'

/** The CRC-32 that the store's files use. */
export const crc32: Crc32 = (bytes) => checksums().crc32(bytes)

/** How far the sums of a store may be believed. */
export interface SumsState {
  /** Records, from 0, that have sums; 0 when there are none, or none that may be believed. */
  readonly summed: number
  /** Whether the sums are up to date: nobody else changed the store since. */
  readonly exact: boolean
  /** Whether the file is there. */
  readonly present: boolean
}

/** Looks at sums.zr for a store whose header is `header`. */
export function readSumsState(directory: StoreDirectory, header: Header): SumsState {
  const facts = directory.look(SUMS_NAME)
  if (facts === undefined || !facts.plain) return { summed: 0, exact: false, present: false }
  const file = directory.open(SUMS_NAME, 'read')
  try {
    const bytes = new Uint8Array(Math.min(SUMS_HEADER_BYTES, file.size()))
    file.readSync(bytes, 0)
    const stamp = decodeSumsHeader(bytes, crc32)
    if (stamp === undefined || !stampCovers(stamp, header)) return { summed: 0, exact: false, present: true }
    const room = Math.floor((file.size() - SUMS_HEADER_BYTES) / SUM_BYTES)
    // What lies behind the stamp may be left of an append that never happened.
    return { summed: Math.min(stamp.length, room), exact: sameHeader(stamp, header), present: true }
  } finally {
    file.close()
  }
}

/** The sums of the first `count` records: two numbers each, of the stored bytes and of the entry; 0 past the file. */
export function readSums(directory: StoreDirectory, count: number): Uint32Array {
  const sums = new Uint32Array(2 * count)
  if (count === 0) return sums
  const file = directory.open(SUMS_NAME, 'read')
  try {
    const bytes = Math.min(sums.byteLength, Math.max(0, file.size() - SUMS_HEADER_BYTES))
    file.readSync(new Uint8Array(sums.buffer, 0, bytes), SUMS_HEADER_BYTES)
  } finally {
    file.close()
  }
  return sums
}

/** Bytes that are read and written together. */
const BLOCK_RECORDS = 65536

/**
 * Before the sums are brought up to date after another writer changed the store: forgets those that belong to other
 * entries than the table has now, so that none of them counts later. A mapped file must not be cut, so zeros are
 * written.
 */
export async function settleSums(files: WriteFiles, header: Header, state: SumsState): Promise<void> {
  if (state.exact || !state.present) return
  const file = await files.get(SUMS_NAME)
  const meta = await files.meta
  for (let first = 0; first < header.length; first += BLOCK_RECORDS) {
    const count = Math.min(BLOCK_RECORDS, header.length - first)
    const known = Math.max(0, Math.min(count, state.summed - first))
    const sums = new Uint32Array(2 * count)
    const bytes = new Uint8Array(sums.buffer)
    if (known > 0) {
      const entries = new Uint8Array(ENTRY_BYTES * known)
      await file.read(bytes.subarray(0, SUM_BYTES * known), sumPosition(first))
      await meta.read(entries, entryPosition(first))
      const now = new Uint32Array(2 * known)
      checksums().entries(entries, now)
      for (let i = 0; i < known; i++) if (now[2 * i + 1] !== sums[2 * i + 1]) sums.fill(0, 2 * i, 2 * i + 2)
    }
    await file.write(bytes, sumPosition(first))
  }
}

/** Writes the sums of records from `first` on. */
export async function writeSums(files: WriteFiles, first: number, sums: Uint32Array): Promise<void> {
  const bytes = new Uint8Array(sums.buffer, sums.byteOffset, sums.byteLength)
  await (await files.get(SUMS_NAME)).write(bytes, sumPosition(first))
}

/** Says that the sums are up to date for a store whose header is `header`. */
export async function stampSums(files: WriteFiles, header: Header): Promise<void> {
  await (await files.get(SUMS_NAME)).write(encodeSumsHeader(header, crc32), 0)
}

/** Which of the first `summed` records are sealed: their entry is the one that was summed. One byte a record. */
export function sealedRecords(meta: Uint8Array, sums: Uint32Array, summed: number): Uint8Array {
  const now = new Uint32Array(2 * summed)
  checksums().entries(meta.subarray(16, 16 + 16 * summed), now)
  return Uint8Array.from({ length: summed }, (_, i) => (now[2 * i + 1] === sums[2 * i + 1] ? 1 : 0))
}
