// format/: one 16-byte entry of the record table, little endian: offset u32, phys_length u32, logic_length u32,
// chunk_id u16, codec u8, reserved u8 (written 0, ignored on reading).

import { ENTRY_BYTES, MAX_RECORD_BYTES } from './limits.ts'

/** How a record's bytes are stored: 0 as they are, 1 as a raw deflate stream. */
export const CODEC_RAW = 0
export const CODEC_FLATE = 1

/** Where one record lies and how it is stored. */
export interface Entry {
  readonly offset: number
  /** Stored bytes. */
  readonly phys: number
  /** Bytes after decoding. */
  readonly logic: number
  readonly chunk: number
  readonly codec: number
}

/** Writes `entry` as the 16 bytes at `at`. */
export function encodeEntry(view: DataView, at: number, entry: Entry): void {
  view.setUint32(at, entry.offset, true)
  view.setUint32(at + 4, entry.phys, true)
  view.setUint32(at + 8, entry.logic, true)
  view.setUint16(at + 12, entry.chunk, true)
  view.setUint8(at + 14, entry.codec)
  view.setUint8(at + 15, 0)
}

/** The entry at byte `at`. Nothing is checked: see {@link entryFault}. */
export function decodeEntry(view: DataView, at: number): Entry {
  return {
    offset: view.getUint32(at, true),
    phys: view.getUint32(at + 4, true),
    logic: view.getUint32(at + 8, true),
    chunk: view.getUint16(at + 12, true),
    codec: view.getUint8(at + 14),
  }
}

/** Byte position of entry `index` in meta.zr. */
export function entryPosition(index: number): number {
  return 16 + index * ENTRY_BYTES
}

/**
 * Why an entry may not be followed, or undefined when it may: known codec, lengths within 1 … 2^20, a raw record
 * stored at its own length, and the stored bytes before `limits[chunk]`.
 * @param limits first byte of each chunk that is not readable: the frontier or the end of the file
 */
export function entryFault(entry: Entry, limits: ArrayLike<number>): string | undefined {
  const { offset, phys, logic, chunk, codec } = entry
  if (codec !== CODEC_RAW && codec !== CODEC_FLATE) return `unknown codec ${codec}`
  if (logic < 1 || logic > MAX_RECORD_BYTES) return `logical length ${logic} outside 1 … ${MAX_RECORD_BYTES}`
  if (phys < 1 || phys > MAX_RECORD_BYTES) return `stored length ${phys} outside 1 … ${MAX_RECORD_BYTES}`
  if (codec === CODEC_RAW && phys !== logic)
    return `raw, but stored length ${phys} differs from logical length ${logic}`
  const limit = limits[chunk]
  if (limit === undefined) return `chunk ${chunk} is past the last chunk ${limits.length - 1}`
  if (offset + phys > limit) return `bytes ${offset} … ${offset + phys} reach past ${limit}, the end of chunk ${chunk}`
  return undefined
}
