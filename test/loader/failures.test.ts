// What goes wrong with one step rejects that step, in order, with what is known of it; the loader can go on or close.
import { closeSync, openSync, readSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DataLoader, Dataset, type LoaderOptions, type Residency } from 'loaderx'
import { beforeAll, describe, expect, test } from 'vitest'
import { decodeEntry, entryPosition } from '#dist/format/entry.js'
import { collect, failure, makeDataset, openDatasets, until, watchThreads } from '../support/loading.ts'
import { tempDir } from '../support/stores.ts'

const ROWS = 40
let threads: ReturnType<typeof watchThreads>
let label: Dataset

beforeAll(async () => {
  label = await openDatasets(join(tempDir(), 'label'), [{ rows: ROWS, descr: '<i8', shape: [], codec: 'raw' }])
  threads = watchThreads()
})

function entryOf(path: string, record: number): ReturnType<typeof decodeEntry> {
  const table = new DataView(new ArrayBuffer(entryPosition(ROWS)))
  const fd = openSync(join(path, 'meta.zr'), 'r')
  readSync(fd, table, 0, table.byteLength, 0)
  closeSync(fd)
  return decodeEntry(table, entryPosition(record))
}

/** A dataset whose record `bad` cannot be decoded. */
async function damaged(shape: number[], bad: number): Promise<string> {
  const path = await makeDataset(join(tempDir(), 'bad'), { rows: ROWS, descr: '|u1', shape, codec: 'flate' })
  const { offset } = entryOf(path, bad)
  const fd = openSync(join(path, '0.zr'), 'r+')
  writeSync(fd, new Uint8Array(4).fill(0xff), 0, 4, offset)
  closeSync(fd)
  return path
}

/** Takes steps until one rejects; says how many came before, and its error. */
async function firstFailure(loader: AsyncIterable<{ release(): void }>): Promise<object> {
  let delivered = 0
  const error = await failure(async () => {
    for await (const batch of loader) {
      delivered++
      batch.release()
    }
  })
  return { ...error, delivered }
}

for (const workers of [0, 2]) {
  for (const ownership of ['owned', 'shared'] as const) {
    describe(`${workers} workers, ${ownership}`, () => {
      const options = { batchSize: 4, sampler: 'sequential', workers, ownership, prefetch: 6 } as const

      for (const residency of ['memory', 'mapped', 'file'] as const satisfies Residency[]) {
        for (const bytes of [100, 6000]) {
          test(`a damaged record of ${bytes} bytes (${residency})`, async () => {
            const path = await damaged([bytes], 22)
            await using data = await Dataset.open(path, { residency })
            await using loader = new DataLoader(data, label, options)
            // Twice: the step stays the one that comes next.
            for (const delivered of [5, 0]) {
              const error = await firstFailure(loader)
              expect(error).toMatchObject({ code: 'LOADERX_CORRUPT_RECORD', delivered })
              expect(error).toMatchObject({ details: { field: 'data', step: 5, index: 22, position: 2, path } })
              expect(error).toMatchObject({
                message: expect.stringMatching(/^step 5: field "data": record 22 of .*bad/),
              })
              expect([loader.step, threads.size]).toEqual([5, 0])
            }
            expect(await failure(() => loader.sync(1).next())).toMatchObject({ details: { field: 'data', step: 5 } })
            await until(() => threads.size === 0)
          })
        }
      }

      test('a damaged record of the second part of a field', async () => {
        const whole = await openDatasets(tempDir(), [{ rows: 10, descr: '|u1', shape: [90], codec: 'raw' }])
        await using data = Dataset.concat(whole, await Dataset.open(await damaged([90], 1)))
        await using loader = new DataLoader({ name: data }, options)
        // Sample 11 is record 1 of the second store, and stands last in step 2.
        expect(await firstFailure(loader)).toMatchObject({
          code: 'LOADERX_CORRUPT_RECORD',
          details: { field: 'name', step: 2, index: 1, position: 3 },
          delivered: 2,
        })
      })

      test('a file that is cut while the loader runs', async () => {
        const path = await makeDataset(join(tempDir(), 'cut'), {
          rows: ROWS,
          descr: '|u1',
          shape: [5000],
          codec: 'raw',
        })
        await using data = await Dataset.open(path, { residency: 'file' })
        await using loader = new DataLoader(data, options)
        for await (const batch of loader.take(2)) batch.release()
        truncateSync(join(path, '0.zr'), entryOf(path, 33).offset + 100)
        expect(await firstFailure(loader)).toMatchObject({
          code: 'LOADERX_TRUNCATED',
          details: { field: 'data', step: 8 },
          delivered: 6,
        })
      })

      test("the sampler's errors wait for their step", async () => {
        const fault = new Error('mine')
        const faults: Record<string, (step: number) => number[]> = {
          LOADERX_INVALID_ARGUMENT: () => [1, 2, 3],
          LOADERX_INDEX_OUT_OF_RANGE: () => [0, 1, ROWS, 2],
          LOADERX_INVALID_INDEX: () => [0, 1.5, 2, 3],
        }
        for (const [code, indicesAt] of Object.entries(faults)) {
          const sampler = { name: 'odd', indicesAt: (step: number) => (step === 4 ? indicesAt(step) : [1, 2, 3, step]) }
          await using loader = new DataLoader(label, { ...options, sampler })
          const error = await firstFailure(loader)
          expect(error).toMatchObject({ code, details: { step: 4 }, delivered: 4 })
          expect(error).toMatchObject({ message: expect.stringMatching(/^sampler odd, step 4: /) })
        }
        let broken = true
        const sampler = {
          indicesAt: (step: number) => {
            if (step === 4 && broken) throw fault
            return [0, 1, 2, step]
          },
        }
        await using loader = new DataLoader(label, { ...options, sampler })
        // More often than there are places: a step that fails has taken none.
        for (let i = 0; i < 8; i++) await expect(firstFailure(loader)).rejects.toBe(fault)
        broken = false
        expect((await collect(loader.take(3))).map((batch) => batch.step)).toEqual([4, 5, 6])
      })
    })
  }
}

describe('a worker that dies', () => {
  const kill = (count: number) => Promise.all([...threads].slice(0, count).map((thread) => thread.terminate()))
  const make = (data: Dataset, options: LoaderOptions<never> = {}) =>
    new DataLoader(data, { batchSize: 2, workers: 2, prefetch: 2, sampler: 'sequential', ...(options as object) })

  for (const count of [1, 2]) {
    test(`${count} of 2, while the loader is idle`, async () => {
      await using loader = make(label)
      await collect(loader.take(3))
      // Until all that was requested is there: the death is then met by what is requested later.
      await new Promise((resolve) => setTimeout(resolve, 50))
      await kill(count)
      const error = await failure(() => collect(loader.take(10)))
      expect(error).toMatchObject({ code: 'LOADERX_WORKER_FAILED', details: { step: loader.step } })
      expect(error.message).toMatch(/^step \d+: worker \d of the loader ended: exit code 1/)
      expect(threads.size).toBe(0)
      const { step } = loader
      expect(step).toBeLessThanOrEqual(5)
      expect((await collect(loader.take(2))).map((batch) => batch.step)).toEqual([step, step + 1])
      expect(threads.size).toBe(2)
    })

    test(`${count} of 2, while a batch is awaited, and close`, async () => {
      const big = await openDatasets(tempDir(), [{ rows: 4, descr: '|u1', shape: [500_000], codec: 'flate' }])
      const loader = make(big, { batchSize: 400 })
      const pending = failure(() => collect(loader.take(2)))
      await until(() => threads.size === 2)
      await kill(count)
      expect(await pending).toMatchObject({ code: 'LOADERX_WORKER_FAILED', details: { step: loader.step } })
      await Promise.all([loader.close(), big.close()])
      expect(threads.size).toBe(0)
    })
  }
})
