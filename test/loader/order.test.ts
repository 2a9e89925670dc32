// Batches come in step order and no further ahead than allowed, whatever the workers do.
import { join } from 'node:path'
import { DataLoader, type Dataset } from 'loaderx'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { planSize } from '#dist/loader/options.js'
import { openDatasets } from '../support/loading.ts'
import { tempDir } from '../support/stores.ts'

const ROWS = 64
let mixed: Dataset
let index: Dataset

beforeAll(async () => {
  const dir = tempDir()
  // Batches of the first half are copied, those of the second decoded: workers finish out of order.
  mixed = await openDatasets(join(dir, 'mixed'), [
    { rows: ROWS / 2, descr: '|u1', shape: [40_000], codec: 'raw' },
    { rows: ROWS / 2, descr: '|u1', shape: [40_000], codec: 'flate' },
  ])
  index = await openDatasets(join(dir, 'index'), [{ rows: ROWS, descr: '<i8', shape: [], codec: 'raw' }])
})
afterAll(() => Promise.all([mixed.close(), index.close()]))

/** Every other batch is slow. Notes how far it has been asked. */
function watched(batchSize: number): { asked: number[]; indicesAt(step: number): number[] } {
  const asked: number[] = []
  return {
    asked,
    indicesAt(step) {
      asked.push(step)
      return Array.from({ length: batchSize }, (_, i) => (step % 2 === 0 ? ROWS / 2 : 0) + ((step + i) % (ROWS / 2)))
    },
  }
}

for (const workers of [1, 2, 4]) {
  for (const ownership of ['owned', 'shared'] as const) {
    test(`in order with ${workers} workers, ${ownership}`, async () => {
      const sampler = watched(8)
      await using loader = new DataLoader({ mixed, index }, { batchSize: 8, workers, ownership, sampler, prefetch: 7 })
      const expected = (await index.gatherSync(Array.from({ length: ROWS }, (_, i) => i))).data
      let step = 0
      for await (const batch of loader.take(60)) {
        const indices = watched(8).indicesAt(step)
        expect(batch.step).toBe(step++)
        expect([...(batch.index.data as BigInt64Array)]).toEqual(Array.from(indices, (i) => expected[i]))
        batch.release()
      }
      expect(sampler.asked).toEqual(sampler.asked.map((_, i) => i))
    })
  }
}

describe('prefetch', () => {
  const cases = [
    { workers: 1, prefetch: 1, ahead: 1 },
    { workers: 2, prefetch: 2, ahead: 2 },
    { workers: 3, prefetch: 5, ahead: 5 },
    { workers: 2, prefetch: 100, prefetchBytes: 3 * 8 * 40_008 + 5, ahead: 3 },
    { workers: 2, prefetchBytes: 1, ahead: 1 },
    { workers: 1, ahead: 4 },
    { workers: 4, ahead: 8 },
  ]
  for (const { ahead, ...options } of cases) {
    for (const ownership of ['owned', 'shared'] as const) {
      test(`${JSON.stringify(options)}, ${ownership}: ${ahead} ahead of a slow consumer`, async () => {
        const sampler = watched(8)
        await using loader = new DataLoader({ mixed, index }, { ...options, batchSize: 8, ownership, sampler })
        const most: number[] = []
        for await (const batch of loader.take(20)) {
          await new Promise((resolve) => setTimeout(resolve, 2))
          // The step in the consumer's hands is delivered.
          most.push(sampler.asked.length - (batch.step + 1))
          batch.release()
        }
        expect(Math.max(...most)).toBe(ahead)
        expect(Math.min(...most)).toBeGreaterThan(0)
        expect(sampler.asked).toEqual(sampler.asked.map((_, i) => i))
      })
    }
  }

  test('without workers a step is asked for when it is wanted', async () => {
    const sampler = watched(8)
    await using loader = new DataLoader(index, { batchSize: 8, workers: 0, sampler, prefetch: 9 })
    for await (const batch of loader.take(4)) expect(sampler.asked.length).toBe(batch.step + 1)
  })

  test('the plan', () => {
    const plan = (settings: { prefetch?: number; prefetchBytes?: number; ownership?: 'owned' | 'shared' }, n = 1) =>
      planSize({ prefetch: undefined, prefetchBytes: 1000, ownership: 'owned', ...settings }, n, 100)
    expect(plan({})).toEqual({ ahead: 4, places: 4 })
    expect(plan({}, 3)).toEqual({ ahead: 6, places: 6 })
    expect(plan({}, 16)).toEqual({ ahead: 10, places: 10 })
    expect(plan({ ownership: 'shared' })).toEqual({ ahead: 4, places: 5 })
    expect(plan({ prefetch: 3, prefetchBytes: 99 })).toEqual({ ahead: 1, places: 1 })
    expect(plan({ prefetch: 3, prefetchBytes: 250, ownership: 'shared' })).toEqual({ ahead: 2, places: 3 })
  })
})
