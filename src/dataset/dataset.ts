// dataset/: a store, or several, as arrays: every record is one sample of the same dtype and shape.

import { LoaderxError } from '../errors.ts'
import type { ZrecordOptions } from '../zrecord/arguments.ts'
import type { DeleteResult } from '../zrecord/delete.ts'
import type { Indices } from '../zrecord/indices.ts'
import type { CompactOptions } from '../zrecord/maintain.ts'
import type { StoreStats } from '../zrecord/stats.ts'
import type { Zrecord } from '../zrecord/zrecord.ts'
import { bytesOf } from './bytes.ts'
import type { DType, DTypeInfo, TypedArrayOf } from './dtype.ts'
import { indexFromEnd, type SampleIndices, sliceIndices, toIndices } from './indexing.ts'
import { arrayName, type NDArray } from './ndarray.ts'
import { openPart } from './open.ts'
import { gatherParts, gatherPartsSync, type Part, type PartBatch, planParts } from './parts.ts'
import { describeSamples } from './schema-file.ts'
import type { RowInput } from './source.ts'
import { type WriteOptions, type WriteSummary, writeDataset } from './write.ts'

/** How a dataset is opened. */
export interface DatasetOptions<D extends DType = DType>
  extends Pick<ZrecordOptions, 'residency' | 'verify' | 'durability' | 'readOnly' | 'lockTimeout'> {
  /** The dtype that is expected; another one is refused. Also gives the dataset its type. */
  readonly dtype?: D
}

/** Options of one gather. */
export interface GatherOptions<D extends DType = DType> {
  /** A typed array of the dtype's kind and exactly the batch's elements, to be filled in place of a new one. */
  readonly into?: TypedArrayOf<D>
}

/** Internal: the stores of a dataset, as they are now. */
export let partsOf: (dataset: Dataset) => readonly Part[]

/**
 * Samples of one dtype and shape, addressed by index. Reads give arrays in little-endian order and C order whatever the
 * store has. Records whose length is not a sample's are refused, never cut or padded.
 */
export class Dataset<D extends DType = DType> {
  /** Directory of the store, absolute; for several stores all of them, joined by ` + `. */
  readonly path: string
  /** Dtype of the samples, without a byte order. */
  readonly dtype: D
  /** Shape of one sample; empty for scalars. */
  readonly shape: readonly number[]
  /** Bytes of one sample. */
  readonly sampleBytes: number
  readonly #parts: readonly Part[]
  /** Whether the number of samples follows the store as it grows. */
  readonly #live: boolean

  static {
    partsOf = (dataset) => (dataset.#live ? [{ ...dataset.#parts[0]!, length: dataset.length }] : dataset.#parts)
  }

  private constructor(parts: readonly Part[], shape: readonly number[], sampleBytes: number, live: boolean) {
    this.path = parts.map((part) => part.store.path).join(' + ')
    this.dtype = parts[0]!.dtype.name as D
    this.shape = shape
    this.sampleBytes = sampleBytes
    this.#parts = parts
    this.#live = live
  }

  /**
   * Opens the dataset at `path`. Nothing on disk changes.
   * @throws LOADERX_NOT_FOUND, LOADERX_NOT_A_DIRECTORY, LOADERX_NOT_A_STORE, LOADERX_INVALID_SCHEMA,
   * LOADERX_SCHEMA_MISMATCH when the records or `options.dtype` do not fit the schema, LOADERX_UNSUPPORTED_DTYPE,
   * LOADERX_NEWER_VERSION, LOADERX_CORRUPT_STORE, LOADERX_TRUNCATED, LOADERX_IO
   */
  static async open<D extends DType = DType>(path: string, options: DatasetOptions<D> = {}): Promise<Dataset<D>> {
    const { part, schema } = await openPart(path, options)
    return new Dataset<D>([part], schema.shape, schema.sampleBytes, true)
  }

  /**
   * Writes rows to the dataset at `path`: a new one, with missing parent directories, or behind the samples of one that
   * has the same dtype and shape (it keeps its codec and byte order). Everything that can be known is checked before
   * anything is made. Rows go in whole chunks: after an abort or an error the chunks that were written stay, as whole
   * samples; when there were none, nothing is left of a new dataset.
   * @param input an array, a typed array of scalars, `openNpy(…)`, or an iterable of arrays; see {@link RowInput}
   * @throws LOADERX_SCHEMA_MISMATCH, LOADERX_EMPTY_RECORD, LOADERX_RECORD_TOO_LARGE, LOADERX_UNSUPPORTED_DTYPE,
   * LOADERX_INVALID_ARGUMENT, LOADERX_STORE_FULL, LOADERX_NOT_A_DIRECTORY, LOADERX_IO; the signal's reason; whatever an
   * iterable throws
   */
  static async write(path: string, input: RowInput, options: WriteOptions = {}): Promise<WriteSummary> {
    return writeDataset(path, input, options)
  }

  /**
   * Several datasets of one dtype and shape as one: the samples of the first, then those of the second, and so on. Their
   * lengths are taken now; what is appended later is not seen. To close the whole closes them.
   * @throws LOADERX_INVALID_ARGUMENT, LOADERX_SCHEMA_MISMATCH, LOADERX_ALREADY_CLOSED
   */
  static concat<D extends DType>(...datasets: readonly Dataset<D>[]): Dataset<D> {
    const first = datasets[0]
    if (first === undefined) {
      throw new LoaderxError('LOADERX_INVALID_ARGUMENT', 'Dataset.concat was given no datasets; give at least one')
    }
    const parts: Part[] = []
    let start = 0
    for (const [position, dataset] of datasets.entries()) {
      const expected = describeSamples(first.dtype, first.shape)
      const actual = describeSamples(dataset.dtype, dataset.shape)
      if (actual !== expected) {
        throw new LoaderxError(
          'LOADERX_SCHEMA_MISMATCH',
          `${dataset.path} has samples of ${actual}, but ${first.path} has ${expected}; only datasets of one dtype and shape can be joined`,
          { path: dataset.path, position, expected, actual },
        )
      }
      for (const part of partsOf(dataset)) {
        parts.push({ ...part, start })
        start += part.length
      }
    }
    return new Dataset<D>(parts, first.shape, first.sampleBytes, false)
  }

  /** Number of samples; of a single store now, those that other processes appended included. */
  get length(): number {
    const last = this.#parts.at(-1)!
    const now = last.store.length
    return this.#live ? now : last.start + last.length
  }

  /** One sample, of shape {@link shape}; negative indices count from the end. @throws as {@link gather} */
  async at(index: number): Promise<NDArray<D>> {
    const { data } = await this.gather([indexFromEnd(index, this.length, this.path)])
    return { dtype: this.dtype, shape: this.shape, data }
  }

  /**
   * The samples of Python's `[start:stop:step]`: negative positions count from the end, positions outside are clipped,
   * and a negative step goes backwards.
   * @throws LOADERX_INVALID_INDEX, LOADERX_INVALID_ARGUMENT for step 0, and as {@link gather}
   */
  async slice(start?: number, stop?: number, step: number = 1): Promise<NDArray<D>> {
    return this.gather(sliceIndices(this.length, start, stop, step))
  }

  /**
   * Reads samples, in the order asked; duplicates are fine, and no indices give an empty batch.
   * @param indices 0 … length - 1 (negative ones are refused: only {@link at} and {@link slice} count from the end), or
   * a mask with one boolean for each sample
   * @returns an array of shape `[n, …shape]`, in new memory unless `into` is given
   * @throws LOADERX_INDEX_OUT_OF_RANGE, LOADERX_INVALID_INDEX, LOADERX_LENGTH_MISMATCH, LOADERX_INVALID_ARGUMENT,
   * LOADERX_BUFFER_TOO_SMALL, LOADERX_BATCH_TOO_LARGE, LOADERX_SCHEMA_MISMATCH, LOADERX_CORRUPT_RECORD,
   * LOADERX_TRUNCATED, LOADERX_ALREADY_CLOSED, LOADERX_IO
   */
  async gather(indices: SampleIndices, options: GatherOptions<D> = {}): Promise<NDArray<D>> {
    const { batch, array } = this.#prepare(indices, options)
    await gatherParts(batch, bytesOf(array.data), this.sampleBytes)
    return array
  }

  /** As {@link gather}, at once; with residency `'file'` it blocks while the disk reads. */
  gatherSync(indices: SampleIndices, options: GatherOptions<D> = {}): NDArray<D> {
    const { batch, array } = this.#prepare(indices, options)
    gatherPartsSync(batch, bytesOf(array.data), this.sampleBytes)
    return array
  }

  /**
   * Removes samples, all or none; see Zrecord.delete. A dataset of several stores is not changed as a whole.
   * @throws as Zrecord.delete; LOADERX_INVALID_ARGUMENT for several stores
   */
  delete(indices: Indices): Promise<DeleteResult> {
    return this.#onlyStore('delete').delete(indices)
  }

  /** Moves the samples together and gives back the space; see Zrecord.compact. @throws as {@link delete} */
  compact(options: CompactOptions = {}): Promise<void> {
    return this.#onlyStore('compact').compact(options)
  }

  /** What the store holds and what it takes on the disk; see Zrecord.stats. @throws as {@link delete} */
  stats(): StoreStats {
    return this.#onlyStore('stats').stats()
  }

  /** Waits for running calls and closes. A second close does nothing. */
  async close(): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.store.close()))
  }

  /** {@link close}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #onlyStore(action: string): Zrecord {
    if (this.#parts.length === 1) return this.#parts[0]!.store
    const message = `${action} works on one store, but this dataset joins ${this.#parts.length}; call it on each of them`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { path: this.path })
  }

  #prepare(samples: SampleIndices, options: GatherOptions<D>): { batch: PartBatch[]; array: NDArray<D> } {
    const indices = toIndices(samples, () => this.length)
    const only = this.#live ? this.#parts[0] : undefined
    const batch = only === undefined ? planParts(this.#parts, indices, this.path) : [{ part: only, indices }]
    const { dtype } = this.#parts[0]!
    const elements = (this.sampleBytes / dtype.elementBytes) * indices.length
    const data = options.into === undefined ? allocate(dtype, elements) : fitting(options.into, dtype, elements)
    return {
      batch,
      array: { dtype: this.dtype, shape: [indices.length, ...this.shape], data: data as TypedArrayOf<D> },
    }
  }
}

function allocate(dtype: DTypeInfo, elements: number): TypedArrayOf<DType> {
  try {
    return new dtype.array(elements)
  } catch (cause) {
    const bytes = elements * dtype.elementBytes
    throw new LoaderxError(
      'LOADERX_BATCH_TOO_LARGE',
      `the samples asked for have ${bytes} bytes together, more than one array can have here; ask for fewer at a time`,
      { actual: bytes },
      { cause },
    )
  }
}

function fitting(into: TypedArrayOf<DType>, dtype: DTypeInfo, elements: number): TypedArrayOf<DType> {
  const actual = arrayName(into)
  if (actual !== dtype.array.name) {
    const message = `into is a ${actual}, but samples of ${dtype.name} go into a ${dtype.array.name}`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { expected: dtype.array.name, actual })
  }
  if (into.length === elements) return into
  throw new LoaderxError(
    into.length < elements ? 'LOADERX_BUFFER_TOO_SMALL' : 'LOADERX_INVALID_ARGUMENT',
    `into has ${into.length} elements, but the samples asked for have ${elements}; give an array of exactly that length${into.length > elements ? ` (into.subarray(0, ${elements}))` : ''}`,
    { expected: elements, actual: into.length },
  )
}
