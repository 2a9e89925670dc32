import { runInNewContext } from 'node:vm'
import { type DType, dtypeOf, isLoaderxError, type NDArray, ndarray, type TypedArrayOf } from 'loaderx'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { arrayOf } from '#dist/dataset/ndarray.js'

function refusal(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (isLoaderxError(error)) return `${error.code} ${error.message}`
    throw error
  }
  return 'accepted'
}

describe('ndarray', () => {
  test('puts the parts together without a copy of the data', () => {
    const data = new Float32Array(6)
    const shape = [2, 3]
    const array = ndarray('float32', shape, data)
    shape.push(9)
    expect(array).toEqual({ dtype: 'float32', shape: [2, 3], data })
    expect(array.data).toBe(data)
  })

  test.each<[DType, number[], number]>([
    ['bool', [2], 2],
    ['complex64', [2, 2], 8],
    ['U5', [3], 15],
    ['S3', [], 3],
    ['float64', [], 1],
    ['int8', [4, 0], 0],
  ])('%s of shape %j has %d elements', (dtype, shape, elements) => {
    const Typed =
      { bool: Uint8Array, complex64: Float32Array, U5: Uint32Array, float64: Float64Array, int8: Int8Array }[
        dtype as 'bool'
      ] ?? Uint8Array
    expect(refusal(() => ndarray(dtype, shape, new Typed(elements)))).toBe('accepted')
    expect(refusal(() => ndarray(dtype, shape, new Typed(elements + 1)))).toMatch(
      `LOADERX_INVALID_ARGUMENT ndarray: shape [${shape.join(', ')}] of ${dtype} needs ${elements} elements, but data has ${elements + 1}`,
    )
  })

  test('refuses an array of another kind, bad dimensions and unknown dtypes', () => {
    const anything = new Uint8Array(4) as unknown as Float32Array
    expect(refusal(() => ndarray('float32', [1], anything))).toMatch(/held in a Float32Array, but data is a Uint8Array/)
    expect(refusal(() => ndarray('float32', [1], [1] as unknown as Float32Array))).toMatch(/but data is a Array/)
    expect(refusal(() => ndarray('float32', [-1, -4], new Float32Array(4)))).toMatch(/has -1/)
    expect(refusal(() => ndarray('float32', [1.5], new Float32Array(1)))).toMatch(/has 1.5/)
    expect(refusal(() => ndarray('float32', [2 ** 27, 2 ** 27], new Float32Array(1)))).toMatch(/more than 2\^53/)
    expect(refusal(() => ndarray('float33' as 'float32', [1], new Float32Array(1)))).toMatch(/^LOADERX_UNSUPPORTED/)
  })

  test('the type of data follows the dtype', () => {
    expectTypeOf<NDArray<'float32'>['data']>().toEqualTypeOf<Float32Array>()
    expectTypeOf<NDArray<'datetime64[ns]'>['data']>().toEqualTypeOf<BigInt64Array>()
    expectTypeOf<TypedArrayOf<'U5'>>().toEqualTypeOf<Uint32Array>()
    expectTypeOf<TypedArrayOf<'S3'>>().toEqualTypeOf<Uint8Array>()
    expectTypeOf<TypedArrayOf<'float16'>>().toEqualTypeOf<Uint16Array>()
    expectTypeOf(ndarray('int64', [1], new BigInt64Array(1)).data).toEqualTypeOf<BigInt64Array>()
  })
})

test('dtypeOf names the dtype of a typed array, also of another realm', () => {
  const arrays = [
    new Int8Array(),
    new Uint8Array(),
    new Int16Array(),
    new Uint16Array(),
    new Int32Array(),
    new Uint32Array(),
    new BigInt64Array(),
    new BigUint64Array(),
    new Float32Array(),
    new Float64Array(),
    new Uint8ClampedArray(),
    Buffer.alloc(1),
  ]
  expect(arrays.map(dtypeOf)).toEqual([
    'int8',
    'uint8',
    'int16',
    'uint16',
    'int32',
    'uint32',
    'int64',
    'uint64',
    'float32',
    'float64',
    'uint8',
    'uint8',
  ])
  expect(dtypeOf(runInNewContext('new Int16Array(1)'))).toBe('int16')
  expect(refusal(() => dtypeOf(new DataView(new ArrayBuffer(1))))).toMatch(/^LOADERX_UNSUPPORTED_DTYPE a DataView/)
  expect(refusal(() => dtypeOf([1] as unknown as Uint8Array))).toMatch(/a Array/)
})

test('arrayOf sees the same memory', () => {
  const data = new Uint8ClampedArray([1, 2, 3, 4]).subarray(1)
  const array = arrayOf(data)
  data[0] = 9
  expect(array).toEqual({ dtype: 'uint8', shape: [3], data: Uint8Array.of(9, 3, 4) })
})
