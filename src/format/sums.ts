// format/: sums.zr, the checksums beside a store (ours; the original ignores the file), little endian. A header of 32
// bytes: magic "ZSUM", version u16, 0 u16, then the store's length u32, tail_chunk u32 and tail_offset u32 when the
// sums were last brought up to date, 8 bytes of 0, and the CRC-32 of the 28 bytes before it. Then 8 bytes a record:
// CRC-32 of its stored bytes, CRC-32 of its 16-byte table entry. CRC-32 is that of zlib (RFC 1952 section 8).

import type { Header } from './header.ts'
import { MAX_RECORDS } from './limits.ts'

/** Name of the file. */
export const SUMS_NAME = 'sums.zr'
/** Bytes of its header. */
export const SUMS_HEADER_BYTES = 32
/** Bytes of one record's sums. */
export const SUM_BYTES = 8
/** Size of the file for a full record table. */
export const SUMS_BYTES: number = SUMS_HEADER_BYTES + MAX_RECORDS * SUM_BYTES

const MAGIC = 0x4d55535a
const VERSION = 1

/** Computes a CRC-32. */
export type Crc32 = (bytes: Uint8Array) => number

/** Byte position of the sums of record `index`. */
export function sumPosition(index: number): number {
  return SUMS_HEADER_BYTES + index * SUM_BYTES
}

/** The header for a store whose header is `header`. */
export function encodeSumsHeader(header: Header, crc32: Crc32): Uint8Array {
  const bytes = new Uint8Array(SUMS_HEADER_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, MAGIC, true)
  view.setUint16(4, VERSION, true)
  view.setUint32(8, header.length, true)
  view.setUint32(12, header.tailChunk, true)
  view.setUint32(16, header.tailOffset, true)
  view.setUint32(28, crc32(bytes.subarray(0, 28)), true)
  return bytes
}

/**
 * What the store's header was when the sums were last brought up to date, or undefined when the bytes are not the
 * header of this version: then no record counts as sealed.
 */
export function decodeSumsHeader(bytes: Uint8Array, crc32: Crc32): Header | undefined {
  if (bytes.length < SUMS_HEADER_BYTES) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, SUMS_HEADER_BYTES)
  if (view.getUint32(0, true) !== MAGIC || view.getUint16(4, true) !== VERSION) return undefined
  if (view.getUint32(28, true) !== crc32(bytes.subarray(0, 28))) return undefined
  return { length: view.getUint32(8, true), tailChunk: view.getUint32(12, true), tailOffset: view.getUint32(16, true) }
}

/**
 * Whether sums stamped with `stamp` may be believed for a store whose header is `now`: those of the records that the
 * stamp counts, where the table entry still has its sum. A store that became shorter was changed by another writer, which may have moved other
 * bytes to the very address that an entry names.
 */
export function stampCovers(stamp: Header, now: Header): boolean {
  if (now.length < stamp.length || now.tailChunk < stamp.tailChunk) return false
  return now.tailChunk > stamp.tailChunk || now.tailOffset >= stamp.tailOffset
}
