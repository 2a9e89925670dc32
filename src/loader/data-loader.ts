// loader/: the endless loader as its users see it: what it takes and what it gives.

import type { Dataset } from '../dataset/dataset.ts'
import type { DType } from '../dataset/dtype.ts'
import type { NDArray } from '../dataset/ndarray.ts'
import type { BatchControls } from './batch.ts'
import type { Fields } from './fields.ts'
import { Loader } from './loader.ts'
import type { LoaderOptions } from './options.ts'

/** A batch: an array for each field, with `batchSize` as its first dimension. */
export type Batch<F extends Fields = Fields> = BatchControls & {
  readonly [K in keyof F]: F[K] extends Dataset<infer D> ? NDArray<D> : never
}

/** The fields of `new DataLoader(data, labels)`. */
export type DataAndLabel<D extends DType, L extends DType> = {
  /** The samples. */
  readonly data: Dataset<D>
  /** What is to be learnt of each sample. */
  readonly label: Dataset<L>
}

/** The field of `new DataLoader(data)`. */
export type DataOnly<D extends DType> = {
  /** The samples. */
  readonly data: Dataset<D>
}

/**
 * An endless sequence of batches. Iterating goes on where the last iteration stopped; leaving a loop early ends the
 * worker threads (the next iteration starts others), and an idle loader never keeps the process alive.
 */
export interface DataLoader<T> extends AsyncIterable<T> {
  /** Samples in a batch. */
  readonly batchSize: number
  /** Samples of each dataset when the loader was made; the order does not change when more are appended. */
  readonly length: number
  /** Worker threads that fill batches; 0 when the calling thread does. */
  readonly workers: number
  /** Step of the batch that comes next. */
  readonly step: number
  /** The next `count` batches. @throws as iterating */
  take(count: number): AsyncIterableIterator<T>
  /**
   * The next `count` batches, by default without end, blocking the thread until each is there. A transform that
   * returns a promise is refused, and so is a call while another iteration awaits a batch.
   */
  sync(count?: number): IterableIterator<T>
  /**
   * Ends the workers and lets go of the datasets, which stay open; when it resolves every thread has ended. Whoever waits
   * for a batch gets LOADERX_ALREADY_CLOSED. A second close does nothing.
   */
  close(): Promise<void>
  /** {@link close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Makes loaders. */
export interface DataLoaderConstructor {
  /**
   * A loader over samples and their labels: batches have the fields `data` and `label`.
   * @throws LOADERX_LENGTH_MISMATCH, LOADERX_EMPTY_DATASET, LOADERX_INVALID_ARGUMENT, LOADERX_ALREADY_CLOSED
   */
  new <D extends DType, L extends DType, Out = Batch<DataAndLabel<D, L>>>(
    data: Dataset<D>,
    labels: Dataset<L>,
    options?: LoaderOptions<Batch<DataAndLabel<D, L>>, Out>,
  ): DataLoader<Out>
  /** A loader over samples without labels: batches have the field `data`. */
  new <D extends DType, Out = Batch<DataOnly<D>>>(
    data: Dataset<D>,
    options?: LoaderOptions<Batch<DataOnly<D>>, Out>,
  ): DataLoader<Out>
  /** A loader over any number of datasets of equal length, read with the same indices: batches have their names. */
  new <F extends Fields, Out = Batch<F>>(fields: F, options?: LoaderOptions<Batch<F>, Out>): DataLoader<Out>
}

const Checked: new (...args: ConstructorParameters<typeof Loader>) => DataLoader<unknown> = Loader

/** See {@link DataLoaderConstructor}. */
export const DataLoader: DataLoaderConstructor = Checked as unknown as DataLoaderConstructor
