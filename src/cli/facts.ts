// cli/: what is to be known about a store without reading its records: from its table, its schema and its files.

import { datasetDirectory } from '../dataset/open.ts'
import { readSchema, type SampleSchema } from '../dataset/schema-file.ts'
import { decodeEntry, entryFault, entryPosition } from '../format/entry.ts'
import { CHUNK_BYTES, chunkName, ENTRY_BYTES, MAX_RECORD_BYTES, META_NAME, SCHEMA_NAME } from '../format/limits.ts'
import type { StoreFile } from '../storage/files.ts'
import { checkIsStore, StoreFiles } from '../zrecord/files.ts'
import { readFrontier } from '../zrecord/frontier.ts'

/** What the record table says about a run of records. Entries that may not be followed are counted, and nothing more. */
interface TableFacts {
  /** Bytes that the records take in the chunks. */
  readonly storedBytes: number
  /** Bytes of the records after decoding. */
  readonly logicalBytes: number
  /** Records that are stored deflated. */
  readonly compressed: number
  /** Bytes of the shortest, the middle one (of two the shorter) and the longest record; of no records undefined. */
  readonly lengths: { readonly min: number; readonly median: number; readonly max: number } | undefined
  /** Records whose entry is damaged, and the first of them. */
  readonly damaged: { readonly count: number; readonly first: number }
  /** Records of another length than `wanted`, and the first of them. */
  readonly unfit: { readonly count: number; readonly first: number }
}

/** What is known about a store. */
export interface StoreFacts {
  /** Absolute. */
  readonly path: string
  readonly records: number
  readonly schema: SampleSchema | undefined
  readonly table: TableFacts
  readonly chunks: number
  /** Bytes of the chunks up to where the next record goes; what is not a live record's can be won back. */
  readonly chunkBytes: number
  /** Bytes that the store's files take on the disk; the files are sparse. */
  readonly allocatedBytes: number
  /** Whether the header's end lies before that of the last record. */
  readonly frontierDamaged: boolean
}

/** Table entries that are read at a time. */
const PIECE_ENTRIES = 65536

/**
 * Adds up the entries of records `first` … `last - 1`.
 * @param limits first byte of each chunk that may not be read
 * @param wanted length that every record should have, where there is one
 */
function scanTable(
  meta: StoreFile,
  first: number,
  last: number,
  limits: ArrayLike<number>,
  wanted: number | undefined,
): TableFacts {
  const found = new Uint32Array(MAX_RECORD_BYTES + 1)
  const damaged = { count: 0, first: -1 }
  const unfit = { count: 0, first: -1 }
  let storedBytes = 0
  let logicalBytes = 0
  let compressed = 0
  const piece = new Uint8Array(Math.max(0, Math.min(PIECE_ENTRIES, last - first)) * ENTRY_BYTES)
  const view = new DataView(piece.buffer)
  for (let start = first; start < last; start += PIECE_ENTRIES) {
    const entries = Math.min(PIECE_ENTRIES, last - start)
    meta.readSync(piece.subarray(0, entries * ENTRY_BYTES), entryPosition(start))
    for (let i = 0; i < entries; i++) {
      const entry = decodeEntry(view, i * ENTRY_BYTES)
      if (entryFault(entry, limits) !== undefined) {
        if (damaged.count++ === 0) damaged.first = start + i
        continue
      }
      if (wanted !== undefined && entry.logic !== wanted && unfit.count++ === 0) unfit.first = start + i
      storedBytes += entry.phys
      logicalBytes += entry.logic
      compressed += entry.codec
      found[entry.logic]!++
    }
  }
  return { storedBytes, logicalBytes, compressed, lengths: lengthsOf(found), damaged, unfit }
}

function lengthsOf(found: Uint32Array): TableFacts['lengths'] {
  const records = found.reduce((sum, many) => sum + many, 0)
  if (records === 0) return undefined
  const middle = Math.ceil(records / 2)
  let passed = 0
  const median = found.findIndex((many) => {
    passed += many
    return passed >= middle
  })
  return { min: found.findIndex((many) => many > 0), median, max: found.findLastIndex((many) => many > 0) }
}

/**
 * Looks at the store at `path`; nothing changes.
 * @param first the first record whose table entry counts; past the last one the table is not read
 * @throws LOADERX_NOT_FOUND, LOADERX_NOT_A_DIRECTORY, LOADERX_NOT_A_STORE, LOADERX_NEWER_VERSION,
 * LOADERX_CORRUPT_STORE, LOADERX_INVALID_SCHEMA, LOADERX_UNSUPPORTED_DTYPE, LOADERX_IO
 */
export function storeFacts(path: string, first = 0): StoreFacts {
  const directory = datasetDirectory(path)
  checkIsStore(directory)
  const schema = readSchema(directory)
  const files = new StoreFiles(directory)
  try {
    const { header, limits, frontierDamaged } = readFrontier(directory, files.meta)
    const chunks = header.tailChunk + 1
    const names = [META_NAME, SCHEMA_NAME, ...Array.from({ length: chunks }, (_, chunk) => chunkName(chunk))]
    return {
      path: directory.path,
      records: header.length,
      schema,
      table: scanTable(files.meta, first, header.length, limits, schema?.sampleBytes),
      chunks,
      chunkBytes: header.tailChunk * CHUNK_BYTES + header.tailOffset,
      allocatedBytes: names.reduce((sum, name) => sum + (directory.look(name)?.allocated ?? 0), 0),
      frontierDamaged,
    }
  } finally {
    files.close()
  }
}
