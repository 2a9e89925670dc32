// loader/: fills each step in the calling thread, when it is taken.

import { SharedView } from '../storage/residence.ts'
import { BufferPool } from './buffers.ts'
import type { Engine, IndexWriter, StepBytes } from './engine.ts'
import type { Field } from './fields.ts'
import { FieldFiller } from './filler.ts'
import { Lease } from './lease.ts'
import type { LoaderSettings } from './options.ts'
import { Places } from './places.ts'

/** The engine of a loader without workers. */
export class InlineEngine implements Engine {
  readonly #fillers: readonly FieldFiller[]
  readonly #batchSize: number
  readonly #writeIndices: IndexWriter
  readonly #indices: SharedView
  readonly #pool = new BufferPool()
  readonly #lease = new Lease()
  /** For shared batches. */
  readonly #places: Places | undefined
  #reading: Promise<unknown> | undefined

  /** @throws LOADERX_BATCH_TOO_LARGE */
  constructor(fields: readonly Field[], settings: LoaderSettings, places: number, writeIndices: IndexWriter) {
    const { batchSize, ownership } = settings
    const shared = ownership === 'shared'
    this.#batchSize = batchSize
    this.#writeIndices = writeIndices
    try {
      this.#fillers = fields.map((field) => new FieldFiller(field.plan(batchSize, this.#lease, !shared)))
      const { arena, memory } = fields[0]!
      this.#indices = new SharedView(memory, this.#lease.allocate(arena, 8 * batchSize), 8 * batchSize)
      if (shared) this.#places = new Places(places, fields, batchSize, this.#lease, () => true)
    } catch (error) {
      this.#lease.stop()
      throw error
    }
  }

  prepare(): boolean {
    return !this.#fillers.some((filler) => filler.readsFiles)
  }

  take(step: number): Promise<StepBytes> {
    const reading = this.#read(step)
    this.#reading = reading
    return reading
  }

  async #read(step: number): Promise<StepBytes> {
    const { indices, target } = this.#begin(step)
    try {
      for (const [i, filler] of this.#fillers.entries()) await filler.fillAsync(indices, target.bytes[i]!)
    } catch (error) {
      target.release()
      throw error
    }
    return target
  }

  takeSync(step: number): StepBytes {
    const { indices, target } = this.#begin(step)
    try {
      for (const [i, filler] of this.#fillers.entries()) filler.fill(indices, target.bytes[i]!)
    } catch (error) {
      target.release()
      throw error
    }
    return target
  }

  #begin(step: number): { indices: BigUint64Array; target: StepBytes } {
    const indices = this.#indices.words
    this.#writeIndices(step, indices)
    return { indices, target: this.#places === undefined ? this.#ownedTarget() : this.#sharedTarget(this.#places) }
  }

  #ownedTarget(): StepBytes {
    const buffers = this.#fillers.map(({ plan }) => this.#pool.get(this.#batchSize * plan.sampleBytes))
    return {
      bytes: buffers.map((buffer) => new Uint8Array(buffer)),
      release: () => {
        for (const buffer of buffers) this.#pool.reclaim(buffer)
      },
    }
  }

  #sharedTarget(places: Places): StepBytes {
    const place = places.take()
    if (place === undefined) throw places.heldError()
    const letGo = this.#lease.hold()
    return {
      bytes: places.bytes(place).map((bytes) => bytes!),
      release: () => {
        places.free(place)
        letGo()
      },
    }
  }

  async stop(): Promise<void> {
    // Files must not be closed, nor memory given to others, under a read.
    await this.#reading?.catch(() => {})
    for (const filler of this.#fillers) filler.close()
    this.#lease.stop()
  }
}
