// zrecord/: the sums of a store's records as this process has them: read once, kept beside the table, written with every
// change. What another writer changed is recognised by the entry's sum and never believed.

import type { Header } from '../format/header.ts'
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
  /** Whether the file has sums that must not be believed and must be cleared before new ones are added. */
  readonly stale: boolean
}

/** Looks at sums.zr for a store whose header is `header`. */
export function readSumsState(directory: StoreDirectory, header: Header): SumsState {
  const facts = directory.look(SUMS_NAME)
  if (facts === undefined || !facts.plain || facts.bytes === 0) return { summed: 0, stale: false }
  const file = directory.open(SUMS_NAME, 'read')
  try {
    const bytes = new Uint8Array(Math.min(SUMS_HEADER_BYTES, file.size()))
    file.readSync(bytes, 0)
    const stamp = decodeSumsHeader(bytes, crc32)
    if (stamp === undefined || !stampCovers(stamp, header)) return { summed: 0, stale: true }
    const room = Math.floor((file.size() - SUMS_HEADER_BYTES) / SUM_BYTES)
    return { summed: Math.min(header.length, room), stale: false }
  } finally {
    file.close()
  }
}

/** The sums of the first `count` records: two numbers each, of the stored bytes and of the entry. */
export function readSums(directory: StoreDirectory, count: number): Uint32Array {
  const sums = new Uint32Array(2 * count)
  if (count === 0) return sums
  const file = directory.open(SUMS_NAME, 'read')
  try {
    file.readSync(new Uint8Array(sums.buffer), SUMS_HEADER_BYTES)
  } finally {
    file.close()
  }
  return sums
}

/** Forgets all sums, where the file has some that must not be believed. */
export async function clearStaleSums(files: WriteFiles, state: SumsState): Promise<void> {
  if (!state.stale) return
  await (await files.get(SUMS_NAME)).truncate(0)
  files.drop(SUMS_NAME)
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
