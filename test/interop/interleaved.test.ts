// Interop: one store, appended to in turns by us and by the original, in random histories; both read the same.
import { join } from 'node:path'
import fc from 'fast-check'
import { Dataset, openNpy, Zrecord } from 'loaderx'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { noise, runs, writeNpy, writeRecords } from '../support/bytes.ts'
import { needs } from '../support/parts.ts'
import { checkInterop, type ReferenceServer, startReference, writeStore } from '../support/reference.ts'
import { nearlyFullStore, tempDir } from '../support/stores.ts'

const codec = fc.constantFrom('raw' as const, 'flate' as const)
const seeds = fc.array(fc.tuple(fc.integer({ min: 1, max: 3000 }), fc.nat(9), fc.boolean()), {
  minLength: 1,
  maxLength: 6,
})
const records = seeds.map((list) => list.map(([length, seed, flat]) => (flat ? runs : noise)(length, seed)))
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('we append' as const), codec, records }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('it appends' as const), codec, records }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('it deletes' as const), picks: fc.array(fc.nat(), { maxLength: 3 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('it compacts' as const) }) },
)

needs('python').describe('we and the original write to one store in turns', () => {
  let original: ReferenceServer
  beforeAll(() => {
    original = startReference()
  })
  afterAll(() => original.close())

  it('random histories end equal', async () => {
    const dir = tempDir()
    let runNumber = 0
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), fc.boolean(), async (steps, nearlyFull) => {
        const path = join(dir, `store${runNumber++}`)
        if (nearlyFull) nearlyFullStore(path, 4000)
        let model: Uint8Array[] = []
        for (const one of steps) {
          if (one.kind === 'we append') {
            const store = await Zrecord.open(path, { create: true })
            expect(await store.append(one.records, { codec: one.codec })).toBe(model.length)
            await store.close()
            model.push(...one.records)
          } else if (one.kind === 'it appends') {
            expect(await original.append(path, one.records, one.codec)).toBe(model.length)
            model.push(...one.records)
          } else if (one.kind === 'it deletes') {
            const indices = model.length === 0 ? [] : one.picks.map((pick) => pick % model.length)
            await original.delete(path, indices)
            model = afterDelete(model, indices)
          } else {
            await original.compact(path)
          }
        }
        expect(await readAll(path)).toEqual(model)
        expect(await original.records(path)).toEqual(model)
      }),
      { numRuns: 25 },
    )
  })

  it('we append to the dataset that it wrote, and it to ours', async () => {
    const dir = tempDir()
    const bytes = runs(90 * 784, 4)
    const part = (name: string, from: number, to: number): string =>
      writeNpy(join(dir, name), '|u1', [to - from, 28, 28], bytes.subarray(from * 784, to * 784))
    const parts = [part('a.npy', 0, 30), part('b.npy', 30, 50), part('c.npy', 50, 90)] as const
    const whole = part('whole.npy', 0, 90)
    const weWrite = async (store: string, npy: string): Promise<void> => {
      await Dataset.write(store, await openNpy(npy))
    }

    const its = join(dir, 'its')
    await writeStore(its, [parts[0]])
    await weWrite(its, parts[1])
    await writeStore(its, [parts[2]])
    const ours = join(dir, 'ours')
    await weWrite(ours, parts[0])
    await writeStore(ours, [parts[1]])
    await weWrite(ours, parts[2])
    for (const store of [its, ours]) {
      await checkInterop(store, whole)
      const dataset = await Dataset.open(store)
      const all = await dataset.gather(Array.from({ length: 90 }, (_, i) => i))
      expect(all.shape).toEqual([90, 28, 28])
      expect(Buffer.compare(all.data as Uint8Array, bytes)).toBe(0)
      await dataset.close()
    }
  })

  it('a store that is open here shows what the original appends, and we append after it', async () => {
    const dir = tempDir()
    const path = join(dir, 'store')
    const store = await Zrecord.open(path, { create: true })
    const all = Array.from({ length: 9 }, (_, i) => noise(100 + i, i))
    await store.append(all.slice(0, 3))
    await original.append(path, all.slice(3, 6), 'flate')
    expect(store.length).toBe(6)
    expect(await store.get(5)).toEqual(all[5])
    expect(await store.append(all.slice(6))).toBe(6)
    await store.close()
    await checkInterop(path, writeRecords(join(dir, 'records'), all))
  })
})

/** What a delete leaves (docs/reference-behaviour.md §5): from the highest index down, the last record fills the hole. */
function afterDelete(model: readonly Uint8Array[], indices: readonly number[]): Uint8Array[] {
  const left = [...model]
  for (const index of [...new Set(indices)].sort((a, b) => b - a)) {
    const last = left.pop()!
    if (index < left.length) left[index] = last
  }
  return left
}

async function readAll(path: string): Promise<Uint8Array[]> {
  const store = await Zrecord.open(path, { create: true })
  const all: Uint8Array[] = []
  for (let i = 0; i < store.length; i++) all.push(await store.get(i))
  await store.close()
  return all
}
