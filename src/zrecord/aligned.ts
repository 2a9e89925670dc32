// zrecord/: removes the same records from several stores, from all of them or from none. Every store first gets a
// journal that names the others; when the last one is in place the delete will happen, whatever dies. No journal goes
// before all stores are changed, so one that is not there, or says the header after, tells that its store is whole.

import { randomUUID } from 'node:crypto'
import { LoaderxError } from '../errors.ts'
import type { Journal } from '../format/journal.ts'
import { type DeleteResult, deleteResult } from './delete.ts'
import { applyJournal, removeJournal, writeJournal } from './journal.ts'
import { journalDelete } from './maintain.ts'
import { crc32 } from './sums.ts'
import type { WriteFiles } from './write-files.ts'
import type { StoreWriting } from './writing.ts'
import { writingOf, type Zrecord } from './zrecord.ts'

interface Member {
  readonly writing: StoreWriting
  readonly files: WriteFiles
}

/**
 * Removes the records of `targets` from all stores.
 * @throws LOADERX_LENGTH_MISMATCH before anything is changed, and as Zrecord.delete
 */
export async function deleteFromAll(stores: readonly Zrecord[], targets: ArrayLike<number>): Promise<DeleteResult> {
  const writings = stores.map(writingOf)
  const paths = new Set(writings.map((writing) => writing.path))
  if (paths.size < writings.length) {
    const message = 'deleteAligned was given the same store twice; give each dataset once'
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message)
  }
  checkLengths(stores)
  // In one order for everybody, so that two of these cannot wait for each other.
  const ordered = [...writings].sort((a, b) => (a.path < b.path ? -1 : 1))
  const result = await withAll(ordered, [], async (members) => {
    checkLengths(stores)
    return deleteTogether(members, targets)
  })
  return result
}

function checkLengths(stores: readonly Zrecord[]): void {
  const first = stores[0]!
  const other = stores.find((store) => store.length !== first.length)
  if (other === undefined) return
  throw new LoaderxError(
    'LOADERX_LENGTH_MISMATCH',
    `${first.path} has ${first.length} samples, but ${other.path} has ${other.length}; datasets that belong together have the same number, so nothing was deleted`,
    { path: other.path, expected: first.length, actual: other.length },
  )
}

function withAll<T>(
  writings: readonly StoreWriting[],
  members: readonly Member[],
  work: (members: readonly Member[]) => Promise<T>,
): Promise<T> {
  const [writing, ...rest] = writings
  if (writing === undefined) return work(members)
  return writing.alone('delete', (files) => withAll(rest, [...members, { writing, files }], work))
}

async function deleteTogether(members: readonly Member[], targets: ArrayLike<number>): Promise<DeleteResult> {
  const group = { id: randomUUID(), members: members.map(({ writing }) => writing.path) }
  const planned: { member: Member; journal: Journal }[] = []
  let result: DeleteResult | undefined
  for (const member of members) {
    const { plan, journal } = await journalDelete(member.files, targets, group)
    planned.push({ member, journal })
    result = deleteResult(plan)
  }
  if (result!.removed === 0) return result!
  const prepared: Member[] = []
  try {
    for (const { member, journal } of planned) {
      await writeJournal(member.files, journal, crc32, member.writing.durability)
      prepared.push(member)
    }
  } catch (error) {
    for (const { files, writing } of prepared) await removeJournal(files, writing.durability).catch(() => {})
    throw error
  }
  // A journal stays until all stores are done: whichever of them is opened in between says what happened.
  for (const { member, journal } of planned) await applyJournal(member.files, journal, member.writing.durability)
  for (const { files, writing } of prepared) await removeJournal(files, writing.durability)
  return result!
}
