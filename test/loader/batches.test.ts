// Every way of loading gives the same batches: those of a sampler and Dataset.gather.
import { join } from 'node:path'
import fc from 'fast-check'
import { type Codec, DataLoader, type Dataset, type Residency, type SamplerKind } from 'loaderx'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AnyBatch, bytesIn, indicesOf, openDatasets, type Recipe } from '../support/loading.ts'
import { tempDir } from '../support/stores.ts'

const RESIDENCIES: readonly Residency[] = ['memory', 'mapped', 'file']
const CODECS: readonly Codec[] = ['raw', 'flate']
const ROWS = 60

/** Each field's parts: scalars, small and long samples, one store and several, in either byte order. */
function recipes(codec: Codec): Record<string, Recipe[]> {
  return {
    label: [{ rows: ROWS, descr: '<i8', shape: [], codec }],
    flag: [{ rows: ROWS, descr: '|b1', shape: [3], codec }],
    joined: [
      { rows: 20, descr: '<f4', shape: [5, 3], codec },
      { rows: 1, descr: '>f4', shape: [5, 3], codec: 'flate' },
      { rows: 39, descr: '>f4', shape: [5, 3], codec: 'raw' },
    ],
    swapped: [{ rows: ROWS, descr: '>i2', shape: [50], codec }],
    limit: [{ rows: ROWS, descr: '|u1', shape: [4095], codec }],
    page: [{ rows: ROWS, descr: '<u4', shape: [1024], codec }],
    pages: [
      { rows: 30, descr: '|u1', shape: [12288], codec },
      { rows: 30, descr: '|u1', shape: [12288], codec: 'flate' },
    ],
    picture: [{ rows: ROWS, descr: '|u1', shape: [150_000], codec }],
  }
}

const NAMES = Object.keys(recipes('raw'))
const open = new Map<string, Dataset>()

beforeAll(async () => {
  const dir = tempDir()
  for (const codec of CODECS) {
    for (const [name, parts] of Object.entries(recipes(codec))) {
      for (const residency of RESIDENCIES) {
        const key = `${name} ${codec} ${residency}`
        open.set(key, await openDatasets(join(dir, key), parts, residency))
      }
    }
  }
})
afterAll(() => Promise.all([...open.values()].map((dataset) => dataset.close())))

const settings = fc.record({
  fields: fc.subarray(NAMES, { minLength: 1, maxLength: 3 }),
  codec: fc.constantFrom(...CODECS),
  residencies: fc.array(fc.constantFrom(...RESIDENCIES), { minLength: 3, maxLength: 3 }),
  workers: fc.constantFrom(0, 1, 2, 4),
  ownership: fc.constantFrom('owned' as const, 'shared' as const),
  sampler: fc.constantFrom('sequential' as const, 'random' as const, 'shuffle' as const),
  batchSize: fc.constantFrom(1, 7, 64, 256),
  prefetch: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
  seed: fc.oneof(fc.nat(), fc.bigInt(0n, 2n ** 64n - 1n)),
  releases: fc.boolean(),
  sync: fc.boolean(),
  steps: fc.integer({ min: 1, max: 9 }),
})

interface Settings {
  readonly fields: readonly string[]
  readonly codec: Codec
  readonly residencies: readonly Residency[]
  readonly workers: number
  readonly ownership: 'owned' | 'shared'
  readonly sampler: SamplerKind
  readonly batchSize: number
  readonly prefetch: number | undefined
  readonly seed: number | bigint
  readonly releases: boolean
  readonly sync: boolean
  readonly steps: number
}

function fieldsOf({ fields, codec, residencies }: Settings): Record<string, Dataset> {
  return Object.fromEntries(fields.map((name, i) => [name, open.get(`${name} ${codec} ${residencies[i]}`)!]))
}

async function check(batch: AnyBatch, step: number, one: Settings, datasets: Record<string, Dataset>): Promise<void> {
  const { batchSize, seed } = one
  const indices = indicesOf(one.sampler, { length: ROWS, batchSize, seed }, step)
  expect(batch.step).toBe(step)
  expect(Object.keys(batch)).toEqual(['step', ...Object.keys(datasets)])
  for (const [name, dataset] of Object.entries(datasets)) {
    const expected = await dataset.gather(indices)
    const { dtype, shape, data } = batch[name]!
    expect({ dtype, shape, array: data.constructor.name }).toEqual({
      dtype: dataset.dtype,
      shape: [batchSize, ...dataset.shape],
      array: expected.data.constructor.name,
    })
    expect(bytesIn({ data }).equals(bytesIn(expected)), `bytes of ${name} at step ${step}`).toBe(true)
    expect(data.buffer instanceof SharedArrayBuffer).toBe(one.ownership === 'shared')
  }
}

test('all settings give the batches of the sampler and Dataset.gather', async () => {
  await fc.assert(
    fc.asyncProperty(settings, async (one) => {
      const datasets = fieldsOf(one)
      const { batchSize, sampler, seed, workers, ownership, prefetch } = one
      const options = { batchSize, sampler, seed, workers, ownership, ...(prefetch === undefined ? {} : { prefetch }) }
      await using loader = new DataLoader(datasets, options)
      expect([loader.length, loader.batchSize, loader.workers, loader.step]).toEqual([ROWS, batchSize, workers, 0])
      // Held batches stay right while later ones are filled.
      const held: AnyBatch[] = []
      const use = async (batch: AnyBatch, step: number) => {
        await check(batch, step, one, datasets)
        if (one.releases || ownership === 'shared') batch.release()
        else held.push(batch)
      }
      let step = 0
      if (one.sync) for (const batch of loader.sync(one.steps)) await use(batch as AnyBatch, step++)
      else for await (const batch of loader.take(one.steps)) await use(batch as AnyBatch, step++)
      expect([step, loader.step]).toEqual([one.steps, one.steps])
      for (const [i, batch] of held.entries()) await check(batch, i, one, datasets)
    }),
    { numRuns: 120 },
  )
})

test('a batch larger than the dataset, of long samples, with workers and without', async () => {
  const base: Omit<Settings, 'workers'> = {
    fields: ['picture', 'label'],
    codec: 'flate',
    residencies: ['memory', 'file', 'file'],
    ownership: 'owned',
    sampler: 'shuffle',
    batchSize: 100,
    prefetch: undefined,
    seed: 7,
    releases: true,
    sync: false,
    steps: 3,
  }
  for (const workers of [0, 2]) {
    const one = { ...base, workers }
    const datasets = fieldsOf(one)
    await using loader = new DataLoader(datasets, { batchSize: 100, sampler: 'shuffle', seed: 7, workers })
    let step = 0
    for await (const batch of loader.take(3)) await check(batch as AnyBatch, step++, one, datasets)
    expect(step).toBe(3)
  }
})
