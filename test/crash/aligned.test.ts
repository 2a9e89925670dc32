// crash/: a delete from two stores at once. Whatever dies, each store is whole or says that it needs repair; and the
// journals tell whether the delete happens in both or in neither.
import { describe, expect, it } from 'vitest'
import { isLoaderxError } from '#dist/errors.js'
import { deleteFromAll } from '#dist/zrecord/aligned.js'
import { readHeader } from '#dist/zrecord/frontier.js'
import { finishJournal, readJournal, removeJournal } from '#dist/zrecord/journal.js'
import { crc32 } from '#dist/zrecord/sums.js'
import { WriteFiles } from '#dist/zrecord/write-files.js'
import { noise } from '../support/bytes.ts'
import { applyTo, glanceAt, type Model, openOn, preparedDisk, same, storePath } from '../support/crash.ts'
import { type CrashKind, countsOf, crashStates } from '../support/crash-runs.ts'
import { randomFrom } from '../support/crash-states.ts'
import { Disk, DiskDirectory, type Effect } from '../support/disk.ts'

/** What one of the stores holds, or undefined where it says that it needs repair. */
async function look(path: string, disk: Disk): Promise<Model | undefined> {
  try {
    return (await glanceAt(path, disk)).model ?? []
  } catch (error) {
    if (isLoaderxError(error, 'LOADERX_NEEDS_REPAIR')) return undefined
    throw error
  }
}

/** Finishes the delete where every store has it in its journal or is changed already, else takes it back. */
async function settle(paths: readonly string[], disk: Disk): Promise<void> {
  const members = paths.map((path) => {
    const directory = new DiskDirectory(path, disk, [])
    const journal = readJournal(directory, crc32)
    return { files: new WriteFiles(directory), journal, header: readHeader(directory.open('meta.zr', 'read')) }
  })
  const journals = members.flatMap(({ journal }) => (journal === undefined ? [] : [journal]))
  const length = journals[0]?.after.length
  const happens = members.every(({ journal, header }) => journal !== undefined || header.length === length)
  for (const { files, journal } of members) {
    if (journal === undefined) continue
    expect(journal.group?.members).toEqual(paths)
    if (happens) await finishJournal(files, journal, 'power')
    else await removeJournal(files, 'power')
  }
}

async function tryDelete(kind: CrashKind, targets: readonly number[]): Promise<void> {
  const paths = [storePath('data'), storePath('labels')]
  const disk = new Disk()
  const models: Model[] = []
  for (const [i, path] of paths.entries()) {
    const records = Array.from({ length: 7 }, (_, k) => noise(i === 0 ? 180 : 8, 10 * i + k + 1))
    const { model } = await preparedDisk(path, [{ kind: 'append', records, codec: 'raw' }], disk)
    models.push(model)
  }
  const start = new Disk(disk)
  const log: Effect[] = []
  const durability = kind === 'kill' ? 'process' : 'power'
  const stores = await Promise.all(paths.map((path) => openOn(new DiskDirectory(path, disk, log), { durability })))
  log.push({ kind: 'begin', operation: 0 })
  await deleteFromAll(stores, targets)
  log.push({ kind: 'end', operation: 0 })
  for (const store of stores) await store.close()
  const after = models.map((model) => applyTo(model, { kind: 'delete', targets }))

  const count = countsOf(`deleteAligned (${kind})`)
  let refused = 0
  for (const { disk: crashed, done, what } of crashStates(kind, start, log, 2048, randomFrom(1))) {
    const where = `${what}, ${done === 1 ? 'after' : 'before'} the end`
    const check = async (seen: readonly (Model | undefined)[], may: readonly (readonly Model[])[]) => {
      const fits = may.some((pair) => seen.every((model, i) => model === undefined || same(model, pair[i]!)))
      expect(fits, where).toBe(true)
    }
    const seen = [await look(paths[0]!, crashed), await look(paths[1]!, crashed)]
    // Where one store says that it needs repair, the other is whole before or after; else both are the same.
    await check(seen, done === 1 ? [after] : [models, after])
    if (done === 1 && kind === 'kill') expect(seen, where).not.toContain(undefined)
    if (seen.includes(undefined)) {
      refused++
      await settle(paths, crashed)
      const settled = [await look(paths[0]!, crashed), await look(paths[1]!, crashed)]
      expect(settled, where).not.toContain(undefined)
      await check(settled, done === 1 ? [after] : [models, after])
    }
    count.states++
  }
  expect(refused).toBeGreaterThan(3)
}

describe.each(['kill', 'power'] as const)('deleteAligned of two stores, %s', (kind) => {
  it.each([[[0]], [[6]], [[1, 5, 2]], [[0, 1, 2, 3, 4, 5, 6]]])('of %j', async (targets) => tryDelete(kind, targets))
})
