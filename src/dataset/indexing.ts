// dataset/: which samples a caller means: positions from the end, slices, masks. Pure.

import { LoaderxError } from '../errors.ts'
import type { Indices } from '../zrecord/indices.ts'
import type { NDArray } from './ndarray.ts'

/**
 * Which samples to gather, in what order: a list or typed array of indices from 0 (duplicates are fine), the same as a
 * one-dimensional NDArray, or a mask: one boolean for each sample, as a list or an NDArray of dtype bool.
 */
export type SampleIndices = Indices | readonly boolean[] | NDArray

function notInteger(what: string, value: unknown): LoaderxError {
  return new LoaderxError('LOADERX_INVALID_INDEX', `${what} is ${String(value)}; give a whole number`, {
    actual: value,
  })
}

/**
 * The index that `at` means among `length` samples; negative ones count from the end.
 * @throws LOADERX_INVALID_INDEX, LOADERX_INDEX_OUT_OF_RANGE
 */
export function indexFromEnd(at: number, length: number, path: string): number {
  if (!Number.isSafeInteger(at)) throw notInteger(`the index into ${path}`, at)
  const index = at < 0 ? at + length : at
  if (index >= 0 && index < length) return index
  const range = length === 0 ? 'it is empty' : `its samples are 0 … ${length - 1}, or -${length} … -1 from the end`
  throw new LoaderxError('LOADERX_INDEX_OUT_OF_RANGE', `index ${at} is out of range for ${path}: ${range}`, {
    path,
    index: at,
    expected: length,
  })
}

/**
 * The indices that `[start:stop:step]` means in Python among `length` samples.
 * @throws LOADERX_INVALID_INDEX, LOADERX_INVALID_ARGUMENT for step 0
 */
export function sliceIndices(
  length: number,
  start: number | undefined,
  stop: number | undefined,
  step: number,
): Float64Array {
  for (const [name, value] of [
    ['start', start ?? 0],
    ['stop', stop ?? 0],
    ['step', step],
  ] as const) {
    if (!Number.isSafeInteger(value)) throw notInteger(`${name} of the slice`, value)
  }
  if (step === 0) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      'the step of a slice is 0; give 1 to go forwards or -1 to go back',
    )
  }
  const [low, high] = step > 0 ? [0, length] : [-1, length - 1]
  const clip = (value: number): number => Math.min(high, Math.max(low, value < 0 ? value + length : value))
  const first = start === undefined ? (step > 0 ? low : high) : clip(start)
  const last = stop === undefined ? (step > 0 ? high : low) : clip(stop)
  const count = Math.max(0, Math.ceil((last - first) / step))
  return Float64Array.from({ length: count }, (_, i) => first + i * step)
}

/**
 * The indices that `samples` means among `length()` samples. That they are in range is checked where they are followed.
 * @throws LOADERX_INVALID_ARGUMENT, LOADERX_INVALID_INDEX, LOADERX_LENGTH_MISMATCH for a mask of another length
 */
export function toIndices(samples: SampleIndices, length: () => number): Indices {
  if (Array.isArray(samples)) return typeof samples[0] === 'boolean' ? fromMask(samples, length()) : samples
  if (ArrayBuffer.isView(samples) && 'length' in samples) return samples
  const array = samples as NDArray | null
  if (typeof array !== 'object' || array === null || !Array.isArray(array.shape)) {
    const actual = array === null ? 'null' : typeof array
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `the indices are a ${actual}; give a list of numbers, a typed array, or a mask of booleans`,
      { actual },
    )
  }
  if (array.shape.length !== 1) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `the array of indices has shape [${array.shape.join(', ')}]; give one of one dimension`,
      { actual: array.shape },
    )
  }
  if (array.dtype === 'bool') return fromMask(array.data as Uint8Array, length())
  return array.data
}

function fromMask(mask: ArrayLike<boolean | number>, length: number): Float64Array {
  if (mask.length !== length) {
    throw new LoaderxError(
      'LOADERX_LENGTH_MISMATCH',
      `the mask has ${mask.length} booleans, but the dataset has ${length} samples; give one for each`,
      { expected: length, actual: mask.length },
    )
  }
  const chosen: number[] = []
  for (let i = 0; i < length; i++) {
    const value = mask[i]
    if (value === true || value === 1) chosen.push(i)
    else if (value !== false && value !== 0) {
      throw new LoaderxError(
        'LOADERX_INVALID_INDEX',
        `the mask has ${String(value)} at position ${i}; a mask is of booleans only`,
        { position: i, actual: value },
      )
    }
  }
  return Float64Array.from(chosen)
}
