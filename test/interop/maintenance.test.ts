// Interop: stores that we and the original change in turns, deletes and compacts included: both keep the same files,
// and what it wrote is read without a check, and never called damaged.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { Zrecord } from 'loaderx'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entryPosition } from '#dist/format/entry.js'
import { noise, runs } from '../support/bytes.ts'
import { needs } from '../support/parts.ts'
import { type ReferenceServer, startReference } from '../support/reference.ts'
import { nearlyFullStore, tempDir } from '../support/stores.ts'
import { readAt, readEntry, readHeader, writeAt } from '../support/table.ts'

const STEPS = Number(process.env['LOADERX_TURNS'] ?? 400)

const records = fc.array(fc.tuple(fc.integer({ min: 1, max: 900 }), fc.nat(99)), { minLength: 1, maxLength: 12 })
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('append' as const), records }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('delete' as const), picks: fc.array(fc.nat(), { maxLength: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('compact' as const) }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

async function withStore<T>(path: string, work: (store: Zrecord) => Promise<T>): Promise<T> {
  const store = await Zrecord.open(path, { create: true, codec: 'raw', verify: 'always' })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function readAll(path: string): Promise<Uint8Array[]> {
  return withStore(path, async (store) => {
    const all: Uint8Array[] = []
    for (let i = 0; i < store.length; i++) all.push(await store.get(i))
    return all
  })
}

needs('python').describe('with the original', () => {
  let original: ReferenceServer
  beforeAll(() => {
    original = startReference()
  })
  afterAll(() => original.close())

  async function itRuns(path: string, one: Step): Promise<void> {
    const { length } = readHeaderOrEmpty(path)
    if (one.do === 'append')
      await original.append(
        path,
        one.records.map(([n, seed]) => noise(n, seed)),
        'raw',
      )
    else if (one.do === 'delete')
      await original.delete(path, length === 0 ? [] : one.picks.map((pick) => pick % length))
    else await original.compact(path)
  }

  async function weRun(path: string, one: Step): Promise<void> {
    await withStore(path, async (store) => {
      if (one.do === 'append') await store.append(one.records.map(([n, seed]) => noise(n, seed)))
      else if (one.do === 'delete')
        await store.delete(store.length === 0 ? [] : one.picks.map((pick) => pick % store.length))
      else await store.compact()
    })
  }

  it(`${STEPS} random steps, every other one by the original, leave the files that it alone leaves`, async () => {
    const dir = tempDir()
    let run = 0
    let steps = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 20 }),
        fc.nat(1),
        fc.boolean(),
        async (list, turn, full) => {
          const [mixed, alone] = [join(dir, `mixed${run}`), join(dir, `alone${run++}`)]
          if (full) for (const path of [mixed, alone]) nearlyFullStore(path, 3000)
          for (const [i, one] of list.entries()) {
            await (i % 2 === turn ? weRun : itRuns)(mixed, one)
            await itRuns(alone, one)
            expect(readHeader(mixed)).toEqual(readHeader(alone))
            steps++
          }
          const { length } = readHeader(alone)
          const table = (path: string) => Buffer.from(readAt(join(path, 'meta.zr'), 0, entryPosition(length)))
          expect(table(mixed).equals(table(alone))).toBe(true)
          const all = await readAll(mixed)
          expect(all).toEqual(await original.records(alone))
          expect(all).toEqual(await original.records(mixed))
          const { live_bytes: liveBytes, chunk_bytes: chunkBytes, records, reclaimable } = await original.stats(alone)
          await withStore(mixed, async (store) => {
            expect(store.stats()).toMatchObject({ records, liveBytes, chunkBytes, reclaimable })
          })
          expect(existsSync(join(mixed, '1.zr'))).toBe(existsSync(join(alone, '1.zr')))
        },
      ),
      { numRuns: Math.ceil(STEPS / 20) },
    )
    console.log(`turns: ${run} histories with ${steps} steps`)
    expect(steps).toBeGreaterThanOrEqual(STEPS)
  })

  describe('what it changes is unsealed, and never called damaged', () => {
    const ours = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? noise : runs)(100 + i, i))
    async function makeStore(): Promise<string> {
      const path = join(tempDir(), 'store')
      const store = await Zrecord.open(path, { create: true })
      await store.append(ours)
      expect(store.stats().unsealed).toBe(0)
      await store.close()
      return path
    }

    const cases: [string, number, (path: string) => Promise<unknown>][] = [
      ['append', 2, (path) => original.append(path, [noise(50, 1), runs(700, 2)], 'flate')],
      ['delete', 38, (path) => original.delete(path, [3, 20])],
      [
        'delete and append',
        4,
        async (path) => {
          await original.delete(path, [3, 20])
          await original.append(path, [noise(9, 1), noise(10, 1)], 'raw')
        },
      ],
      [
        'delete and compact',
        38,
        async (path) => {
          await original.delete(path, [3])
          await original.delete(path, [20])
          await original.compact(path)
        },
      ],
    ]
    it.each(cases)('%s', async (_, unsealed, change) => {
      const path = await makeStore()
      const reader = await Zrecord.open(path, { verify: 'always' })
      await reader.get(39)
      await change(path)
      const expected = await original.records(path)
      expect(reader.length).toBe(expected.length)
      expect(reader.stats().unsealed).toBe(unsealed)
      await reader.close()
      for (const residency of ['memory', 'mapped', 'file'] as const) {
        const store = await Zrecord.open(path, { residency, verify: 'always' })
        for (const [i, record] of expected.entries()) expect(await store.get(i)).toEqual(record)
        expect(store.stats().unsealed).toBe(unsealed)
        await store.close()
      }
      // Ours goes on: its own records are sealed, those of the other are not, and stay so.
      const store = await Zrecord.open(path, { verify: 'always' })
      await store.append([noise(300, 5)], { codec: 'raw' })
      expect(store.stats().unsealed).toBe(unsealed)
      await store.delete([0])
      await store.compact()
      const { unsealed: after } = store.stats()
      expect(after).toBeGreaterThanOrEqual(unsealed - 1)
      expect(after).toBeLessThanOrEqual(unsealed)
      const left = [noise(300, 5), ...expected.slice(1)]
      for (const [i, record] of left.entries()) expect(await store.get(i)).toEqual(record)
      const { offset } = readEntry(path, 0)
      await store.close()
      const byte = readAt(join(path, '0.zr'), offset, 1)[0]!
      writeAt(join(path, '0.zr'), offset, Uint8Array.of(byte ^ 4))
      const last = await Zrecord.open(path)
      await expect(last.get(0)).rejects.toMatchObject({ code: 'LOADERX_CORRUPT_RECORD', details: { index: 0, offset } })
      await last.close()
    })
  })
})

function readHeaderOrEmpty(path: string): { length: number } {
  return existsSync(join(path, 'meta.zr')) ? readHeader(path) : { length: 0 }
}
