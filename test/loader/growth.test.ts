// Stores that grow under a running loader, and loaders that leave nothing behind: no memory, thread, file or mapping.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DataLoader, Dataset, ndarray } from 'loaderx'
import { describe, expect, test } from 'vitest'
import { bytesIn, failure, indicesOf, makeDataset, openDatasets, watchThreads } from '../support/loading.ts'
import { tempDir } from '../support/stores.ts'

const RESIDENCIES = ['memory', 'mapped', 'file'] as const

describe('appends while a loader runs', () => {
  for (const residency of RESIDENCIES) {
    for (const workers of [0, 2]) {
      test(`${residency}, ${workers} workers: its order stays, and the new samples are read right`, async () => {
        const path = join(tempDir(), 'set')
        const rows = (from: number, count: number) =>
          ndarray(
            'int32',
            [count, 20],
            Int32Array.from({ length: count * 20 }, (_, i) => from * 20 + i),
          )
        await Dataset.write(path, rows(0, 100), { codec: 'raw' })
        await using data = await Dataset.open(path, { residency })
        await using loader = new DataLoader(data, { batchSize: 16, workers, sampler: 'shuffle', seed: 1, prefetch: 3 })
        let length = 100
        for await (const batch of loader.take(200)) {
          const indices = indicesOf('shuffle', { length: 100, batchSize: 16, seed: 1 }, batch.step)
          const expected = Int32Array.from(indices, (index) => Number(index) * 20)
          expect(Int32Array.from({ length: 16 }, (_, i) => Number(batch.data.data[20 * i]))).toEqual(expected)
          if (batch.step % 10 === 5) {
            await Dataset.write(path, rows(length, 50), { codec: batch.step < 60 ? 'raw' : 'flate' })
            length += 50
            // From here the table is read anew, by the loader first, which knows a part of its last page.
            expect(data.length).toBe(length)
          }
          if (batch.step % 10 === 9) {
            const last = await data.gather([length - 50, length - 51, length - 1])
            expect([0, 20, 40].map((at) => last.data[at])).toEqual(
              [length - 50, length - 51, length - 1].map((i) => 20 * i),
            )
          }
        }
        expect([loader.length, data.length]).toEqual([100, 1100])
        await using later = new DataLoader(data, { workers })
        expect(later.length).toBe(1100)
      })
    }
  }
})

describe('memory', () => {
  for (const [name, bytes] of [
    ['copied', 3000],
    ['transferred', 5000],
  ] as const) {
    for (const workers of [0, 2]) {
      test(`2000 owned batches, ${name}, ${workers} workers, released or not`, async () => {
        await using data = await openDatasets(tempDir(), [{ rows: 300, descr: '|u1', shape: [bytes], codec: 'raw' }])
        await using loader = new DataLoader(data, { batchSize: 256, workers })
        let before = 0
        for (const releases of [true, false, true]) {
          for await (const batch of loader.take(2000)) {
            if (releases) batch.release()
            // Lets buffers be collected as in a program that does something with them.
            else if (batch.step % 10 === 0) await new Promise((resolve) => setImmediate(resolve))
          }
          if (before === 0) before = process.memoryUsage().rss
        }
        // Without an end these would be 1.5 and 2.6 GB for each 2000.
        expect(process.memoryUsage().rss - before).toBeLessThan(500 * 2 ** 20)
      })
    }
  }

  test('a peak of released batches is not kept', async () => {
    await using data = await openDatasets(tempDir(), [{ rows: 30, descr: '|u1', shape: [8192], codec: 'raw' }])
    await using loader = new DataLoader(data, { batchSize: 128, workers: 1 })
    const before = process.memoryUsage().rss
    for (let i = 0; i < 6; i++) {
      const kept: { release(): void }[] = []
      for await (const batch of loader.take(200)) kept.push(batch)
      for (const batch of kept) batch.release()
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(700 * 2 ** 20)
  })
})

describe('nothing is left', () => {
  /** Open files, and mappings of the files below `dir`; nothing where the system does not tell. */
  const left = (dir: string) => {
    if (!existsSync('/proc/self/maps')) return { files: 0, mappings: 0 }
    const maps = readFileSync('/proc/self/maps', 'utf8').split('\n')
    return {
      files: readdirSync('/proc/self/fd').length,
      mappings: maps.filter((line) => line.includes(dir)).length,
    }
  }

  test('100 loaders, one after the other', async () => {
    const dir = tempDir()
    const parts = [
      { rows: 50, descr: '|u1', shape: [70], codec: 'raw' as const },
      { rows: 50, descr: '|u1', shape: [70], codec: 'flate' as const },
    ]
    const sets: Dataset[] = []
    for (const residency of RESIDENCIES) sets.push(await openDatasets(join(dir, residency), parts, residency))
    for (const data of sets) await data.gather([0, 99])
    const threads = watchThreads()
    const before = left(dir)
    for (let i = 0; i < 100; i++) {
      const options = {
        batchSize: 16,
        workers: [2, 0, 0, 1][i % 4]!,
        ownership: i % 3 === 0 ? 'shared' : 'owned',
      } as const
      const loader = new DataLoader(sets[i % 3]!, { ...options, prefetch: 2 })
      if (i % 5 === 0) {
        for await (const batch of loader) {
          batch.release()
          if (batch.step === 3) break
        }
      } else for await (const batch of loader.take(3)) batch.release()
      await loader.close()
    }
    expect(threads.size).toBe(0)
    expect(left(dir)).toEqual(before)
    for (const data of sets) await data.close()
    expect(left(dir).mappings).toBe(0)
  })

  test('the memory of a store is given back: as many loaders later there is as much room as before', async () => {
    await using data = await openDatasets(tempDir(), [{ rows: 9, descr: '|u1', shape: [900], codec: 'raw' }])
    // Each takes more than 140 MB of the 4 GiB that a store's memory can have.
    for (let i = 0; i < 40; i++) {
      const options = { batchSize: 2 ** 15, workers: i % 10 === 0 ? 1 : 0, ownership: 'shared' } as const
      await using loader = new DataLoader(data, options)
      const batch = (await loader.take(1).next()).value
      batch.release()
    }
    await using last = new DataLoader(data, { batchSize: 4, workers: 0 })
    const batch = (await last.take(1).next()).value
    const indices = indicesOf('random', { length: 9, batchSize: 4, seed: 42 }, 0)
    expect(bytesIn(batch.data).equals(bytesIn(await data.gather(indices)))).toBe(true)
  })

  test('what a refused loader held is let go', async () => {
    const dir = tempDir()
    const path = await makeDataset(join(dir, 'one'), { rows: 5, descr: '|u1', shape: [300], codec: 'raw' })
    const one = await Dataset.open(path, { residency: 'mapped' })
    const closed = await Dataset.open(path)
    await closed.close()
    const make = (fields: object, options: object = {}) => new DataLoader(fields as { one: Dataset }, options)
    expect(await failure(() => make({ one, two: [] }))).toMatchObject({ code: 'LOADERX_INVALID_ARGUMENT' })
    expect(await failure(() => make({ one, closed }))).toMatchObject({ code: 'LOADERX_ALREADY_CLOSED' })
    expect(await failure(() => make({ one }, { seed: -1 }))).toMatchObject({ code: 'LOADERX_INVALID_ARGUMENT' })
    const { mappings } = left(dir)
    await one.close()
    expect(left(dir).mappings).toBe(0)
    if (existsSync('/proc/self/maps')) expect(mappings).toBeGreaterThan(0)
  })
})
