// zrecord/: what a store's header and files say now: how many records, and up to where each chunk may be read.

import { LoaderxError } from '../errors.ts'
import { decodeEntry, entryPosition } from '../format/entry.ts'
import { decodeHeader, type Header } from '../format/header.ts'
import { CHUNK_BYTES, chunkName, ENTRY_BYTES, HEADER_BYTES } from '../format/limits.ts'
import type { StoreDirectory, StoreFile } from '../storage/files.ts'

/** A snapshot of a store. */
export interface Frontier {
  readonly header: Header
  /** For each chunk the first byte that may not be read: its file's end, in the last chunk at most the frontier. */
  readonly limits: Uint32Array
  /**
   * Whether the header's frontier lies before the end of the last record. Its records can be read (up to the end of
   * the files), but an append would overwrite some.
   */
  readonly frontierDamaged: boolean
}

/** The last byte of a chunk is never used, so a limit fits in 32 bits. */
const MAX_LIMIT = CHUNK_BYTES - 1

/** Reads the header from meta.zr. @throws LOADERX_NOT_A_STORE, LOADERX_NEWER_VERSION, LOADERX_CORRUPT_STORE */
function readHeader(meta: StoreFile): Header {
  const bytes = new Uint8Array(Math.min(HEADER_BYTES, meta.size()))
  meta.readSync(bytes, 0)
  return decodeHeader(bytes, meta.path)
}

/**
 * Reads what the header and the files say and checks that they fit together: a table as long as the header claims,
 * and a plain file for every chunk.
 */
export function readFrontier(directory: StoreDirectory, meta: StoreFile): Frontier {
  const header = readHeader(meta)
  const tableEnd = entryPosition(header.length)
  const size = meta.size()
  if (size < tableEnd) {
    throw new LoaderxError(
      'LOADERX_CORRUPT_STORE',
      `${meta.path} has ${size} bytes, but its ${header.length} records need ${tableEnd}: the record table was cut; restore it from a copy`,
      { path: meta.path, expected: tableEnd, actual: size },
    )
  }
  const sizes = Array.from({ length: header.tailChunk + 1 }, (_, chunk) =>
    chunkSize(directory, chunk, header.tailChunk),
  )
  const frontierDamaged = header.length > 0 && lastRecordEnd(meta, header) > header.tailOffset
  const limits = Uint32Array.from(sizes, (bytes, chunk) =>
    Math.min(bytes, MAX_LIMIT, chunk === header.tailChunk && !frontierDamaged ? header.tailOffset : MAX_LIMIT),
  )
  return { header, limits, frontierDamaged }
}

function chunkSize(directory: StoreDirectory, chunk: number, tailChunk: number): number {
  const name = chunkName(chunk)
  const facts = directory.look(name)
  if (facts?.plain) return facts.bytes
  const path = `${directory.path}/${name}`
  throw new LoaderxError(
    'LOADERX_CORRUPT_STORE',
    facts === undefined
      ? `${path} is missing, but the header counts chunks 0 … ${tailChunk}: restore the file from a copy`
      : `${path} is not a plain file (a link, directory, pipe or device stands there); a store has only plain files`,
    { path, chunk },
  )
}

// The table is written before the header, so the last entry of a sound store never lies past the frontier.
function lastRecordEnd(meta: StoreFile, header: Header): number {
  const bytes = new Uint8Array(ENTRY_BYTES)
  meta.readSync(bytes, entryPosition(header.length - 1))
  const entry = decodeEntry(new DataView(bytes.buffer), 0)
  return entry.chunk === header.tailChunk ? entry.offset + entry.phys : 0
}
