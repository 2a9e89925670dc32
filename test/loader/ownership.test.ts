// Whose memory a batch has, and until when.
import { join } from 'node:path'
import { DataLoader, type Dataset, isLoaderxError } from 'loaderx'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bytesIn, collect, failure, openDatasets } from '../support/loading.ts'
import { tempDir } from '../support/stores.ts'

let small: Dataset
let long: Dataset

async function openBoth(residency: 'memory' | 'mapped' | 'file' = 'memory'): Promise<[Dataset, Dataset]> {
  const dir = tempDir()
  return [
    await openDatasets(join(dir, 'small'), [{ rows: 500, descr: '|u1', shape: [32], codec: 'raw' }], residency),
    await openDatasets(join(dir, 'long'), [{ rows: 500, descr: '|u1', shape: [5000], codec: 'flate' }], residency),
  ]
}

beforeAll(async () => {
  ;[small, long] = await openBoth()
})
afterAll(() => Promise.all([small.close(), long.close()]))

const released = (work: () => unknown) => {
  try {
    work()
  } catch (error) {
    if (isLoaderxError(error, 'LOADERX_BATCH_RELEASED')) return error.details
    throw error
  }
  return 'readable'
}

for (const workers of [0, 1, 3]) {
  describe(`${workers} workers, owned`, () => {
    test('50 kept batches are never written again', async () => {
      await using loader = new DataLoader({ small, long }, { batchSize: 16, workers, seed: 3 })
      const kept: { batch: { small: { data: Uint8Array }; long: { data: Uint8Array } }; was: Buffer }[] = []
      for await (const batch of loader.take(50)) {
        const one = batch as unknown as (typeof kept)[0]['batch']
        kept.push({ batch: one, was: Buffer.concat([bytesIn(one.small), bytesIn(one.long)]) })
      }
      for await (const batch of loader.take(20)) batch.release()
      for (const { batch, was } of kept) {
        expect(Buffer.concat([bytesIn(batch.small), bytesIn(batch.long)]).equals(was)).toBe(true)
      }
      expect(new Set(kept.map(({ batch }) => batch.small.data.buffer)).size).toBe(50)
    })

    test('release detaches the arrays, makes the fields unreadable, and its memory comes again', async () => {
      await using loader = new DataLoader({ small, long }, { batchSize: 16, workers, sampler: 'sequential' })
      for await (const batch of loader.take(20)) {
        const arrays = [batch.small.data, batch.long.data]
        batch.release()
        expect(arrays.map((array) => array.byteLength)).toEqual([0, 0])
        expect(released(() => batch.small)).toEqual({ field: 'small', step: batch.step })
        expect(released(() => batch.long)).toEqual({ field: 'long', step: batch.step })
        batch.release()
        batch[Symbol.dispose]()
      }
      for await (const batch of loader.take(1)) {
        expect(Buffer.from(batch.small.data.buffer).equals(bytesIn(await small.slice(320, 336)))).toBe(true)
      }
    })

    test('using', async () => {
      await using loader = new DataLoader(small, { batchSize: 16, workers })
      const arrays: Uint8Array[] = []
      for await (using batch of loader.take(3)) arrays.push(batch.data.data as Uint8Array)
      expect(arrays.map((array) => array.byteLength)).toEqual([0, 0, 0])
    })

    test('a batch outlives its loader and the datasets, and can be released after them', async () => {
      const [data, label] = await openBoth()
      const loader = new DataLoader(data, label, { batchSize: 16, workers, sampler: 'sequential' })
      const batch = (await loader.take(1).next()).value
      await loader.close()
      await Promise.all([data.close(), label.close()])
      expect(bytesIn(batch.label).equals(bytesIn(await long.slice(0, 16)))).toBe(true)
      const { data: array } = batch.label
      batch.release()
      expect(array.byteLength).toBe(0)
    })
  })

  describe(`${workers} workers, shared`, () => {
    test('views stay until released; a full house is refused, and goes on after a release', async () => {
      await using loader = new DataLoader(
        { small, long },
        {
          batchSize: 16,
          workers,
          ownership: 'shared',
          prefetch: 4,
          sampler: 'sequential',
        },
      )
      const held: { step: number; release(): void; small: { data: Uint8Array } }[] = []
      const right = async () => {
        for (const {
          step,
          small: { data },
        } of held) {
          const from = (16 * step) % 500
          const expected = await small.gather(Array.from({ length: 16 }, (_, i) => (from + i) % 500))
          expect(bytesIn({ data }).equals(bytesIn(expected)), `step ${step}`).toBe(true)
        }
      }
      const refused = await failure(async () => {
        for await (const batch of loader) held.push(batch as unknown as (typeof held)[0])
      })
      expect(refused).toMatchObject({ code: 'LOADERX_BATCHES_HELD', details: { actual: 5, step: 5 } })
      expect(refused.message).toMatch(/all 5 places.*release\(\)/)
      expect(held.map((batch) => batch.step)).toEqual([0, 1, 2, 3, 4])
      await right()
      held.shift()!.release()
      for await (const batch of loader.take(30)) {
        held.push(batch as unknown as (typeof held)[0])
        await right()
        held.splice(-1)[0]!.release()
      }
      expect(loader.step).toBe(35)
    })

    test('one batch held for long does not stop the others', async () => {
      await using loader = new DataLoader(small, { batchSize: 8, workers, ownership: 'shared', prefetch: 2 })
      const iterator = loader.take(100)
      const first = (await iterator.next()).value
      const was = bytesIn(first.data)
      for await (const batch of iterator) batch.release()
      expect([loader.step, bytesIn(first.data).equals(was)]).toEqual([100, true])
      first.release()
      expect(released(() => first.data)).toEqual({ field: 'data', step: 0 })
    })

    for (const residency of ['memory', 'mapped', 'file'] as const) {
      test(`a held batch keeps its bytes when loader and datasets are closed (${residency})`, async () => {
        const [data, label] = await openBoth(residency)
        const loader = new DataLoader(data, label, { batchSize: 16, workers, ownership: 'shared', seed: 9 })
        const held = await collect(loader.take(2))
        const was = held.map((batch) => Buffer.concat([bytesIn(batch.data), bytesIn(batch.label)]))
        // Another loader's memory is not theirs.
        await using other = new DataLoader(data, label, { batchSize: 16, workers: 0, ownership: 'shared', seed: 1 })
        for (const batch of other.sync(9)) batch.release()
        await loader.close()
        for (const batch of other.sync(9)) batch.release()
        await other.close()
        await Promise.all([data.close(), label.close()])
        for (const [i, batch] of held.entries()) {
          expect(Buffer.concat([bytesIn(batch.data), bytesIn(batch.label)]).equals(was[i]!)).toBe(true)
          batch.release()
          batch.release()
        }
      })
    }
  })
}

test('a shared batch lies in the memory as it is now, also after other loaders made it grow', async () => {
  const [data, label] = await openBoth()
  const shared = { batchSize: 64, workers: 0, ownership: 'shared' } as const
  await using loader = new DataLoader(data, shared)
  const buffers = [loader, new DataLoader(data, { ...shared, prefetch: 500 }), loader].map((one) => {
    const batch = one.sync(1).next().value!
    const { buffer } = batch.data.data
    batch.release()
    return buffer
  })
  expect(buffers[1]!.byteLength).toBeGreaterThan(buffers[0]!.byteLength)
  // Filled through an old view it would be copied record by record.
  expect(buffers[2]).toBe(buffers[1])
  await Promise.all([data.close(), label.close()])
})
