// What a loader takes: every wrong argument is refused by name and value; transforms; the choice of workers.
import { join } from 'node:path'
import { type BatchControls, DataLoader, Dataset, ndarray, type Sampler } from 'loaderx'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chooseWorkers } from '#dist/loader/workers-auto.js'
import { collect, failure, indicesOf, openDatasets, watchThreads } from '../support/loading.ts'
import { tempDir } from '../support/stores.ts'

let data: Dataset
let label: Dataset
let shorter: Dataset
let empty: Dataset
let closed: Dataset

beforeAll(async () => {
  const dir = tempDir()
  const raw = { descr: '<i8', shape: [], codec: 'raw' as const }
  data = await openDatasets(join(dir, 'data'), [{ rows: 30, descr: '|u1', shape: [7], codec: 'raw' }])
  label = await openDatasets(join(dir, 'label'), [{ rows: 30, ...raw }])
  shorter = await openDatasets(join(dir, 'shorter'), [{ rows: 29, ...raw }])
  closed = await openDatasets(join(dir, 'closed'), [{ rows: 30, ...raw }])
  await closed.close()
  await Dataset.write(join(dir, 'empty'), ndarray('uint8', [0, 3], new Uint8Array(0)))
  empty = await Dataset.open(join(dir, 'empty'))
})
afterAll(() => Promise.all([data, label, shorter, empty].map((dataset) => dataset.close())))

/** The constructor as it is called without types. */
const make = (...args: unknown[]) => new (DataLoader as unknown as new (...args: unknown[]) => unknown)(...args)

test.each([
  [{ batchSize: 0 }, 'batchSize is 0;'],
  [{ batchSize: -3 }, 'batchSize is -3;'],
  [{ batchSize: 1.5 }, 'batchSize is 1.5;'],
  [{ batchSize: '8' }, 'batchSize is "8";'],
  [{ batchSize: 8n }, 'batchSize is 8n;'],
  [{ batchSize: null }, 'batchSize is null;'],
  [{ batchSize: 2 ** 24 + 1 }, 'batchSize is 16777217;'],
  [{ batchSize: Number.NaN }, 'batchSize is NaN;'],
  [{ batchSize: { loop: {} } }, 'batchSize is [object Object];'],
  [{ sampler: 'weighted' }, 'sampler "weighted" is unknown'],
  [{ sampler: 'constructor' }, 'sampler "constructor" is unknown'],
  [{ sampler: null }, 'sampler null is unknown'],
  [{ sampler: { indices: [] } }, 'sampler [object Object] is unknown'],
  [{ seed: -1 }, 'seed -1 (number)'],
  [{ seed: 0.5 }, 'seed 0.5 (number)'],
  [{ seed: 2 ** 53 }, 'seed 9007199254740992 (number)'],
  [{ seed: 2n ** 64n }, 'seed 18446744073709551616 (bigint)'],
  [{ seed: '1' }, 'seed "1" (string)'],
  [{ workers: -1 }, "workers (a number, or 'auto') is -1;"],
  [{ workers: 65 }, "workers (a number, or 'auto') is 65;"],
  [{ workers: 'all' }, 'workers (a number, or \'auto\') is "all";'],
  [{ prefetch: 0 }, 'prefetch is 0;'],
  [{ prefetch: 1025 }, 'prefetch is 1025;'],
  [{ prefetchBytes: 0 }, 'prefetchBytes is 0;'],
  [{ prefetchBytes: Number.POSITIVE_INFINITY }, 'prefetchBytes is Infinity;'],
  [{ ownership: 'mine' }, 'ownership is "mine";'],
  [{ transform: 'double' }, 'transform is "double";'],
  [{ signal: new AbortController() }, 'signal is [object AbortController];'],
  [{ batch_size: 8 }, 'a loader has no option "batch_size"; it has batchSize,'],
  [5, 'the last argument is 5;'],
  ['fast', 'the last argument is "fast";'],
  [() => 5, 'the last argument is () => 5;'],
])('the options %o are refused', async (options, words) => {
  const error = await failure(() => make(data, label, options))
  expect(error.code).toBe('LOADERX_INVALID_ARGUMENT')
  expect(error.message).toContain(words)
})

test('options that are undefined have their default', () => {
  const names = ['batchSize', 'sampler', 'seed', 'workers', 'prefetch', 'prefetchBytes', 'ownership', 'transform']
  const loader = make(data, Object.fromEntries([...names, 'signal'].map((name) => [name, undefined])))
  expect(loader).toMatchObject({ batchSize: 256, length: 30, step: 0, workers: 0 })
})

test.each([
  ['no fields', () => make({}), 'LOADERX_INVALID_ARGUMENT', /no fields/],
  ['nothing', () => make(), 'LOADERX_INVALID_ARGUMENT', /fields are undefined/],
  ['null', () => make(null), 'LOADERX_INVALID_ARGUMENT', /fields are null/],
  ['a path', () => make('here'), 'LOADERX_INVALID_ARGUMENT', /fields are "here"/],
  ['no dataset', () => make({ picture: [1] }), 'LOADERX_INVALID_ARGUMENT', /"picture" is not a dataset/],
  ['no data', () => make(undefined, label), 'LOADERX_INVALID_ARGUMENT', /"data" is not a dataset/],
  ['no labels', () => make(data, undefined, {}), 'LOADERX_INVALID_ARGUMENT', /labels of a loader are undefined/],
  ['step', () => make({ step: data }), 'LOADERX_INVALID_ARGUMENT', /cannot be named "step"/],
  ['release', () => make({ release: data }), 'LOADERX_INVALID_ARGUMENT', /cannot be named "release"/],
  ['constructor', () => make({ constructor: data }), 'LOADERX_INVALID_ARGUMENT', /cannot be named "constructor"/],
  ['__proto__', () => make({ ['__proto__']: data }), 'LOADERX_INVALID_ARGUMENT', /cannot be named "__proto__"/],
  ['lengths', () => make(data, shorter), 'LOADERX_LENGTH_MISMATCH', /"data" has 30 samples, but field "label" has 29/],
  [
    'lengths by name',
    () => make({ a: label, b: data, c: shorter }),
    'LOADERX_LENGTH_MISMATCH',
    /"a" has 30.*"c" has 29/,
  ],
  ['empty', () => make({ none: empty }), 'LOADERX_EMPTY_DATASET', /"none" has no samples/],
  ['closed', () => make(data, closed), 'LOADERX_ALREADY_CLOSED', /^field "label": .*closed.* has been closed/],
  ['closed part', () => make(Dataset.concat(label, shorter, closed)), 'LOADERX_ALREADY_CLOSED', /closed/],
] as const)('fields: %s', async (_, work, code, message) => {
  const error = await failure(work)
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
})

test.each([-1, 0.5, '3', Number.NaN, 2n])('take and sync refuse %s', async (count) => {
  await using loader = new DataLoader(data, { workers: 0 })
  for (const work of [() => loader.take(count as number), () => loader.sync(count as number)]) {
    expect(await failure(work)).toMatchObject({ code: 'LOADERX_INVALID_ARGUMENT', details: { actual: count } })
  }
})

test('a batch that no memory can hold is refused when it is wanted, and nothing stays taken', async () => {
  const wide = await openDatasets(tempDir(), [{ rows: 2, descr: '|u1', shape: [100_000], codec: 'flate' }])
  const threads = watchThreads()
  for (const workers of [0, 2]) {
    await using loader = new DataLoader(wide, { batchSize: 100_000, workers, ownership: 'shared' })
    for (let i = 0; i < 3; i++) {
      expect(await failure(() => loader.take(1).next())).toMatchObject({ code: 'LOADERX_BATCH_TOO_LARGE' })
    }
    expect(threads.size).toBe(0)
  }
  await wide.close()
})

describe('transform', () => {
  for (const workers of [0, 2]) {
    test(`its results come in order, with ${workers} workers`, async () => {
      const options = { batchSize: 4, workers, seed: 5n }
      const steps: number[] = []
      const async = async ({ step, label: { data } }: BatchControls & { label: { data: BigInt64Array } }) => {
        // Later ones would be done sooner.
        await new Promise((resolve) => setTimeout(resolve, 8 - step))
        steps.push(step)
        return Number(data[0]! & 255n)
      }
      const typed = label as Dataset<'int64'>
      await using slow = new DataLoader({ label: typed }, { ...options, transform: async })
      const results = await Promise.all(Array.from({ length: 8 }, () => slow[Symbol.asyncIterator]().next()))
      expect(steps).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
      await using plain = new DataLoader({ label: typed }, { ...options, transform: (batch) => batch.label.data[0]! })
      const firsts = [...plain.sync(8)].map((value) => Number(value & 255n))
      expect(results.map(({ value }) => value)).toEqual(firsts)
      expect(plain.step).toBe(8)
    })
  }

  test('may give anything, also nothing', async () => {
    await using loader = new DataLoader(data, { workers: 0, transform: () => undefined })
    expect(await collect(loader.take(3))).toEqual([undefined, undefined, undefined])
    expect([...loader.sync(2)]).toEqual([undefined, undefined])
  })
})

test('the seed: a bigint gives what the number gives, another one other batches', async () => {
  const first = async (seed: number | bigint, sampler: 'random' | 'shuffle') => {
    await using loader = new DataLoader(label, { seed, sampler, batchSize: 12, workers: 0 })
    return (await loader.take(1).next()).value.data.data.join()
  }
  for (const sampler of ['random', 'shuffle'] as const) {
    expect(await first(7, sampler)).toBe(await first(7n, sampler))
    expect(await first(2n ** 64n - 1n, sampler)).not.toBe(await first(7, sampler))
  }
})

test("a sampler of one's own", async () => {
  const sampler: Sampler = { indicesAt: (step) => Uint32Array.of(step, 29 - step, 3) }
  await using loader = new DataLoader(label, { sampler, batchSize: 3, workers: 2 })
  for await (const batch of loader.take(9)) {
    expect(batch.data.data).toEqual((await label.gather([batch.step, 29 - batch.step, 3])).data)
  }
})

describe("workers: 'auto'", () => {
  const cost = (sampleBytes: number, codec: 'raw' | 'flate', batchSize = 256, processors = 6) =>
    chooseWorkers({
      batchSize,
      fields: [
        { sampleBytes, codec },
        { sampleBytes: 8, codec: 'flate' },
      ],
      processors,
    })

  test('none for what is copied faster than a thread wakes, else one for each processor up to 8', () => {
    expect([cost(784, 'raw'), cost(784, 'raw', 1), cost(8, 'flate')]).toEqual([0, 0, 0])
    expect([cost(784, 'flate'), cost(150_528, 'raw'), cost(784, 'raw', 65536)]).toEqual([6, 6, 6])
    expect([cost(784, 'flate', 256, 1), cost(784, 'flate', 256, 64)]).toEqual([1, 8])
    expect(cost(784, 'flate', 4)).toBe(0)
  })

  test('the loader says what was chosen', async () => {
    await using few = new DataLoader(data, label)
    expect(few.workers).toBe(0)
    await using many = new DataLoader(data, label, { batchSize: 2 ** 20 })
    expect(many.workers).toBeGreaterThan(0)
    await using told = new DataLoader(data, label, { workers: 3 })
    expect(told.workers).toBe(3)
    expect(indicesOf('random', { length: 30, batchSize: 256, seed: 42 }, 0).length).toBe(few.batchSize)
  })
})
