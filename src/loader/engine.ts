// loader/: where the bytes of a step come from: the calling thread, or a crew of workers. Both give the same bytes.

import { LoaderxError } from '../errors.ts'
import { SharedView } from '../storage/residence.ts'
import { BufferPool } from './buffers.ts'
import { Crew } from './crew.ts'
import type { CrewField } from './crew-plan.ts'
import type { Field } from './fields.ts'
import { FieldFiller } from './filler.ts'
import type { LoaderSettings } from './options.ts'

/** Writes the indices of a step. */
export type IndexWriter = (step: number, into: BigUint64Array) => void

/** The bytes of a step, one array for each field, and what to do when they are no longer needed. */
export interface StepBytes {
  readonly bytes: readonly Uint8Array[]
  release(): void
}

/** Gives the bytes of steps, in order from the step that it was made for. */
export interface Engine {
  /** Starts on `step` and those behind it. Returns whether its bytes are there. */
  prepare(step: number): boolean
  /** Waits for the step that `prepare` was called for, and takes it. */
  take(step: number): Promise<StepBytes>
  takeSync(step: number): StepBytes
  stop(): Promise<void>
}

/** Gives memory back when the engine has stopped and no shared batch lies in it any more. */
class Lease {
  readonly cleanUp: (() => void)[] = []
  #held = 0
  #stopped = false

  /** A batch has its place; the function that it returns says that it no longer needs it. */
  hold(free: () => void): () => void {
    this.#held++
    return () => {
      this.#held--
      free()
      this.#settle()
    }
  }

  stop(): void {
    this.#stopped = true
    this.#settle()
  }

  #settle(): void {
    if (this.#stopped && this.#held === 0) for (const clean of this.cleanUp.splice(0)) clean()
  }
}

interface Place {
  readonly address: number
  readonly free: () => void
}

function place(field: Field, bytes: number): Place {
  const { arena } = field.held[0]!
  const address = arena.allocate(bytes)
  return { address, free: () => arena.release(address) }
}

function heldError(slots: number): LoaderxError {
  return new LoaderxError(
    'LOADERX_BATCHES_HELD',
    `all ${slots} places for batches are held by batches that were not released; call release() on each when it is used up (or declare it with using), or choose ownership: 'owned'`,
    { actual: slots },
  )
}

/** Samples of at least this many bytes are copied by a worker straight into the buffer that is handed over. */
const TRANSFER_BYTES = 4096

/** Fills each step in the calling thread, when it is taken. */
export class InlineEngine implements Engine {
  readonly #fillers: readonly FieldFiller[]
  readonly #settings: LoaderSettings
  readonly #writeIndices: IndexWriter
  readonly #indices: SharedView
  readonly #pool = new BufferPool()
  readonly #lease = new Lease()
  /** For shared batches: the places of each slot, one for each field; null while a batch has them. */
  readonly #slots: (readonly SharedView[] | null)[] = []

  constructor(fields: readonly Field[], settings: LoaderSettings, slots: number, writeIndices: IndexWriter) {
    this.#settings = settings
    this.#writeIndices = writeIndices
    const { batchSize } = settings
    this.#fillers = fields.map((field) => new FieldFiller(field.plan(batchSize, this.#lease.cleanUp)))
    const list = place(fields[0]!, 8 * batchSize)
    this.#lease.cleanUp.push(list.free)
    this.#indices = new SharedView(fields[0]!.held[0]!.state.memory, list.address, 8 * batchSize)
    if (settings.ownership !== 'shared') return
    for (let slot = 0; slot < slots; slot++) {
      this.#slots.push(
        fields.map((field) => {
          const bytes = batchSize * field.sampleBytes
          const { address, free } = place(field, bytes)
          this.#lease.cleanUp.push(free)
          return new SharedView(field.held[0]!.state.memory, address, bytes)
        }),
      )
    }
  }

  prepare(): boolean {
    return !this.#fillers.some((filler) => filler.readsFiles)
  }

  async take(step: number): Promise<StepBytes> {
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
    const target = this.#settings.ownership === 'shared' ? this.#sharedTarget() : this.#ownedTarget()
    const indices = this.#indices.words
    this.#writeIndices(step, indices)
    return { indices, target }
  }

  #ownedTarget(): StepBytes {
    const { batchSize } = this.#settings
    const buffers = this.#fillers.map(({ plan }) => this.#pool.get(batchSize * plan.sampleBytes))
    return {
      bytes: buffers.map((buffer) => new Uint8Array(buffer)),
      release: () => {
        for (const buffer of buffers) this.#pool.reclaim(buffer)
      },
    }
  }

  #sharedTarget(): StepBytes {
    const slot = this.#slots.findIndex((one) => one !== null)
    const views = this.#slots[slot]
    if (views === undefined || views === null) throw heldError(this.#slots.length)
    this.#slots[slot] = null
    return {
      bytes: views.map((view) => view.bytes),
      release: this.#lease.hold(() => {
        this.#slots[slot] = views
      }),
    }
  }

  async stop(): Promise<void> {
    for (const filler of this.#fillers) filler.close()
    this.#lease.stop()
  }
}

/** Has workers fill steps ahead. */
export class CrewEngine implements Engine {
  readonly #crew: Crew
  readonly #fields: readonly Field[]
  readonly #handOvers: readonly CrewField['handOver'][]
  readonly #settings: LoaderSettings
  readonly #writeIndices: IndexWriter
  readonly #pool = new BufferPool()
  readonly #lease = new Lease()
  readonly #slots: readonly (readonly Uint8Array[])[]
  readonly #ahead: number
  #requested: number

  constructor(
    fields: readonly Field[],
    settings: LoaderSettings,
    size: { readonly workers: number; readonly ahead: number; readonly slots: number },
    writeIndices: IndexWriter,
    firstStep: number,
  ) {
    this.#fields = fields
    this.#settings = settings
    this.#writeIndices = writeIndices
    this.#ahead = size.ahead
    this.#requested = firstStep
    const { batchSize } = settings
    const each = <T>(make: (slot: number) => T): T[] => Array.from({ length: size.slots }, (_, slot) => make(slot))
    this.#handOvers = fields.map(({ sampleBytes }) =>
      settings.ownership === 'owned' && sampleBytes >= TRANSFER_BYTES ? 'transfer' : 'slot',
    )
    const take = (field: Field, bytes: number): number => {
      const { address, free } = place(field, bytes)
      this.#lease.cleanUp.push(free)
      return address
    }
    const indexSlots = each(() => take(fields[0]!, 8 * batchSize))
    const slots = fields.map((field, i) =>
      this.#handOvers[i] === 'slot' ? each(() => take(field, batchSize * field.sampleBytes)) : [],
    )
    const plans = Array.from({ length: size.workers }, () =>
      fields.map((field, i) => {
        const plan = field.plan(batchSize, this.#lease.cleanUp)
        return { plan, handOver: this.#handOvers[i]!, slots: slots[i]! }
      }),
    )
    this.#slots = each((slot) =>
      fields.map((field, i) => {
        const address = slots[i]![slot]
        if (address === undefined) return new Uint8Array(0)
        return new Uint8Array(field.held[0]!.state.memory.buffer, address, batchSize * field.sampleBytes)
      }),
    )
    this.#crew = new Crew(plans, { batchSize, indices: fields[0]!.held[0]!.state.memory, indexSlots })
  }

  prepare(step: number): boolean {
    // A notify costs more than a small batch: workers are woken once for several steps.
    const missing = this.#ahead - this.#crew.underway
    if (missing > this.#ahead / 2 || this.#crew.underway === 0) {
      for (let i = 0; i < missing && this.#crew.canRequest; i++) {
        const next = this.#requested++
        this.#crew.request((into) => this.#writeIndices(next, into))
      }
      this.#crew.publish()
    }
    if (this.#crew.underway === 0) throw heldError(this.#slots.length)
    return step < this.#requested && this.#crew.ready
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
    const { slot, buffers, worker } = this.#crew.take()
    const places = this.#slots[slot]!
    if (this.#settings.ownership === 'shared') {
      return { bytes: places, release: this.#lease.hold(() => this.#crew.free(slot)) }
    }
    const transferred = [...buffers]
    const copied: ArrayBuffer[] = []
    const bytes = this.#fields.map((_, i) => {
      if (this.#handOvers[i] === 'transfer') return new Uint8Array(transferred.shift()!)
      const copy = this.#pool.get(places[i]!.byteLength)
      copied.push(copy)
      const target = new Uint8Array(copy)
      target.set(places[i]!)
      return target
    })
    this.#crew.free(slot)
    return {
      bytes,
      release: () => {
        for (const buffer of copied) this.#pool.reclaim(buffer)
        for (const buffer of buffers) this.#crew.giveBack(buffer, worker)
      },
    }
  }

  async stop(): Promise<void> {
    await this.#crew.stop()
    this.#lease.stop()
  }
}
