// dataset/: the same samples are removed from several datasets, or from none, whatever fails or dies.
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Dataset, deleteAligned, isLoaderxError, ndarray, Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { deleteFromAll } from '#dist/zrecord/aligned.js'
import { openStore } from '#dist/zrecord/zrecord.js'
import { noise } from '../support/bytes.ts'
import { startHolder } from '../support/holders.ts'
import { RecordedDirectory } from '../support/recorded.ts'
import { tempDir } from '../support/stores.ts'
import { fingerprint } from '../support/table.ts'

/** A dataset whose sample i begins with the byte i. */
async function makeSet(samples: number, bytes: number): Promise<string> {
  const path = join(tempDir(), 'set')
  const data = noise(samples * bytes, bytes)
  for (let i = 0; i < samples; i++) data[i * bytes] = i
  await Dataset.write(path, ndarray('uint8', [samples, bytes], data), { codec: 'raw' })
  return path
}

const makePair = () => Promise.all([makeSet(20, 30), makeSet(20, 4)])

async function firstBytes(path: string): Promise<number[]> {
  const store = await Zrecord.open(path, { verify: 'always' })
  const bytes = await Promise.all(Array.from({ length: store.length }, async (_, i) => (await store.get(i))[0]!))
  await store.close()
  return bytes
}

const all = Array.from({ length: 20 }, (_, i) => i)
const done = [0, 18, 19, ...all.slice(3, 18)]

it('removes the same samples from all, and says what moved', async () => {
  const paths = await makePair()
  const [data, labels] = await Promise.all(paths.map((path) => Dataset.open(path)))
  const result = await deleteAligned([data!, labels!], [1, 2, 2])
  expect(result).toEqual({
    length: 18,
    removed: 2,
    moves: [
      [18, 1],
      [19, 2],
    ],
  })
  expect([data!.length, labels!.length]).toEqual([18, 18])
  expect((await data!.at(1)).data[0]).toBe(18)
  expect(await deleteAligned([data!, labels!], [])).toEqual({ length: 18, removed: 0, moves: [] })
  expect(await deleteAligned([labels!], Uint8Array.of(17))).toMatchObject({ length: 17, removed: 1 })
  for (const one of [data!, labels!]) await one.close()
  expect(await firstBytes(paths[0]!)).toEqual(done)
  expect(await firstBytes(paths[1]!)).toEqual(done.slice(0, 17))
})

describe('refuses, and changes nothing,', () => {
  it('datasets of other lengths, several stores in one, the same twice, none, and indices that are not there', async () => {
    const paths = [...(await makePair()), await makeSet(19, 8)]
    const before = paths.map(fingerprint)
    const [data, labels, short] = (await Promise.all(paths.map((path) => Dataset.open(path)))) as [
      Dataset,
      Dataset,
      Dataset,
    ]
    const cases: [readonly Dataset[], number[], string, string][] = [
      [[data, labels, short], [1], 'LOADERX_LENGTH_MISMATCH', 'has 19'],
      [[data, Dataset.concat(labels, labels)], [1], 'LOADERX_INVALID_ARGUMENT', 'joins 2'],
      [[data, labels, data], [1], 'LOADERX_INVALID_ARGUMENT', 'twice'],
      [[], [1], 'LOADERX_INVALID_ARGUMENT', 'no datasets'],
      [[data, labels], [3, 20], 'LOADERX_INDEX_OUT_OF_RANGE', 'index 20'],
      [[data, labels], [0.5], 'LOADERX_INVALID_INDEX', '0.5'],
    ]
    for (const [datasets, indices, code, message] of cases) {
      const refused = { code, message: expect.stringContaining(message) }
      await expect(deleteAligned(datasets, indices), message).rejects.toMatchObject(refused)
    }
    for (const one of [data, labels, short]) await one.close()
    const [first, second] = [await Dataset.open(paths[0]!), await Dataset.open(paths[1]!, { readOnly: true })]
    await expect(deleteAligned([first, second], [1])).rejects.toMatchObject({ code: 'LOADERX_READ_ONLY' })
    await Promise.all([first.close(), second.close()])
    expect(paths.map(fingerprint)).toEqual(before)
  })

  it('when any of them is held by others, also through a link to itself', async () => {
    const paths = await makePair()
    const before = paths.map(fingerprint)
    for (const held of [0, 1]) {
      const holder = await startHolder('reader', paths[held]!)
      const [data, labels] = (await Promise.all(paths.map((path) => Dataset.open(path)))) as [Dataset, Dataset]
      await expect(deleteAligned([data, labels], [1])).rejects.toMatchObject({
        code: 'LOADERX_LOCKED',
        details: { path: paths[held], holders: [{ pid: holder.pid, role: 'reader' }] },
      })
      await Promise.all([data.close(), labels.close()])
      await holder.end()
    }
    symlinkSync(paths[0]!, `${paths[0]}-link`)
    const [data, link] = [await Dataset.open(paths[0]!), await Dataset.open(`${paths[0]}-link`)]
    await expect(deleteAligned([data, link], [1])).rejects.toMatchObject({ code: 'LOADERX_LOCKED' })
    await Promise.all([data.close(), link.close()])
    expect(paths.map(fingerprint)).toEqual(before)
  })
})

it('a process that is killed at any moment leaves all as they were, all done, or some that say so', async () => {
  const outcomes = new Set<string>()
  for (let at = 1; ; at++) {
    const paths = await makePair()
    const died = await startHolder('aligned', paths[0]!, paths[1]!, at).then(
      async (holder) => {
        await holder.end()
        return false
      },
      (error: { signal?: string }) => error.signal === 'SIGKILL',
    )
    const states = await Promise.all(
      paths.map((path) =>
        firstBytes(path).then(
          (bytes) => (bytes.length === 20 ? 'before' : 'after'),
          (error) => {
            if (!isLoaderxError(error, 'LOADERX_NEEDS_REPAIR')) throw error
            expect(error.message).toContain(`${path} cannot be used yet`)
            for (const member of paths) expect(error.message).toContain(member)
            expect(existsSync(join(path, 'journal.zr'))).toBe(true)
            return 'says so'
          },
        ),
      ),
    )
    outcomes.add(states.join(', '))
    // Never may one be read as it was and the other as it is to be.
    expect([...states].sort(), `killed after change ${at}`).not.toEqual(['after', 'before'])
    if (!died) {
      expect(states).toEqual(['after', 'after'])
      expect(at).toBeGreaterThan(10)
      break
    }
  }
  expect(outcomes).toContain('before, before')
  expect(outcomes).toContain('says so, says so')
  expect(outcomes.size).toBeGreaterThanOrEqual(4)
})

it('a journal that cannot be written undoes those that were', async () => {
  const directories = (await makePair()).map((path) => new RecordedDirectory(path))
  const ordered = [...directories].sort((a, b) => (a.path < b.path ? -1 : 1))
  for (const failing of [0, 1]) {
    const stores = await Promise.all(directories.map((one) => openStore(one, { residency: 'file' })))
    ordered[failing]!.fail = (operation) =>
      operation.startsWith('write journal.zr.new') ? Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' }) : undefined
    await expect(deleteFromAll(stores, [1, 2])).rejects.toThrow('ENOSPC')
    ordered[failing]!.fail = () => undefined
    await Promise.all(stores.map((store) => store.close()))
    for (const { path } of directories) {
      expect(await firstBytes(path)).toEqual(all)
      expect(existsSync(join(path, 'journal.zr'))).toBe(false)
    }
  }
  const stores = await Promise.all(directories.map((one) => openStore(one)))
  await deleteFromAll(stores, [1, 2])
  await Promise.all(stores.map((store) => store.close()))
  for (const { path } of directories) expect(await firstBytes(path)).toEqual(done)
})
