// sampler/: the checks of what the caller gives. Each returns the value in the form that the sources work with.

import { LoaderxError } from '../errors.ts'
import type { SourceSettings } from './sampler.ts'

const LIMIT = 2n ** 64n

/** `value` as an error message shows it. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : String(value)
}

function unsigned(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined
  return typeof value === 'bigint' && value >= 0n && value < LIMIT ? value : undefined
}

/**
 * The seed as a u64.
 * @throws LOADERX_INVALID_ARGUMENT unless it is a safe integer from 0 on or a bigint below 2^64
 */
function checkSeed(seed: unknown): bigint {
  const checked = unsigned(seed)
  if (checked === undefined) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `seed ${shown(seed)} (${typeof seed}) is not a seed: give an integer from 0 to 2^53 - 1, or a bigint from 0n to 2^64 - 1`,
      { expected: '0 … 2^64 - 1', actual: seed },
    )
  }
  return checked
}

/**
 * Checks what a source is made from.
 * @throws LOADERX_EMPTY_DATASET when the length is 0, LOADERX_INVALID_ARGUMENT when a value is out of its range
 */
export function checkSettings(length: unknown, batchSize: unknown, seed: unknown): SourceSettings {
  const checked = unsigned(length)
  if (checked === undefined) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `length ${shown(length)} is not a number of samples: give an integer from 1 on`,
      { actual: length },
    )
  }
  if (checked === 0n) {
    throw new LoaderxError(
      'LOADERX_EMPTY_DATASET',
      'the dataset has length 0: there is no index to draw; append samples first',
      {
        actual: 0,
      },
    )
  }
  if (typeof batchSize !== 'number' || !Number.isSafeInteger(batchSize) || batchSize < 1) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `batchSize ${shown(batchSize)} is not a batch size: give an integer from 1 on`,
      { actual: batchSize },
    )
  }
  return { length: checked, batchSize, seed: checkSeed(seed) }
}

/** @throws LOADERX_INVALID_ARGUMENT unless `step` is a safe integer from 0 on */
export function checkStep(step: unknown): void {
  if (typeof step !== 'number' || !Number.isSafeInteger(step) || step < 0) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `step ${shown(step)} is not a step: give an integer from 0 to 2^53 - 1`,
      { actual: step },
    )
  }
}

/** @throws LOADERX_INVALID_ARGUMENT unless `into` has exactly `batchSize` elements */
export function checkTarget(into: BigUint64Array, batchSize: number): void {
  if (into.length !== batchSize) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `the array for the indices has ${into.length} elements, but a batch has ${batchSize}: give one of that length`,
      { expected: batchSize, actual: into.length },
    )
  }
}

/** @throws LOADERX_INVALID_ARGUMENT unless `words` is empty */
export function checkNoWords(name: string, words: BigUint64Array): void {
  if (words.length !== 0) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `the ${name} sampler has no words to resume from, but ${words.length} were given: the state belongs to another sampler`,
      { expected: 0, actual: words.length },
    )
  }
}
