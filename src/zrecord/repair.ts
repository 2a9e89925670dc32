// zrecord/: settles a change that was interrupted: of one store, or of several that change together. What it would do
// is a plan that can be read before it is carried out.

import { resolve as absolute } from 'node:path'
import { LoaderxError } from '../errors.ts'
import { type Header, sameHeader } from '../format/header.ts'
import { JOURNAL_NAME, type Journal } from '../format/journal.ts'
import { NodeDirectory, type StoreDirectory } from '../storage/files.ts'
import { acquireLock, type Lock } from '../storage/lock.ts'
import { checkIsStore } from './files.ts'
import { readHeader } from './frontier.ts'
import { applyJournal, readJournal, recoverJournal, removeJournal } from './journal.ts'
import { crc32 } from './sums.ts'
import { WriteFiles } from './write-files.ts'

/** Options of a repair. */
export interface RepairOptions {
  /** Only say what would be done. Default false. */
  readonly dryRun?: boolean
  /** Milliseconds to wait for others to let go of the stores. Default 0. */
  readonly lockTimeout?: number
}

/** What a repair did, or would do. */
export interface RepairReport {
  /** In words, in order; empty when there is nothing to do. */
  readonly actions: readonly string[]
  /** Stores that are concerned. */
  readonly stores: readonly string[]
}

interface Member {
  readonly directory: StoreDirectory
  readonly journal: Journal | undefined
  readonly header: Header
}

/**
 * Finishes or undoes what a process that died left half done in the store at `path`: its journal and, when the change
 * belongs to several stores (`deleteAligned`), theirs too. A change of several stores is finished in all when all had
 * agreed to it, and undone in all otherwise. A store without a journal is left as it is.
 * @throws LOADERX_NOT_FOUND, LOADERX_NOT_A_STORE, LOADERX_LOCKED, LOADERX_CORRUPT_STORE when another program changed a
 * store since, LOADERX_IO
 */
export async function repair(path: string, options: RepairOptions = {}): Promise<RepairReport> {
  const own = new NodeDirectory(absolute(path))
  checkIsStore(own)
  const group = readJournal(own, crc32)?.group
  const paths = [...new Set([own.path, ...(group?.members ?? [])])].sort()
  const directories = paths.map((one) => new NodeDirectory(one))
  for (const directory of directories) checkIsStore(directory)
  const locks: Lock[] = []
  try {
    for (const one of paths) {
      locks.push(await acquireLock(one, 'exclusive', 'repair', { timeout: options.lockTimeout ?? 0 }))
    }
    // Another repair may have settled it before the locks were held.
    const journal = readJournal(own, crc32)
    const plan =
      journal === undefined
        ? []
        : journal.group === undefined
          ? planSingle(own, journal)
          : planGroup(directories.map(look), journal.group.id)
    if (options.dryRun !== true) for (const step of plan) await step.run()
    return { actions: plan.map((step) => step.words), stores: paths }
  } finally {
    for (const lock of locks) lock.release()
  }
}

interface Step {
  readonly words: string
  run(): Promise<void>
}

function look(directory: StoreDirectory): Member {
  const meta = directory.open('meta.zr', 'read')
  try {
    return { directory, journal: readJournal(directory, crc32), header: readHeader(meta) }
  } finally {
    meta.close()
  }
}

async function withFiles(directory: StoreDirectory, work: (files: WriteFiles) => Promise<void>): Promise<void> {
  const files = new WriteFiles(directory)
  try {
    await work(files)
  } finally {
    files.close()
  }
}

function planSingle(directory: StoreDirectory, journal: Journal): Step[] {
  const words = `finish the ${journal.operation} that was interrupted in ${directory.path}`
  return [{ words, run: () => withFiles(directory, (files) => recoverJournal(files, journal)) }]
}

/** A member with its part of the change that is settled. */
interface Concerned extends Member {
  readonly journal: Journal
}

/**
 * All stores had agreed when each has its journal, or those without are done. Every store is changed before the first
 * journal goes, so that a repair that is interrupted itself can be run again.
 */
function planGroup(members: readonly Member[], id: string): Step[] {
  const stranger = members.find(({ journal }) => journal !== undefined && journal.group?.id !== id)
  if (stranger !== undefined) {
    const { path } = stranger.directory
    throw new LoaderxError(
      'LOADERX_NEEDS_REPAIR',
      `${path} has a journal of another change; repair that store first, then this one again`,
      { path },
    )
  }
  const concerned = members.filter((member): member is Concerned => member.journal !== undefined)
  for (const { directory, journal, header } of concerned) {
    if (sameHeader(header, journal.before) || sameHeader(header, journal.after)) continue
    throw new LoaderxError(
      'LOADERX_CORRUPT_STORE',
      `${directory.path} was changed by another writer after the delete was interrupted, so it can neither be finished nor undone; restore the stores from a copy`,
      { path: directory.path, expected: journal.before, actual: header },
    )
  }
  const { after } = concerned[0]!.journal
  const started = concerned.some(({ journal, header }) => !sameHeader(header, journal.before))
  const restDone = members.every(({ journal, header }) => journal !== undefined || header.length === after.length)
  const agreed = started || restDone
  const apply = concerned.map(({ directory, journal }) => ({
    words: `finish the delete of ${members.length} stores together in ${directory.path}`,
    run: () => withFiles(directory, (files) => applyJournal(files, journal, 'power')),
  }))
  const remove = concerned.map(({ directory }) => ({
    words: `${agreed ? 'remove' : 'undo the delete of several stores together by removing'} ${directory.path}/${JOURNAL_NAME}`,
    run: () => withFiles(directory, (files) => removeJournal(files, 'power')),
  }))
  return agreed ? [...apply, ...remove] : remove
}
