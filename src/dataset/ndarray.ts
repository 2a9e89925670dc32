// dataset/: arrays in memory: a dtype, a shape and a typed array in C order, nothing else.

import { LoaderxError } from '../errors.ts'
import { shapeProduct } from '../format/schema.ts'
import { type DType, dtypeInfo, type TypedArrayOf } from './dtype.ts'

/**
 * An array of any number of dimensions, in C order. `data` has as many elements as the product of `shape`; twice as
 * many for complex dtypes, `n` times as many for `U<n>` and `S<n>`.
 */
export interface NDArray<D extends DType = DType> {
  /** What the items are, by name. */
  readonly dtype: D
  /** Size of each dimension; empty for a single item. */
  readonly shape: readonly number[]
  /** The items, the last index running fastest. */
  readonly data: TypedArrayOf<D>
}

/** Whether `value` looks like an {@link NDArray}; its parts are not compared. */
export function isNDArray(value: unknown): value is NDArray {
  return typeof value === 'object' && value !== null && 'dtype' in value && 'shape' in value && 'data' in value
}

/**
 * Puts a dtype, a shape and data together, checked against each other. Nothing is copied.
 * @param data a typed array of the dtype's kind (see {@link TypedArrayOf}) with exactly the elements that `shape` asks
 * @throws LOADERX_INVALID_ARGUMENT, LOADERX_UNSUPPORTED_DTYPE
 */
export function ndarray<D extends DType>(dtype: D, shape: readonly number[], data: TypedArrayOf<D>): NDArray<D> {
  const array = { dtype, shape: [...shape], data }
  checkArray(array, 'ndarray')
  return array
}

/**
 * Refuses an array whose parts do not fit together.
 * @param where what the array is, for the message
 * @throws LOADERX_INVALID_ARGUMENT, LOADERX_UNSUPPORTED_DTYPE
 */
export function checkArray(array: NDArray, where: string): void {
  const { dtype, shape, data } = array
  const info = dtypeInfo(dtype, where)
  const wrong = (fault: string, expected: unknown, actual: unknown): LoaderxError =>
    new LoaderxError('LOADERX_INVALID_ARGUMENT', `${where}: ${fault}`, { expected, actual })
  const bad = shape.find((dimension) => !Number.isSafeInteger(dimension) || dimension < 0)
  if (bad !== undefined)
    throw wrong(`shape [${shape.join(', ')}] has ${bad}; dimensions are whole numbers from 0`, 0, bad)
  const actual = arrayName(data)
  if (actual !== info.array.name) {
    throw wrong(`${dtype} is held in a ${info.array.name}, but data is a ${actual}`, info.array.name, actual)
  }
  const items = shapeProduct(shape)
  const expected = items === undefined ? undefined : items * info.itemElements
  if (data.length !== expected) {
    throw wrong(
      `shape [${shape.join(', ')}] of ${dtype} needs ${expected ?? 'more than 2^53'} elements, but data has ${data.length}`,
      expected,
      data.length,
    )
  }
}

/** Name of the typed array that `data` is; by its tag, because it may come from another realm (a frame, a test runner). */
export function arrayName(data: unknown): string {
  return Object.prototype.toString.call(data).slice(8, -1)
}

const BY_ARRAY: ReadonlyMap<string, DType> = new Map([
  ['Int8Array', 'int8'],
  ['Uint8Array', 'uint8'],
  ['Uint8ClampedArray', 'uint8'],
  ['Int16Array', 'int16'],
  ['Uint16Array', 'uint16'],
  ['Int32Array', 'int32'],
  ['Uint32Array', 'uint32'],
  ['BigInt64Array', 'int64'],
  ['BigUint64Array', 'uint64'],
  ['Float32Array', 'float32'],
  ['Float64Array', 'float64'],
])

/**
 * The dtype of the numbers in a typed array: `uint8` for a Uint8Array and a Uint8ClampedArray, `int64` for a
 * BigInt64Array, and so on. (A dtype that shares its array with another one, as float16 does, has to be named to
 * {@link ndarray}.)
 * @throws LOADERX_UNSUPPORTED_DTYPE for anything else
 */
export function dtypeOf(data: ArrayBufferView): DType {
  const actual = arrayName(data)
  const dtype = BY_ARRAY.get(actual)
  if (dtype !== undefined) return dtype
  throw new LoaderxError(
    'LOADERX_UNSUPPORTED_DTYPE',
    `a ${actual} is not a typed array of a known dtype; copy it into one (Float32Array, Uint8Array, …), or its bits into a Uint16Array for float16`,
    { actual },
  )
}

/** The one-dimensional array over a typed array. Nothing is copied. @throws LOADERX_UNSUPPORTED_DTYPE */
export function arrayOf(data: ArrayBufferView): NDArray {
  const dtype = dtypeOf(data)
  const array = dtypeInfo(dtype).array
  const length = data.byteLength / array.BYTES_PER_ELEMENT
  return { dtype, shape: [length], data: new array(data.buffer, data.byteOffset, length) }
}
