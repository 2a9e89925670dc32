// loader/: the endless loader as its users see it. Batch k is a pure function of the datasets, the seed, the sampler,
// the batch size and k; workers change only when it is ready.

import { availableParallelism } from 'node:os'
import { Dataset } from '../dataset/dataset.ts'
import type { DType } from '../dataset/dtype.ts'
import type { NDArray } from '../dataset/ndarray.ts'
import { LoaderxError } from '../errors.ts'
import { createSampler } from '../sampler/create.ts'
import type { IndexSource } from '../sampler/sampler.ts'
import { type BatchControls, makeBatch } from './batch.ts'
import { CrewEngine, type Engine, InlineEngine, type StepBytes } from './engine.ts'
import { type Field, type Fields, openFields } from './fields.ts'
import { type LoaderOptions, type LoaderSettings, planSlots, settleOptions } from './options.ts'
import { chooseWorkers } from './workers-auto.ts'

/** A batch: an array for each field, with `batchSize` as its first dimension. */
export type Batch<F extends Fields = Fields> = BatchControls & {
  readonly [K in keyof F]: F[K] extends Dataset<infer D> ? NDArray<D> : never
}

/** The fields of `new DataLoader(data, labels)`. */
export interface DataAndLabel<D extends DType, L extends DType> extends Fields {
  /** The samples. */
  readonly data: Dataset<D>
  /** What is to be learnt of each sample. */
  readonly label: Dataset<L>
}

/** The field of `new DataLoader(data)`. */
export interface DataOnly<D extends DType> extends Fields {
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
   * returns a promise is refused.
   */
  sync(count?: number): IterableIterator<T>
  /** Ends the workers and lets go of the datasets, which stay open. A second close does nothing. */
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

type LooseOptions = LoaderOptions<never, unknown>

/** The constructor's arguments as fields and options, whichever form they have. */
function readArguments(
  first: Dataset | Fields,
  second: Dataset | LooseOptions | undefined,
  third: LooseOptions | undefined,
): { fields: Fields; options: LooseOptions } {
  if (second instanceof Dataset) return { fields: { data: first as Dataset, label: second }, options: third ?? {} }
  if (first instanceof Dataset) return { fields: { data: first }, options: second ?? {} }
  if (typeof first === 'object' && first !== null) return { fields: first, options: second ?? {} }
  const message = `a loader's fields are ${String(first)}; give a dataset, a dataset and its labels, or { name: dataset, … }`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message)
}

class Loader implements DataLoader<unknown> {
  readonly batchSize: number
  readonly length: number
  readonly workers: number
  readonly #fields: readonly Field[]
  readonly #settings: LoaderSettings
  readonly #indices: IndexSource
  readonly #size: { readonly ahead: number; readonly slots: number }
  #engine: Engine | undefined
  #step = 0
  #closed = false
  #turn: Promise<unknown> = Promise.resolve()
  readonly #onAbort = () => void this.#stop()

  constructor(first: Dataset | Fields, second?: Dataset | LooseOptions, third?: LooseOptions) {
    const { fields, options } = readArguments(first, second, third)
    const settings = settleOptions(options)
    settings.signal?.throwIfAborted()
    const opened = openFields(fields)
    try {
      const { batchSize, sampler, seed } = settings
      const length = opened[0]!.length
      this.#indices = createSampler(sampler, { length, batchSize, seed })
      const processors = availableParallelism()
      this.workers =
        settings.workers === 'auto' ? chooseWorkers({ batchSize, fields: opened, processors }) : settings.workers
      const batchBytes = batchSize * opened.reduce((bytes, field) => bytes + field.sampleBytes, 0)
      this.#size = planSlots(settings, this.workers, batchBytes)
      this.batchSize = batchSize
      this.length = length
      this.#fields = opened
      this.#settings = settings
    } catch (error) {
      for (const field of opened) field.release()
      throw error
    }
    settings.signal?.addEventListener('abort', this.#onAbort)
  }

  get step(): number {
    return this.#step
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<unknown> {
    return this.#iterate(Number.POSITIVE_INFINITY)
  }

  take(count: number): AsyncIterableIterator<unknown> {
    checkCount(count)
    return this.#iterate(count)
  }

  sync(count = Number.POSITIVE_INFINITY): IterableIterator<unknown> {
    if (count !== Number.POSITIVE_INFINITY) checkCount(count)
    return this.#iterateSync(count)
  }

  async *#iterate(count: number): AsyncGenerator<unknown> {
    let left = true
    try {
      for (let i = 0; i < count; i++) {
        const batch = await this.#next()
        yield batch
      }
      left = false
    } finally {
      if (left) await this.#stop()
    }
  }

  *#iterateSync(count: number): Generator<unknown> {
    let left = true
    try {
      for (let i = 0; i < count; i++) yield this.#nextSync()
      left = false
    } finally {
      if (left) void this.#stop()
    }
  }

  /** The next batch; calls that overlap take turns. */
  #next(): Promise<unknown> {
    const turn = this.#turn.then(async () => {
      const step = this.#step
      const engine = this.#running(step)
      const bytes = engine.prepare(step) ? engine.takeSync(step) : await this.#awaitStep(engine, step)
      const batch = this.#batch(step, bytes)
      this.#step = step + 1
      const { transform } = this.#settings
      return transform === undefined ? batch : transform(batch)
    })
    this.#turn = turn.catch(() => {})
    return turn
  }

  async #awaitStep(engine: Engine, step: number): Promise<StepBytes> {
    try {
      return await engine.take(step)
    } catch (error) {
      this.#settings.signal?.throwIfAborted()
      throw error
    }
  }

  #nextSync(): unknown {
    const step = this.#step
    const engine = this.#running(step)
    engine.prepare(step)
    const batch = this.#batch(step, engine.takeSync(step))
    this.#step = step + 1
    const { transform } = this.#settings
    if (transform === undefined) return batch
    const result = transform(batch)
    if (typeof (result as Promise<unknown> | null)?.then !== 'function') return result
    const message = 'the transform returned a promise, which sync() cannot wait for; iterate with for await'
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { step })
  }

  #batch(step: number, { bytes, release }: StepBytes): BatchControls {
    const arrays = this.#fields.map((field, i) => [field.name, field.array(this.batchSize, bytes[i]!)] as const)
    return makeBatch(step, arrays, release)
  }

  #running(step: number): Engine {
    this.#settings.signal?.throwIfAborted()
    if (this.#closed) throw new LoaderxError('LOADERX_ALREADY_CLOSED', 'the loader has been closed; make another one')
    if (this.#engine === undefined) {
      const write = (at: number, into: BigUint64Array) => this.#indices.fill(at, into)
      const { workers } = this
      this.#engine =
        workers === 0
          ? new InlineEngine(this.#fields, this.#settings, this.#size.slots, write)
          : new CrewEngine(this.#fields, this.#settings, { workers, ...this.#size }, write, step)
    }
    return this.#engine
  }

  /** Ends the threads. The next iteration starts others, at the step that was not delivered yet. */
  async #stop(): Promise<void> {
    const engine = this.#engine
    this.#engine = undefined
    await engine?.stop()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#settings.signal?.removeEventListener('abort', this.#onAbort)
    await this.#stop()
    for (const field of this.#fields) field.release()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function checkCount(count: number): void {
  if (Number.isSafeInteger(count) && count >= 0) return
  const message = `the number of batches to take is ${count}; give a whole number from 0`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: count })
}

/** See {@link DataLoaderConstructor}. */
export const DataLoader: DataLoaderConstructor = Loader as unknown as DataLoaderConstructor
