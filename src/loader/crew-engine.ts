// loader/: has workers fill steps ahead of the consumer.

import { copyBytes } from '../storage/copy.ts'
import { BufferPool } from './buffers.ts'
import { Crew } from './crew.ts'
import type { CrewField } from './crew-plan.ts'
import type { Engine, IndexWriter, StepBytes } from './engine.ts'
import type { Field } from './fields.ts'
import { Lease } from './lease.ts'
import type { LoaderSettings } from './options.ts'
import { Places } from './places.ts'

/** Samples of at least this many bytes are copied by a worker straight into the buffer that is handed over. */
const TRANSFER_BYTES = 4096

/** How many workers, how many steps they may be ahead, and how many batches have a place in the shared memory. */
export interface CrewSize {
  readonly workers: number
  readonly ahead: number
  readonly places: number
}

/** The engine of a loader with workers. */
export class CrewEngine implements Engine {
  readonly #crew: Crew
  readonly #shared: boolean
  readonly #writeIndices: IndexWriter
  readonly #pool = new BufferPool()
  readonly #lease = new Lease()
  readonly #places: Places
  readonly #ahead: number
  #next: number
  /** What the sampler threw for step `#next`. */
  #fault: { readonly error: unknown } | undefined

  /** @throws LOADERX_BATCH_TOO_LARGE */
  constructor(
    fields: readonly Field[],
    settings: LoaderSettings,
    size: CrewSize,
    writeIndices: IndexWriter,
    firstStep: number,
  ) {
    const { batchSize } = settings
    this.#shared = settings.ownership === 'shared'
    this.#writeIndices = writeIndices
    this.#ahead = size.ahead
    this.#next = firstStep
    const inPlace = (field: Field) => this.#shared || field.sampleBytes < TRANSFER_BYTES
    try {
      const { arena, memory } = fields[0]!
      const slots = { length: 2 ** Math.ceil(Math.log2(size.ahead)) }
      const indexSlots = Array.from(slots, () => this.#lease.allocate(arena, 8 * batchSize))
      this.#places = new Places(size.places, fields, batchSize, this.#lease, inPlace)
      const plans = Array.from({ length: size.workers }, () =>
        fields.map((field, i): CrewField => {
          const plan = field.plan(batchSize, this.#lease, false)
          return { plan, handOver: inPlace(field) ? 'place' : 'transfer', places: this.#places.addresses[i]! }
        }),
      )
      this.#crew = new Crew(plans, { batchSize, indices: memory, indexSlots })
    } catch (error) {
      this.#lease.stop()
      throw error
    }
  }

  prepare(): boolean {
    this.#request()
    if (this.#crew.underway > 0) return this.#crew.ready
    if (this.#fault !== undefined) throw this.#fault.error
    throw this.#places.heldError()
  }

  /** Has the workers go on, as far ahead as they may. */
  #request(): void {
    const { underway } = this.#crew
    // To wake a worker costs more than a small batch: that is done once for several steps.
    if (underway > this.#ahead / 2) return
    for (let i = underway; i < this.#ahead && this.#fault === undefined; i++) {
      const place = this.#places.take()
      if (place === undefined) break
      try {
        this.#crew.request(place, (into) => this.#writeIndices(this.#next, into))
        this.#next++
      } catch (error) {
        // The steps before it are still to be delivered.
        this.#fault = { error }
        this.#places.free(place)
      }
    }
    this.#crew.publish()
  }

  async take(): Promise<StepBytes> {
    if (!this.#crew.ready) await this.#crew.wait()
    return this.#collect()
  }

  takeSync(): StepBytes {
    if (!this.#crew.ready) this.#crew.waitSync()
    return this.#collect()
  }

  #collect(): StepBytes {
    const { place, buffers, worker } = this.#crew.take()
    const inPlace = this.#places.bytes(place)
    const step = this.#shared ? this.#lend(place, inPlace) : this.#handOver(place, inPlace, buffers, worker)
    // The workers fill the next ones while the consumer works on this one.
    this.#request()
    return step
  }

  #lend(place: number, inPlace: readonly (Uint8Array | undefined)[]): StepBytes {
    const letGo = this.#lease.hold()
    return {
      bytes: inPlace.map((bytes) => bytes!),
      release: () => {
        this.#places.free(place)
        letGo()
      },
    }
  }

  #handOver(
    place: number,
    inPlace: readonly (Uint8Array | undefined)[],
    buffers: readonly ArrayBuffer[],
    worker: number,
  ): StepBytes {
    const copies: ArrayBuffer[] = []
    let transferred = 0
    const bytes = inPlace.map((source) => {
      if (source === undefined) return new Uint8Array(buffers[transferred++]!)
      const copy = this.#pool.get(source.byteLength)
      copies.push(copy)
      const target = new Uint8Array(copy)
      copyBytes(source, target, 0)
      return target
    })
    this.#places.free(place)
    return {
      bytes,
      release: () => {
        for (const buffer of copies) this.#pool.reclaim(buffer)
        for (const buffer of buffers) this.#crew.giveBack(buffer, worker)
      },
    }
  }

  async stop(): Promise<void> {
    await this.#crew.stop()
    this.#lease.stop()
  }
}
