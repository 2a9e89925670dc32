// loader/: the loader behind DataLoader. Batch k is a pure function of the datasets, the seed, the sampler, the batch
// size and k; workers change only when it is ready.

import { availableParallelism } from 'node:os'
import { setImmediate as breathe } from 'node:timers/promises'
import { Dataset } from '../dataset/dataset.ts'
import { LoaderxError } from '../errors.ts'
import { shown } from '../sampler/check.ts'
import { createSampler } from '../sampler/create.ts'
import type { IndexSource } from '../sampler/sampler.ts'
import { type BatchControls, makeBatch } from './batch.ts'
import { CrewEngine, type CrewSize } from './crew-engine.ts'
import type { Engine, StepBytes } from './engine.ts'
import { atStep } from './faults.ts'
import { type Field, type Fields, openFields } from './fields.ts'
import { InlineEngine } from './inline-engine.ts'
import { type LoaderOptions, type LoaderSettings, planSize, settleOptions } from './options.ts'
import { chooseWorkers } from './workers-auto.ts'

type LooseOptions = LoaderOptions<never, unknown>

/** Batches that are ready come without a pause; this often the event loop gets a turn (timers, signals). */
const BREATH_MS = 20

/** The constructor's arguments as fields and options, whichever form they have. */
function readArguments(
  first: Dataset | Fields,
  second: Dataset | LooseOptions | undefined,
  third: LooseOptions | undefined,
): { fields: Fields; options: LooseOptions } {
  if (second instanceof Dataset) return { fields: { data: first as Dataset, label: second }, options: third ?? {} }
  if (third !== undefined) {
    const message = `the labels of a loader are ${shown(second)}; give a dataset, or leave them out: new DataLoader(data, options)`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { field: 'label', actual: second })
  }
  if (first instanceof Dataset) return { fields: { data: first }, options: second ?? {} }
  if (typeof first === 'object' && first !== null) return { fields: first, options: second ?? {} }
  const message = `a loader's fields are ${shown(first)}; give a dataset, a dataset and its labels, or { name: dataset, … }`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: first })
}

/** What `new DataLoader(…)` makes; its members are described in data-loader.ts. */
export class Loader {
  readonly batchSize: number
  readonly length: number
  readonly workers: number
  readonly #fields: readonly Field[]
  readonly #settings: LoaderSettings
  readonly #indices: IndexSource
  readonly #size: CrewSize
  #engine: Engine | undefined
  #step = 0
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #breathed = 0
  #stopping: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined
  readonly #onAbort = () => void this.close()

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
      const workers =
        settings.workers === 'auto' ? chooseWorkers({ batchSize, fields: opened, processors }) : settings.workers
      const batchBytes = batchSize * opened.reduce((bytes, field) => bytes + field.sampleBytes, 0)
      this.#size = { workers, ...planSize(settings, workers, batchBytes) }
      this.batchSize = batchSize
      this.length = length
      this.workers = workers
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

  sync(count: number = Number.POSITIVE_INFINITY): IterableIterator<unknown> {
    if (count !== Number.POSITIVE_INFINITY) checkCount(count)
    return this.#iterateSync(count)
  }

  async *#iterate(count: number): AsyncGenerator<unknown> {
    let left = true
    try {
      for (let i = 0; i < count; i++) yield await this.#next()
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
    this.#waiting++
    const turn = this.#turn.then(() => this.#deliver()).finally(() => this.#waiting--)
    this.#turn = turn.catch(() => {})
    return turn
  }

  async #deliver(): Promise<unknown> {
    if (performance.now() - this.#breathed > BREATH_MS) {
      await breathe()
      this.#breathed = performance.now()
    }
    const step = this.#step
    const batch = await this.#batchOf(step)
    const { transform } = this.#settings
    const result = transform === undefined ? batch : await this.#guarded(batch, () => transform(batch))
    this.#step = step + 1
    return result
  }

  async #batchOf(step: number): Promise<BatchControls> {
    for (;;) {
      const engine = this.#running(step)
      try {
        const taken = engine.prepare(step) ? engine.takeSync(step) : await engine.take(step)
        if (engine === this.#engine) return this.#batch(step, taken)
        taken.release()
      } catch (error) {
        if (engine !== this.#engine) continue
        await this.#stop()
        throw atStep(error, step)
      }
      // Somebody stopped the engine meanwhile: #running throws why, or makes another.
    }
  }

  async #guarded(batch: BatchControls, work: () => unknown): Promise<unknown> {
    try {
      return await work()
    } catch (error) {
      await this.#stop()
      batch.release()
      throw error
    }
  }

  #nextSync(): unknown {
    if (this.#waiting > 0) {
      const message = 'sync() was asked for a batch while another iteration awaits one; await that first'
      throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { step: this.#step })
    }
    const step = this.#step
    const engine = this.#running(step)
    let batch: BatchControls | undefined
    try {
      engine.prepare(step)
      batch = this.#batch(step, engine.takeSync(step))
      const { transform } = this.#settings
      const result = transform === undefined ? batch : transform(batch)
      if (typeof (result as Promise<unknown> | null | undefined)?.then === 'function') throw promised(step)
      this.#step = step + 1
      return result
    } catch (error) {
      void this.#stop()
      if (batch === undefined) throw atStep(error, step)
      batch.release()
      throw error
    }
  }

  #batch(step: number, { bytes, release }: StepBytes): BatchControls {
    const arrays = this.#fields.map((field, i) => [field.name, field.array(this.batchSize, bytes[i]!)] as const)
    return makeBatch(step, arrays, release)
  }

  #running(step: number): Engine {
    this.#settings.signal?.throwIfAborted()
    if (this.#closing !== undefined) {
      throw new LoaderxError('LOADERX_ALREADY_CLOSED', 'the loader has been closed; make another one')
    }
    const write = (at: number, into: BigUint64Array) => this.#indices.fill(at, into)
    this.#engine ??=
      this.workers === 0
        ? new InlineEngine(this.#fields, this.#settings, this.#size.places, write)
        : new CrewEngine(this.#fields, this.#settings, this.#size, write, step)
    return this.#engine
  }

  /** Ends the threads. The next iteration starts others, at the step that was not delivered yet. */
  async #stop(): Promise<void> {
    const engine = this.#engine
    this.#engine = undefined
    if (engine !== undefined) this.#stopping = Promise.all([this.#stopping, engine.stop()])
    await this.#stopping
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  async #end(): Promise<void> {
    this.#settings.signal?.removeEventListener('abort', this.#onAbort)
    await this.#stop()
    for (const field of this.#fields) field.release()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function promised(step: number): LoaderxError {
  const message = 'the transform returned a promise, which sync() cannot wait for; iterate with for await'
  return new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { step })
}

function checkCount(count: number): void {
  if (Number.isSafeInteger(count) && count >= 0) return
  const message = `the number of batches to take is ${shown(count)}; give a whole number from 0`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: count })
}
