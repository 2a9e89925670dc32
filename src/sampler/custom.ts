// sampler/: a sampler of the user's own. All that it returns is checked here, so that a fault is named with its step
// and position before any data is read.

import { LoaderxError, type LoaderxErrorCode } from '../errors.ts'
import { checkNoWords, checkStep, checkTarget, shown } from './check.ts'
import type { IndexSource, Sampler, SourceSettings } from './sampler.ts'

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))
}

/** The indices of a user's sampler. */
export class CustomSource implements IndexSource {
  readonly name: string
  readonly batchSize: number
  readonly #length: bigint
  readonly #sampler: Sampler

  constructor(sampler: Sampler, { length, batchSize }: SourceSettings) {
    this.name = typeof sampler.name === 'string' && sampler.name !== '' ? sampler.name : 'custom'
    this.batchSize = batchSize
    this.#length = length
    this.#sampler = sampler
  }

  fill(step: number, into: BigUint64Array): void {
    checkStep(step)
    checkTarget(into, this.batchSize)
    const indices: unknown = this.#sampler.indicesAt(step)
    if (!isList(indices)) {
      const hint = indices instanceof Promise ? '; indices must be there when indicesAt returns' : ''
      throw new LoaderxError(
        'LOADERX_INVALID_ARGUMENT',
        `sampler ${this.name}, step ${step}: indicesAt returned ${shown(indices)}, not an array or typed array of indices${hint}`,
        { step, actual: indices },
      )
    }
    if (indices.length !== this.batchSize) {
      throw new LoaderxError(
        'LOADERX_INVALID_ARGUMENT',
        `sampler ${this.name}, step ${step}: indicesAt returned ${indices.length} indices, but a batch has ${this.batchSize}: return exactly that many`,
        { step, expected: this.batchSize, actual: indices.length },
      )
    }
    for (let position = 0; position < indices.length; position++) {
      into[position] = this.#check(indices[position], step, position)
    }
  }

  words(step: number): BigUint64Array {
    checkStep(step)
    return new BigUint64Array(0)
  }

  resume(step: number, words: BigUint64Array): void {
    checkStep(step)
    checkNoWords(this.name, words)
  }

  #check(value: unknown, step: number, position: number): bigint {
    if (typeof value !== 'bigint' && !(typeof value === 'number' && Number.isSafeInteger(value))) {
      throw this.#fault('LOADERX_INVALID_INDEX', value, step, position, 'is not an integer; return whole numbers')
    }
    const index = BigInt(value)
    if (index < 0n || index >= this.#length) {
      const range = `is outside 0 … ${this.#length - 1n}; the data has length ${this.#length}`
      throw this.#fault('LOADERX_INDEX_OUT_OF_RANGE', value, step, position, range)
    }
    return index
  }

  #fault(code: LoaderxErrorCode, value: unknown, step: number, position: number, what: string): LoaderxError {
    return new LoaderxError(
      code,
      `sampler ${this.name}, step ${step}: index ${shown(value)} at position ${position} ${what}`,
      { step, position, actual: value },
    )
  }
}
