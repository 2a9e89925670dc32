// zrecord/: the lists of indices that callers give, written as the kernel wants them: unsigned 64-bit, little endian.

import { LoaderxError } from '../errors.ts'

/** Record or sample indices: plain numbers or a typed array. Booleans are not indices. */
export type Indices =
  | readonly number[]
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int8Array
  | Int16Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigInt64Array
  | BigUint64Array

const HIGH = 2 ** 32

/** How many indices a list has. @throws LOADERX_INVALID_INDEX when it is not a list of numbers */
export function countIndices(indices: Indices): number {
  const given: unknown = indices
  if (Array.isArray(given) || (ArrayBuffer.isView(given) && !(given instanceof DataView))) return indices.length
  const shown = given === null ? 'null' : typeof given
  const message = `indices are given as ${shown}; give a list of numbers or a typed array (one record: [index])`
  throw new LoaderxError('LOADERX_INVALID_INDEX', message)
}

/** Index number `position` of a list that {@link writeIndices} wrote to `words`, with the sign that it had. */
export function indexAt(indices: Indices, words: Uint32Array, position: number): number {
  const value = (BigInt(words[2 * position + 1]!) << 32n) | BigInt(words[2 * position]!)
  return Number(indices instanceof BigInt64Array ? BigInt.asIntN(64, value) : value)
}

/**
 * Writes `indices` to `into` (two words each). Whether they are below the store's length is checked where they are
 * followed.
 * @throws LOADERX_INVALID_INDEX for a fraction, LOADERX_INDEX_OUT_OF_RANGE for a negative index
 */
export function writeIndices(indices: Indices, into: Uint32Array): void {
  if (indices instanceof BigInt64Array || indices instanceof BigUint64Array) {
    new BigUint64Array(into.buffer, into.byteOffset, indices.length).set(indices as BigUint64Array)
    return
  }
  const n = indices.length
  for (let i = 0; i < n; i++) {
    const index = indices[i]!
    if (typeof index !== 'number' || !(index >= 0 && index < HIGH && index === Math.floor(index))) {
      writeUnusual(index, i, into)
      continue
    }
    into[2 * i] = index
    into[2 * i + 1] = 0
  }
}

function writeUnusual(index: number, position: number, into: Uint32Array): void {
  if (!Number.isSafeInteger(index)) {
    throw new LoaderxError(
      'LOADERX_INVALID_INDEX',
      `index ${show(index)} at position ${position} is not an integer that a number holds; indices are whole numbers from 0 (a mask of booleans goes to Dataset.gather)`,
      { position, actual: index },
    )
  }
  if (index < 0) {
    throw new LoaderxError(
      'LOADERX_INDEX_OUT_OF_RANGE',
      `index ${index} at position ${position} is negative; in a list of indices nothing counts from the end (at(${index}) does)`,
      { index, position },
    )
  }
  into[2 * position] = index % HIGH
  into[2 * position + 1] = Math.floor(index / HIGH)
}

function show(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : typeof value === 'object' ? 'an object' : String(value)
}
