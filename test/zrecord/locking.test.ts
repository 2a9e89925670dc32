// zrecord/: who excludes whom from a store, within a process and between processes, and what a refused call says.
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DataLoader, Dataset, type LockHolder, ndarray, Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { acquireLockSync } from '#dist/storage/lock.js'
import { openStore } from '#dist/zrecord/zrecord.js'
import { noise } from '../support/bytes.ts'
import { startHolder } from '../support/holders.ts'
import { RecordedDirectory } from '../support/recorded.ts'
import { tempDir } from '../support/stores.ts'
import { fingerprint } from '../support/table.ts'

async function makeSet(samples = 20): Promise<string> {
  const path = join(tempDir(), 'set')
  await Dataset.write(path, ndarray('uint8', [samples, 30], noise(30 * samples, 1)), { codec: 'raw' })
  return path
}

/** The error of a call that was refused, of which the holders are checked. */
const lockedBy = (...holders: Partial<LockHolder>[]): Error =>
  expect.objectContaining({
    code: 'LOADERX_LOCKED',
    message: expect.stringMatching(holders.map(({ pid, role }) => `pid ${pid}.*${role}`).join('|')),
    details: expect.objectContaining({
      holders: holders.map((one) =>
        expect.objectContaining({ host: hostname(), verified: true, since: expect.stringMatching(/^\d{4}-/), ...one }),
      ),
    }),
  }) as Error

const changes: [string, (store: Zrecord) => Promise<unknown>][] = [
  ['delete', (store) => store.delete([3])],
  ['compact', (store) => store.compact()],
]

describe.each(changes)('a %s', (_, change) => {
  it('is refused while another handle of the process is open, and works once that is closed', async () => {
    const path = await makeSet()
    const [store, other] = [await Zrecord.open(path), await Zrecord.open(path, { readOnly: true })]
    const before = fingerprint(path)
    await expect(change(store)).rejects.toThrow(lockedBy({ pid: process.pid, role: 'reader' }))
    expect(fingerprint(path)).toEqual(before)
    await store.get(19)
    await other.close()
    await change(store)
    await store.close()
  })

  it('is refused while a loader of the very handle runs', async () => {
    const path = await makeSet()
    await using data = await Dataset.open(path)
    const loader = new DataLoader(data, { batchSize: 4 })
    await loader[Symbol.asyncIterator]().next()
    await expect(data.delete([1])).rejects.toThrow(lockedBy({ pid: process.pid, role: 'loader' }))
    await expect(data.compact()).rejects.toThrow(lockedBy({ pid: process.pid, role: 'loader' }))
    await loader.close()
    await data.delete([1])
    await data.compact()
    expect(data.length).toBe(19)
  })

  it.each(['reader', 'loader'] as const)(
    'is refused while a %s of another process is open, also by patience; a killed one holds nothing',
    async (what) => {
      const path = await makeSet()
      const holder = await startHolder(what, path)
      const store = await Zrecord.open(path)
      const before = fingerprint(path)
      const named = what === 'reader' ? ['reader'] : ['loader', 'reader']
      const refusal = (await change(store).catch((error: unknown) => error)) as { details: { holders: LockHolder[] } }
      expect(refusal).toMatchObject({ code: 'LOADERX_LOCKED' })
      expect(refusal.details.holders.map((one) => one.role).sort()).toEqual(named)
      expect(new Set(refusal.details.holders.map((one) => one.pid))).toEqual(new Set([holder.pid]))
      expect(fingerprint(path)).toEqual(before)
      const patient = await Zrecord.open(path, { lockTimeout: 60_000 })
      await store.close()
      const waiting = change(patient)
      await holder.kill()
      await waiting
      await patient.close()
    },
  )

  it('keeps others out from its first write to its last', async () => {
    const directory = new RecordedDirectory(await makeSet())
    const store = await openStore(directory, { residency: 'file' })
    const outcomes: string[] = []
    directory.fail = (operation) => {
      if (!/^(write|remove)/.test(operation)) return undefined
      for (const mode of ['shared', 'append'] as const) {
        try {
          acquireLockSync(directory.path, mode, 'reader').release()
          outcomes.push('open')
        } catch (error) {
          outcomes.push((error as { code: string }).code)
        }
      }
      try {
        store.gatherSync([0], new Uint8Array(30), 30)
        outcomes.push('read')
      } catch (error) {
        outcomes.push((error as { code: string }).code)
      }
      return undefined
    }
    await change(store)
    directory.fail = () => undefined
    expect(outcomes.length).toBeGreaterThan(9)
    expect(new Set(outcomes)).toEqual(new Set(['LOADERX_LOCKED']))
    await store.get(0)
    await store.close()
    await (await Zrecord.open(directory.path)).close()
  })
})

describe('appends', () => {
  it('of several processes take turns: every record is there once', async () => {
    const path = await makeSet(1)
    const own = (async () => {
      const store = await Zrecord.open(path, { codec: 'raw', lockTimeout: 60_000 })
      for (let i = 0; i < 40; i++) await store.append([new Uint8Array(8).fill(9)])
      await store.close()
    })()
    await Promise.all([startHolder('appender', path, 40, 7), startHolder('appender', path, 40, 8), own])
    const store = await Zrecord.open(path)
    const count = new Map<number, number>()
    for (let i = 1; i < store.length; i++) {
      const bytes = await store.get(i)
      expect(new Set(bytes).size).toBe(1)
      count.set(bytes[0]!, (count.get(bytes[0]!) ?? 0) + 1)
    }
    expect([...count].sort(([a], [b]) => a - b)).toEqual([
      [7, 40],
      [8, 40],
      [9, 40],
    ])
    expect(store.stats().unsealed).toBe(0)
    await store.close()
  })

  it('do not wait for readers and loaders, nor those for them', async () => {
    const path = await makeSet()
    await startHolder('loader', path)
    const store = await Zrecord.open(path, { lockTimeout: 0 })
    expect(await store.append([noise(30, 2)])).toBe(20)
    await store.close()
  })
})

it('a lockTimeout that is no time is refused', async () => {
  const path = await makeSet()
  for (const lockTimeout of [-1, Number.NaN, '5' as unknown as number]) {
    const refused = { code: 'LOADERX_INVALID_ARGUMENT', message: expect.stringContaining('lockTimeout') }
    await expect(Zrecord.open(path, { lockTimeout })).rejects.toMatchObject(refused)
    await expect(Dataset.open(path, { lockTimeout })).rejects.toMatchObject(refused)
  }
})

it('options of a dataset reach its store', async () => {
  const path = await makeSet()
  const readOnly = await Dataset.open(path, { readOnly: true })
  for (const change of [readOnly.delete([1]), readOnly.compact()]) {
    await expect(change).rejects.toMatchObject({ code: 'LOADERX_READ_ONLY' })
  }
  await readOnly.close()
  const bad = { verify: 'maybe', durability: 'some' } as const
  for (const [option, value] of Object.entries(bad)) {
    await expect(Dataset.open(path, { [option]: value })).rejects.toThrow(`${option} is "${value}"`)
  }
  const other = await Dataset.open(path)
  const patient = await Dataset.open(path, { lockTimeout: 60_000, durability: 'power' })
  const waiting = patient.delete([1])
  await other.close()
  expect(await waiting).toEqual({ length: 19, removed: 1, moves: [[19, 1]] })
  await patient.close()
})
