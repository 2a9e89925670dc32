// loader/: one batch as the consumer gets it: an array for each field, and what gives its memory back.

import type { NDArray } from '../dataset/ndarray.ts'
import { LoaderxError } from '../errors.ts'

/** What every batch has beside its fields. */
export interface BatchControls {
  /** Step that the batch belongs to, from 0. */
  readonly step: number
  /**
   * Gives the batch's memory back to the loader. Its arrays are detached and reading a field is an error from then on.
   * Never needed with `ownership: 'owned'` (it saves the allocation of a later batch); with `'shared'` it makes room
   * for the next one.
   */
  release(): void
  /** {@link BatchControls.release}, for `using`. */
  [Symbol.dispose](): void
}

/** Names that a field cannot have. */
export const RESERVED_FIELDS: readonly string[] = ['step', 'release', 'constructor', '__proto__']

class BatchObject implements BatchControls {
  readonly step: number
  #giveBack: (() => void) | undefined

  constructor(step: number, fields: readonly (readonly [string, NDArray])[], giveBack: () => void) {
    this.step = step
    this.#giveBack = giveBack
    for (const [name, array] of fields) (this as unknown as Record<string, NDArray>)[name] = array
  }

  release(): void {
    const giveBack = this.#giveBack
    if (giveBack === undefined) return
    this.#giveBack = undefined
    for (const name of Object.keys(this)) {
      if (name === 'step') continue
      Object.defineProperty(this, name, {
        enumerable: true,
        get: () => {
          const message = `field ${JSON.stringify(name)} of step ${this.step} was released; read a batch before its release`
          throw new LoaderxError('LOADERX_BATCH_RELEASED', message, { field: name, step: this.step })
        },
      })
    }
    giveBack()
  }

  [Symbol.dispose](): void {
    this.release()
  }
}

/** Makes a batch; `giveBack` runs at most once, at its release. */
export function makeBatch(
  step: number,
  fields: readonly (readonly [string, NDArray])[],
  giveBack: () => void,
): BatchControls {
  return new BatchObject(step, fields, giveBack)
}
