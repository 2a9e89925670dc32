// Every way of leaving a loader ends its threads, and iterating goes on at the step that was not delivered.
import { join } from 'node:path'
import { DataLoader, type Dataset, type LoaderOptions } from 'loaderx'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AnyBatch,
  bytesIn,
  collect,
  failure,
  indicesOf,
  openDatasets,
  until,
  watchThreads,
} from '../support/loading.ts'
import { tempDir } from '../support/stores.ts'

const ROWS = 100
let inMemory: Dataset
let inFiles: Dataset
let threads: ReturnType<typeof watchThreads>

beforeAll(async () => {
  const dir = tempDir()
  const recipes = [{ rows: ROWS, descr: '<i4', shape: [300], codec: 'flate' as const }]
  inMemory = await openDatasets(join(dir, 'memory'), recipes, 'memory')
  inFiles = await openDatasets(join(dir, 'files'), recipes, 'file')
  threads = watchThreads()
})
afterAll(() => Promise.all([inMemory.close(), inFiles.close()]))

const KINDS = [
  { name: '2 workers, memory', workers: 2, data: () => inMemory },
  { name: '2 workers, file', workers: 2, data: () => inFiles },
  { name: 'inline, memory', workers: 0, data: () => inMemory },
  { name: 'inline, file', workers: 0, data: () => inFiles },
]

for (const { name, workers, data } of KINDS) {
  const make = (options: LoaderOptions<AnyBatch, AnyBatch> = {}) =>
    new DataLoader(data(), { batchSize: 8, workers, ...(options as object) })
  const right = (batch: { readonly step: number; readonly data: { readonly data: ArrayBufferView } }) => {
    const indices = indicesOf('random', { length: ROWS, batchSize: 8, seed: 42 }, batch.step)
    return bytesIn(batch.data).equals(bytesIn(data().gatherSync(indices)))
  }
  /** The loader has no threads now, and goes on with the right batches from `step`. */
  const goesOn = async (loader: ReturnType<typeof make>, step: number) => {
    expect(threads.size).toBe(0)
    expect(loader.step).toBe(step)
    const batches = await collect(loader.take(3))
    expect(batches.map((batch) => [batch.step, right(batch)])).toEqual([0, 1, 2].map((i) => [step + i, true]))
    expect(threads.size).toBe(workers)
    await loader.close()
    expect(threads.size).toBe(0)
  }

  describe(name, () => {
    test('break', async () => {
      const loader = make()
      for await (const batch of loader) {
        expect(threads.size).toBe(workers)
        if (batch.step === 4) break
      }
      await goesOn(loader, 5)
    })

    test('return', async () => {
      const loader = make()
      const found = await (async () => {
        for await (const batch of loader.take(100)) if (batch.step === 2) return batch
        return undefined
      })()
      expect(right(found!)).toBe(true)
      await goesOn(loader, 3)
    })

    test('throw in the loop', async () => {
      const loader = make()
      const loop = async () => {
        for await (const batch of loader) if (batch.step === 2) throw new Error('mine')
      }
      await expect(loop()).rejects.toThrow('mine')
      await goesOn(loader, 3)
    })

    for (const kind of ['sync', 'async'] as const) {
      test(`throw in the transform, ${kind}: the batch counts as not delivered and is released`, async () => {
        const seen: AnyBatch[] = []
        let broken = true
        const work = (batch: AnyBatch) => {
          seen.push(batch)
          if (batch.step === 3 && broken) throw new Error('mine')
          return batch
        }
        const transform = kind === 'sync' ? work : async (batch: AnyBatch) => work(batch)
        const loader = make({ transform, ownership: 'shared' })
        const loop = async () => {
          for await (const batch of loader) batch.release()
        }
        await expect(loop()).rejects.toThrow('mine')
        expect((await failure(() => seen[3]!['data'])).code).toBe('LOADERX_BATCH_RELEASED')
        broken = false
        await goesOn(loader, 3)
      })
    }

    test('close while a batch is awaited, and after', async () => {
      const loader = make()
      await collect(loader.take(2))
      const pending = failure(async () => {
        for await (const _ of loader);
      })
      await Promise.resolve()
      const closes = [loader.close(), loader.close()]
      expect((await pending).code).toBe('LOADERX_ALREADY_CLOSED')
      await Promise.all(closes)
      expect(threads.size).toBe(0)
      expect((await failure(() => loader.take(1).next())).code).toBe('LOADERX_ALREADY_CLOSED')
      expect((await failure(() => loader.sync(1).next())).message).toMatch(/loader has been closed/)
      await loader.close()
      await loader[Symbol.asyncDispose]()
    })

    test('asyncDispose', async () => {
      {
        await using loader = make()
        await collect(loader.take(3))
        expect(threads.size).toBe(workers)
      }
      expect(threads.size).toBe(0)
    })

    test('an abort before, between, in the loop and while a batch is awaited', async () => {
      const reason = new Error('enough')
      expect(() => make({ signal: AbortSignal.abort(reason) })).toThrow(reason)
      for (const when of ['between', 'in the loop', 'awaited'] as const) {
        const controller = new AbortController()
        const loader = make({ signal: controller.signal })
        await collect(loader.take(3))
        const loop = async () => {
          for await (const batch of loader) if (batch.step === 5 && when === 'in the loop') controller.abort(reason)
        }
        if (when === 'between') controller.abort(reason)
        const rejected = expect(loop()).rejects.toBe(reason)
        await Promise.resolve()
        if (when === 'awaited') controller.abort(reason)
        await rejected
        await expect(loader.take(1).next()).rejects.toBe(reason)
        expect(() => loader.sync(1).next()).toThrow(reason)
        await loader.close()
        expect(threads.size).toBe(0)
      }
    })

    // Ready batches come one after the other without a turn of the event loop.
    test('a timer fires during an endless loop', async () => {
      const loader = make({ signal: AbortSignal.timeout(60) })
      const loop = async () => {
        for await (const batch of loader) batch.release()
      }
      await expect(loop()).rejects.toMatchObject({ name: 'TimeoutError' })
      await until(() => threads.size === 0)
    })

    test('take: nothing, to its end, and again', async () => {
      await using loader = make()
      expect([await collect(loader.take(0)), loader.step, threads.size]).toEqual([[], 0, 0])
      for (let step = 0; step < 12; step += 4) {
        const batches = await collect(loader.take(4))
        expect(batches.map((batch) => [batch.step, right(batch)])).toEqual([0, 1, 2, 3].map((i) => [step + i, true]))
      }
      expect([...loader.sync(2)].map((batch) => batch.step)).toEqual([12, 13])
      for await (const batch of loader) {
        expect([batch.step, right(batch)]).toEqual([14, true])
        break
      }
      expect(loader.step).toBe(15)
    })

    test('two iterators at once share the steps; when one is left, the other goes on', async () => {
      await using loader = make()
      const [a, b] = [loader[Symbol.asyncIterator](), loader[Symbol.asyncIterator]()]
      const batches = await Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? a : b).next()))
      expect(batches.map(({ value }) => [value.step, right(value)])).toEqual(batches.map((_, i) => [i, true]))
      const pending = [b.next(), b.next(), b.next()]
      await a.return!()
      expect((await Promise.all(pending)).map(({ value }) => [value.step, right(value)])).toEqual(
        [10, 11, 12].map((step) => [step, true]),
      )
      expect((await a.next()).done).toBe(true)
    })

    test('sync: break, throw, transform, promise, and while a batch is awaited', async () => {
      const loader = make()
      for (const batch of loader.sync()) if (batch.step === 2) break
      await until(() => threads.size === 0)
      expect(() => {
        for (const batch of loader.sync()) if (batch.step === 4) throw new Error('mine')
      }).toThrow('mine')
      await until(() => threads.size === 0)
      const pending = loader.take(1).next()
      expect(await failure(() => loader.sync(1).next())).toMatchObject({ code: 'LOADERX_INVALID_ARGUMENT' })
      expect((await pending).value.step).toBe(5)
      await loader.close()

      const seen: AnyBatch[] = []
      const transform = async (batch: AnyBatch) => {
        seen.push(batch)
        return batch
      }
      const promising = make({ transform })
      const refused = await failure(() => promising.sync(1).next())
      expect(refused).toMatchObject({ code: 'LOADERX_INVALID_ARGUMENT', details: { step: 0 } })
      expect(refused.message).toMatch(/promise.*for await/)
      expect((await failure(() => seen[0]!['data'])).code).toBe('LOADERX_BATCH_RELEASED')
      await until(() => threads.size === 0)
      await goesOn(promising, 0)
    })
  })
}
