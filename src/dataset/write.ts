// dataset/: carries rows from a source into a dataset. Everything that can be known is checked first; then the store is
// made where there is none, and rows are appended a chunk at a time.

import { isLoaderxError, LoaderxError } from '../errors.ts'
import { MAX_RECORD_BYTES, MAX_RECORDS, META_NAME, SCHEMA_NAME } from '../format/limits.ts'
import { MAX_DIMENSIONS, shapeProduct } from '../format/schema.ts'
import type { StoreDirectory } from '../storage/files.ts'
import { createStore } from '../zrecord/create.ts'
import { takeTurn } from '../zrecord/turns.ts'
import type { Codec } from '../zrecord/writer.ts'
import { Zrecord } from '../zrecord/zrecord.ts'
import { swapBytes } from './bytes.ts'
import { dtypeInfo } from './dtype.ts'
import { checkRecords, datasetDirectory } from './open.ts'
import { describeSamples, readSchema, type SampleSchema, writeSchema } from './schema-file.ts'
import { openSource, type RowInput, type RowSource } from './source.ts'

/** How far a write has come. */
export interface WriteProgress {
  /** Rows written by this call. */
  readonly rows: number
  /** Their bytes, before encoding. */
  readonly bytes: number
  /** Rows that the source has, where that is known. */
  readonly totalRows: number | undefined
}

/** Options of {@link Dataset.write}. */
export interface WriteOptions {
  /** Whether each element of an iterable is a block of rows and not one row. Default false. */
  readonly blocks?: boolean
  /** The most bytes that are read and appended at a time, but at least one row. Default 64 MiB. */
  readonly chunkBytes?: number
  /** Codec of a new dataset; one that exists keeps its own. Default `'flate'`. */
  readonly codec?: Codec
  /** Called after every chunk. */
  readonly onProgress?: (progress: WriteProgress) => void
  /** Ends the write. Chunks that have been appended stay, as whole samples. */
  readonly signal?: AbortSignal
}

/** What a write did. */
export interface WriteSummary {
  /** Rows written by this call. */
  readonly rows: number
  /** Their bytes, before encoding. */
  readonly bytes: number
  /** Samples in the dataset when the write ended. */
  readonly length: number
}

const CHUNK_BYTES = 64 * 2 ** 20

/** Writes the rows of `input` to the dataset at `path`. See Dataset.write. */
export async function writeDataset(path: string, input: RowInput, options: WriteOptions): Promise<WriteSummary> {
  const { blocks = false, chunkBytes = CHUNK_BYTES, codec = 'flate', signal } = options
  const directory = datasetDirectory(path)
  checkOptions(chunkBytes, codec)
  signal?.throwIfAborted()
  const source = await openSource(input, blocks, signal)
  try {
    const wanted = sourceSchema(source, codec, directory.path)
    checkTarget(directory, wanted)
    const reader = source.blocks({ maxBytes: chunkBytes, signal })[Symbol.asyncIterator]()
    try {
      // The first rows are read before anything is made: a source that fails at once leaves nothing behind.
      const first = await reader.next()
      const target = await takeTurn(`${directory.path}/${SCHEMA_NAME}`, () => openTarget(directory, wanted))
      return await copy(first, reader, target, source, wanted, options)
    } finally {
      await reader.return?.()
    }
  } finally {
    await source.close()
  }
}

function checkOptions(chunkBytes: number, codec: Codec): void {
  if (!Number.isSafeInteger(chunkBytes) || chunkBytes < 1) {
    const message = `chunkBytes is ${String(chunkBytes)}; give a number of bytes, at least 1`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: chunkBytes })
  }
  if (codec === 'raw' || codec === 'flate') return
  const message = `codec is ${JSON.stringify(codec)}; use 'raw' or 'flate'`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: codec })
}

/** The schema of a new dataset for the rows of `source`. */
function sourceSchema(source: RowSource, codec: Codec, path: string): SampleSchema {
  const info = dtypeInfo(source.dtype, 'source')
  const shape = [...source.rowShape]
  const bad = shape.find((dimension) => !Number.isSafeInteger(dimension) || dimension < 0)
  const described = describeSamples(info.name, shape)
  if (bad !== undefined || shape.length > MAX_DIMENSIONS) {
    const message = `source has rows of ${described}; dimensions are whole numbers from 0, at most ${MAX_DIMENSIONS} of them`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: shape })
  }
  const sampleBytes = (shapeProduct(shape) ?? Number.POSITIVE_INFINITY) * info.itemBytes
  if (sampleBytes === 0) {
    throw new LoaderxError(
      'LOADERX_EMPTY_RECORD',
      `source has rows of ${described}, which have no bytes; ${path} cannot hold empty samples`,
      { path, actual: 0 },
    )
  }
  if (sampleBytes > MAX_RECORD_BYTES) {
    throw new LoaderxError(
      'LOADERX_RECORD_TOO_LARGE',
      `source has rows of ${described}, ${sampleBytes} bytes each; ${path} holds samples of at most ${MAX_RECORD_BYTES} bytes (1 MiB): cut them, or store them encoded with Zrecord`,
      { path, expected: MAX_RECORD_BYTES, actual: sampleBytes },
    )
  }
  if (source.length !== undefined && source.length > MAX_RECORDS) {
    throw new LoaderxError(
      'LOADERX_STORE_FULL',
      `source has ${source.length} rows, but ${path} holds at most ${MAX_RECORDS}; write several datasets and join them with Dataset.concat`,
      { path, expected: MAX_RECORDS, actual: source.length },
    )
  }
  return { dtype: info.descr, shape, codec, info, sampleBytes }
}

/**
 * The schema that stands at the target, or undefined. Nothing is changed.
 * @throws LOADERX_SCHEMA_MISMATCH, LOADERX_NOT_A_DIRECTORY, and as Dataset.open
 */
function checkTarget(directory: StoreDirectory, wanted: SampleSchema): SampleSchema | undefined {
  const there = readSchema(directory)
  if (there === undefined) return undefined
  const expected = describeSamples(there.info.name, there.shape)
  const actual = describeSamples(wanted.info.name, wanted.shape)
  if (actual === expected) return there
  throw new LoaderxError(
    'LOADERX_SCHEMA_MISMATCH',
    `${directory.path} has samples of ${expected}, but the rows to write are ${actual}; convert them, or write to another path`,
    { path: directory.path, expected, actual },
  )
}

/** A dataset to append to. */
interface Target {
  readonly store: Zrecord
  readonly schema: SampleSchema
  /** Takes back what was made. */
  undo(): Promise<void>
}

async function openTarget(directory: StoreDirectory, wanted: SampleSchema): Promise<Target> {
  const there = checkTarget(directory, wanted)
  const schema = there ?? wanted
  const undoStore = directory.look(META_NAME) === undefined ? await createStore(directory) : undefined
  let store: Zrecord | undefined
  let wroteSchema = false
  const undo = async (): Promise<void> => {
    const empty = store === undefined || store.length === 0
    await store?.close()
    if (!empty) return
    if (wroteSchema) await directory.remove(SCHEMA_NAME)
    await undoStore?.()
  }
  try {
    store = await Zrecord.open(directory.path, { codec: schema.codec, residency: 'file' })
    if (there !== undefined) checkRecords(store, schema)
    else {
      checkEmpty(store)
      await writeSchema(directory, schema)
      wroteSchema = true
    }
    return { store, schema, undo }
  } catch (error) {
    await undo().catch(() => {})
    throw error
  }
}

function checkEmpty(store: Zrecord): void {
  const { length, path } = store
  if (length === 0) return
  throw new LoaderxError(
    'LOADERX_SCHEMA_MISMATCH',
    `${path} is a store of ${length} plain records without a ${SCHEMA_NAME}; write the dataset to another path`,
    { path, expected: 0, actual: length },
  )
}

async function copy(
  first: IteratorResult<Uint8Array>,
  reader: AsyncIterator<Uint8Array>,
  { store, schema, undo }: Target,
  source: RowSource,
  wanted: SampleSchema,
  { signal, onProgress }: WriteOptions,
): Promise<WriteSummary> {
  const swap = schema.info.bigEndian !== wanted.info.bigEndian
  let rows = 0
  let bytes = 0
  try {
    for (let result = first; !result.done; result = await reader.next()) {
      signal?.throwIfAborted()
      const block = swap ? result.value.slice() : result.value
      if (swap) swapBytes(block, schema.info.elementBytes)
      await store.append(block, schema.sampleBytes, signal === undefined ? {} : { signal })
      rows += block.length / schema.sampleBytes
      bytes += block.length
      onProgress?.({ rows, bytes, totalRows: source.length })
    }
    return { rows, bytes, length: store.length }
  } catch (error) {
    // What went wrong first is what the caller is to hear.
    if (rows === 0) await undo().catch(() => {})
    throw rows > 0 && isLoaderxError(error) ? partial(error, rows, store.path) : error
  } finally {
    await store.close()
  }
}

/** The error of a write that had begun, with what it left. */
function partial(error: LoaderxError, rows: number, path: string): LoaderxError {
  const message = `${error.message}; ${path} keeps the ${rows} rows that were written before`
  return new LoaderxError(error.code, message, error.details, { cause: error })
}
