// format/: the bytes on disk, as pure functions. This file: the fixed limits of the format (docs/format.md).

/** Bytes of the header at the start of meta.zr. */
export const HEADER_BYTES = 16
/** Bytes of one entry of the record table. */
export const ENTRY_BYTES = 16
/** The most records a store may hold. */
export const MAX_RECORDS: number = 2 ** 24
/** The longest record, in bytes after decoding; stored bytes are bounded by the same number. */
export const MAX_RECORD_BYTES: number = 2 ** 20
/** The highest chunk number. */
export const MAX_CHUNK = 4095
/** Size of a chunk file as the original makes it (sparse). No stored byte lies at the last position. */
export const CHUNK_BYTES: number = 2 ** 32
/** Size of meta.zr as the original makes it (sparse): header and a full record table. */
export const META_BYTES: number = HEADER_BYTES + MAX_RECORDS * ENTRY_BYTES
/** Records of at most this many bytes are never compressed. */
export const MAX_UNCOMPRESSED_BYTES = 16
/** Name of the file with header and record table. */
export const META_NAME = 'meta.zr'
/** Name of the file that describes a dataset's samples. */
export const SCHEMA_NAME = 'schema.json'

/** Name of chunk file number `chunk`. */
export function chunkName(chunk: number): string {
  return `${chunk}.zr`
}
