// The types of batches follow from the datasets and the transform. Checked by tsc; run to see that they hold.
import { join } from 'node:path'
import { type Batch, type BatchControls, DataLoader, Dataset, type NDArray, ndarray } from 'loaderx'
import { beforeAll, expect, expectTypeOf, test } from 'vitest'
import { tempDir } from '../support/stores.ts'

let data: Dataset<'uint8'>
let label: Dataset<'int64'>

beforeAll(async () => {
  const dir = tempDir()
  await Dataset.write(join(dir, 'data'), ndarray('uint8', [4, 2], Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7)))
  await Dataset.write(join(dir, 'label'), ndarray('int64', [4], BigInt64Array.of(0n, 10n, 20n, 30n)))
  data = await Dataset.open(join(dir, 'data'), { dtype: 'uint8' })
  label = await Dataset.open(join(dir, 'label'), { dtype: 'int64' })
})

const options = { batchSize: 2, sampler: 'sequential', workers: 0 } as const

test('data and labels', async () => {
  await using loader = new DataLoader(data, label, options)
  for await (const batch of loader.take(1)) {
    expectTypeOf(batch.data.data).toEqualTypeOf<Uint8Array>()
    expectTypeOf(batch.label.data).toEqualTypeOf<BigInt64Array>()
    expectTypeOf(batch.data).toEqualTypeOf<NDArray<'uint8'>>()
    expectTypeOf(batch.step).toEqualTypeOf<number>()
    expectTypeOf<keyof typeof batch>().toEqualTypeOf<'data' | 'label' | keyof BatchControls>()
    expect([batch.data.data, batch.label.data, batch.step]).toEqual([
      Uint8Array.of(0, 1, 2, 3),
      BigInt64Array.of(0n, 10n),
      0,
    ])
  }
})

test('data only', async () => {
  await using loader = new DataLoader(data, options)
  for (const batch of loader.sync(1)) {
    expectTypeOf(batch.data.data).toEqualTypeOf<Uint8Array>()
    expectTypeOf<keyof typeof batch>().toEqualTypeOf<'data' | keyof BatchControls>()
    expect(Object.keys(batch)).toEqual(['step', 'data'])
  }
})

test('named fields', async () => {
  await using loader = new DataLoader({ pixels: data, digit: label, again: data }, options)
  const batch = (await loader.take(1).next()).value as Batch<{ pixels: Dataset<'uint8'>; digit: Dataset<'int64'> }>
  for await (const one of loader.take(1)) {
    expectTypeOf(one).toExtend<typeof batch>()
    expectTypeOf(one.pixels.data).toEqualTypeOf<Uint8Array>()
    expectTypeOf(one.digit.data).toEqualTypeOf<BigInt64Array>()
    expectTypeOf<keyof typeof one>().toEqualTypeOf<'pixels' | 'digit' | 'again' | keyof BatchControls>()
  }
  expect([batch.pixels.shape, batch.digit.shape]).toEqual([[2, 2], [2]])
})

test('a dtype that is not known', async () => {
  const any: Dataset = data
  await using loader = new DataLoader(any, options)
  for await (const batch of loader.take(1)) {
    expectTypeOf(batch.data).toEqualTypeOf<NDArray>()
    expect(batch.data.dtype).toBe('uint8')
  }
})

test('a transform gives its own type, its promise what it resolves to', async () => {
  await using sum = new DataLoader(data, label, {
    ...options,
    transform: (batch) => {
      expectTypeOf(batch.label.data).toEqualTypeOf<BigInt64Array>()
      return Number(batch.label.data[0]! + batch.label.data[1]!)
    },
  })
  expectTypeOf(sum).toEqualTypeOf<DataLoader<number>>()
  expect([...sum.sync(3)]).toEqual([10, 50, 10])

  await using text = new DataLoader({ data }, { ...options, transform: async (batch) => batch.data.data.join() })
  expectTypeOf(text).toEqualTypeOf<DataLoader<string>>()
  for await (const one of text.take(1)) expect(one).toBe('0,1,2,3')
})

test('what the types refuse', () => {
  // @ts-expect-error no such sampler
  expect(() => new DataLoader(data, { sampler: 'weighted' })).toThrow(/weighted/)
  // @ts-expect-error no such option
  expect(() => new DataLoader(data, { batch: 3 })).toThrow(/"batch"/)
  // @ts-expect-error not a dataset
  expect(() => new DataLoader({ data: [1, 2] })).toThrow(/not a dataset/)
})
