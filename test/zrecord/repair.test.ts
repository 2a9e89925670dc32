// repair: settles what a process that died left half done, in one store or in all that change together.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Dataset, deleteAligned, isLoaderxError, ndarray, repair, Zrecord } from 'loaderx'
import { expect, it } from 'vitest'
import { openStore } from '#dist/zrecord/zrecord.js'
import { startHolder } from '../support/holders.ts'
import { RecordedDirectory } from '../support/recorded.ts'
import { tempDir } from '../support/stores.ts'

async function makePair(): Promise<[string, string]> {
  const dir = tempDir()
  const paths: [string, string] = [join(dir, 'data.zr'), join(dir, 'label.zr')]
  for (const path of paths)
    await Dataset.write(
      path,
      ndarray(
        'uint8',
        [20],
        Uint8Array.from({ length: 20 }, (_, i) => i),
      ),
    )
  return paths
}

async function samples(path: string): Promise<number[]> {
  const dataset = await Dataset.open(path)
  const { data } = await dataset.slice()
  await dataset.close()
  return [...(data as Uint8Array)]
}

const journalOf = (path: string): string => join(path, 'journal.zr')

it('leaves stores that have nothing half done as they are, and names what is no store', async () => {
  const [path] = await makePair()
  const facts = () => readdirSync(path).map((name) => [name, statSync(join(path, name)).mtimeMs])
  const before = facts()
  expect(await repair(path)).toEqual({ actions: [], stores: [path] })
  expect(facts()).toEqual(before)
  await expect(repair(join(path, 'nowhere'))).rejects.toMatchObject({ code: 'LOADERX_NOT_FOUND' })
})

it('refuses while somebody has the store', async () => {
  const [path] = await makePair()
  const store = await Zrecord.open(path)
  await expect(repair(path)).rejects.toMatchObject({ code: 'LOADERX_LOCKED' })
  await store.close()
  expect((await repair(path)).actions).toEqual([])
})

it('finishes the change of one store that failed half-way', async () => {
  const directory = new RecordedDirectory(join(tempDir(), 'store'))
  const store = await openStore(directory, { create: true })
  await store.append(Array.from({ length: 30 }, (_, i) => Uint8Array.of(i)))
  directory.fail = (operation) =>
    /^write meta\.zr/.test(operation) ? Object.assign(new Error('EIO'), { code: 'EIO' }) : undefined
  await expect(store.delete([3])).rejects.toThrow('EIO')
  directory.fail = () => undefined
  await store.close()
  expect(existsSync(journalOf(directory.path))).toBe(true)
  expect((await repair(directory.path, { dryRun: true })).actions).toEqual([
    `finish the delete that was interrupted in ${directory.path}`,
  ])
  expect(existsSync(journalOf(directory.path))).toBe(true)
  await repair(directory.path)
  expect(existsSync(journalOf(directory.path))).toBe(false)
  const again = await Zrecord.open(directory.path, { readOnly: true })
  expect([again.length, (await again.get(3))[0]]).toEqual([29, 29])
  await again.close()
})

it('finishes or undoes a delete of several stores wherever it was killed, started from either of them', async () => {
  const full = Array.from({ length: 20 }, (_, i) => i)
  const outcomes = new Set<string>()
  for (let at = 1; ; at++) {
    const paths = await makePair()
    const whole = await samples(paths[0])
    expect(whole).toEqual(full)
    const died = await startHolder('aligned', paths[0], paths[1], at).then(
      async (holder) => {
        await holder.end()
        return false
      },
      (error: { signal?: string }) => error.signal === 'SIGKILL',
    )
    const pending = paths.filter((path) => existsSync(journalOf(path)))
    if (pending.length > 0) {
      const from = pending[at % pending.length]!
      const dry = await repair(from, { dryRun: true })
      expect(dry.actions.length).toBeGreaterThan(0)
      const done = await repair(from)
      expect(done).toEqual(dry)
      expect(done.stores).toEqual([...paths].sort())
      outcomes.add(done.actions[0]!.split(' ')[0]!)
    }
    expect(paths.some((path) => existsSync(journalOf(path)))).toBe(false)
    const [data, label] = [await samples(paths[0]), await samples(paths[1])]
    expect(data, `killed after change ${at}`).toEqual(label)
    if (!died) break
  }
  expect([...outcomes].sort()).toEqual(['finish', 'undo'])
})

it('two at once: one settles it, the other finds nothing or waits', async () => {
  const paths = await makePair()
  for (let at = 4; !existsSync(journalOf(paths[0])) && at < 40; at++) {
    await startHolder('aligned', paths[0], paths[1], at).catch((error) => expect(error.signal).toBe('SIGKILL'))
  }
  const results = await Promise.allSettled(paths.map((path) => repair(path, { lockTimeout: 5000 })))
  for (const result of results) {
    if (result.status === 'rejected') expect(isLoaderxError(result.reason, 'LOADERX_LOCKED')).toBe(true)
  }
  expect(await samples(paths[0])).toEqual(await samples(paths[1]))
  const pair = await Promise.all(paths.map((path) => Dataset.open(path)))
  expect((await deleteAligned(pair, [0])).removed).toBe(1)
  for (const dataset of pair) await dataset.close()
})
