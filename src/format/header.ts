// format/: the 16-byte header of meta.zr, little endian: magic "ZREC", version u16, tail_chunk u16, tail_offset u32,
// length u32.

import { LoaderxError } from '../errors.ts'
import { HEADER_BYTES, MAX_CHUNK, MAX_RECORDS } from './limits.ts'

/** The header's fields. The frontier (tailChunk, tailOffset) is where the next record goes. */
export interface Header {
  readonly tailChunk: number
  readonly tailOffset: number
  /** Number of live records. */
  readonly length: number
}

/** The header of a store without records. */
export const EMPTY_HEADER: Header = { tailChunk: 0, tailOffset: 0, length: 0 }

const MAGIC = 0x4345525a
/** The version of the format that is read and written. */
export const FORMAT_VERSION = 1

/** Whether two headers say the same. */
export function sameHeader(a: Header, b: Header): boolean {
  return a.length === b.length && a.tailChunk === b.tailChunk && a.tailOffset === b.tailOffset
}

/** The 16 bytes of `header`. */
export function encodeHeader(header: Header): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, MAGIC, true)
  view.setUint16(4, FORMAT_VERSION, true)
  view.setUint16(6, header.tailChunk, true)
  view.setUint32(8, header.tailOffset, true)
  view.setUint32(12, header.length, true)
  return bytes
}

/**
 * Reads a header and checks everything that can be checked from its bytes alone.
 * @param bytes the first bytes of meta.zr (all there are, if fewer than 16)
 * @param path for the message
 * @throws LOADERX_NOT_A_STORE, LOADERX_NEWER_VERSION, LOADERX_CORRUPT_STORE
 */
export function decodeHeader(bytes: Uint8Array, path: string): Header {
  if (bytes.length < HEADER_BYTES) {
    throw new LoaderxError(
      'LOADERX_NOT_A_STORE',
      `${path} has ${bytes.length} bytes, fewer than a header's ${HEADER_BYTES}: it was cut, or its store was never finished; restore it from a copy`,
      { path, expected: HEADER_BYTES, actual: bytes.length },
    )
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES)
  if (view.getUint32(0, true) !== MAGIC) {
    const found = [...bytes.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ')
    throw new LoaderxError(
      'LOADERX_NOT_A_STORE',
      `${path} does not start with the magic "ZREC" (found ${found}): it is not a zrecord store, or its header is damaged`,
      { path, offset: 0, expected: '5a 52 45 43', actual: found },
    )
  }
  const version = view.getUint16(4, true)
  if (version > FORMAT_VERSION) {
    throw new LoaderxError(
      'LOADERX_NEWER_VERSION',
      `${path} has format version ${version}, newer than version ${FORMAT_VERSION} that this loaderx reads; update loaderx`,
      { path, offset: 4, expected: FORMAT_VERSION, actual: version },
    )
  }
  const header = {
    tailChunk: view.getUint16(6, true),
    tailOffset: view.getUint32(8, true),
    length: view.getUint32(12, true),
  }
  const fault =
    version !== FORMAT_VERSION
      ? `version ${version}, not ${FORMAT_VERSION}`
      : header.tailChunk > MAX_CHUNK
        ? `tail chunk ${header.tailChunk}, above the limit ${MAX_CHUNK}`
        : header.length > MAX_RECORDS
          ? `length ${header.length}, above the limit ${MAX_RECORDS}`
          : undefined
  if (fault !== undefined) {
    throw new LoaderxError(
      'LOADERX_CORRUPT_STORE',
      `${path} has a damaged header: ${fault}; restore the store from a copy`,
      { path },
    )
  }
  return header
}
