// loader/: the places for whole batches in the memories of the fields, and which of them are free.

import { LoaderxError } from '../errors.ts'
import { SharedView } from '../storage/residence.ts'
import type { Field } from './fields.ts'
import type { Lease } from './lease.ts'

/** A fixed number of places, each with room for a batch of every field that is filled in place. */
export class Places {
  readonly count: number
  /** For each field the address of every place; empty for a field that has none. */
  readonly addresses: readonly (readonly number[])[]
  readonly #views: readonly (readonly SharedView[])[]
  readonly #free: number[]

  /** @param inPlace whether a field has room in the places; the others are filled elsewhere */
  constructor(
    count: number,
    fields: readonly Field[],
    batchSize: number,
    lease: Lease,
    inPlace: (field: Field) => boolean,
  ) {
    this.count = count
    this.addresses = fields.map((field) => {
      const each = { length: inPlace(field) ? count : 0 }
      return Array.from(each, () => lease.allocate(field.arena, batchSize * field.sampleBytes))
    })
    this.#views = fields.map((field, i) =>
      this.addresses[i]!.map((address) => new SharedView(field.memory, address, batchSize * field.sampleBytes)),
    )
    this.#free = Array.from({ length: count }, (_, i) => count - 1 - i)
  }

  /** Takes a free place, if there is one. */
  take(): number | undefined {
    return this.#free.pop()
  }

  free(place: number): void {
    this.#free.push(place)
  }

  /** The bytes of each field at `place`; undefined for a field that is filled elsewhere. */
  bytes(place: number): (Uint8Array | undefined)[] {
    return this.#views.map((places) => places[place]?.bytes)
  }

  /** The error for when a place is needed and none is free. */
  heldError(): LoaderxError {
    return new LoaderxError(
      'LOADERX_BATCHES_HELD',
      `all ${this.count} places for batches are held by batches that were not released; call release() on each when it is used up (or declare it with using), or choose ownership: 'owned'`,
      { actual: this.count },
    )
  }
}
