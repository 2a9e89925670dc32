// zrecord/: what has to happen before a store is opened: a change that a process left half done in its journal is
// finished first.

import { LoaderxError } from '../errors.ts'
import { JOURNAL_NAME, type Journal } from '../format/journal.ts'
import type { StoreDirectory } from '../storage/files.ts'
import { acquireLock, type Lock } from '../storage/lock.ts'
import { readJournal, recoverJournal } from './journal.ts'
import { crc32 } from './sums.ts'
import { WriteFiles } from './write-files.ts'

/** Milliseconds for another process to finish the same. */
const RECOVERY_WAITS = 1000

function refuse(path: string, why: string): LoaderxError {
  return new LoaderxError('LOADERX_NEEDS_REPAIR', `${path} cannot be used yet: ${why}`, { path })
}

/** What a journal is part of, for messages. */
function whose(journal: Journal): string {
  const { operation, group } = journal
  return group === undefined ? operation : `delete in ${group.members.join(', ')} together`
}

/** How a store is opened, as far as its journal is concerned. */
export interface RecoverOptions {
  readonly readOnly: boolean
  readonly locking: boolean
  readonly lockTimeout: number
}

/**
 * Finishes the change in the store's journal, if there is one, and takes a reader's lock.
 * @throws LOADERX_NEEDS_REPAIR when that needs more than this store or may not be done here, LOADERX_LOCKED while its
 * process still works on it, LOADERX_CORRUPT_STORE
 */
export async function lockToRead(directory: StoreDirectory, options: RecoverOptions): Promise<Lock | undefined> {
  const { path } = directory
  const { locking, lockTimeout: timeout } = options
  for (;;) {
    await finishInterrupted(directory, options)
    const lock = locking ? await acquireLock(path, 'shared', 'reader', { timeout }) : undefined
    // Between the look and the lock another process may have begun a change and died.
    if (directory.look(JOURNAL_NAME) === undefined) return lock
    lock?.release()
  }
}

/** Finishes the change in the store's journal, if there is one. @throws as {@link lockToRead} */
export async function finishInterrupted(directory: StoreDirectory, options: RecoverOptions): Promise<void> {
  if (directory.look(JOURNAL_NAME) === undefined) return
  const { path } = directory
  const timeout = Math.max(options.lockTimeout, RECOVERY_WAITS)
  const lock = options.locking ? await acquireLock(path, 'exclusive', 'repair', { timeout }) : undefined
  const files = new WriteFiles(directory)
  try {
    await finishJournalOf(files, options)
  } finally {
    files.close()
    lock?.release()
  }
}

/** Finishes the change in the store's journal, if there is one, for a caller that has the store to itself. */
export async function finishJournalOf(
  files: WriteFiles,
  { readOnly }: Pick<RecoverOptions, 'readOnly'>,
): Promise<void> {
  const { path } = files.directory
  const journal = readJournal(files.directory, crc32)
  if (journal === undefined) return
  if (journal.group !== undefined) {
    throw refuse(path, `a ${whose(journal)} was interrupted; run repair on any of them, which finishes or undoes it`)
  }
  if (readOnly) {
    throw refuse(
      path,
      `a ${whose(journal)} in it was interrupted and has to be finished; open it once without readOnly`,
    )
  }
  await recoverJournal(files, journal)
}

/** @throws LOADERX_NEEDS_REPAIR where a change of this process failed half-way */
export function checkFinished(directory: StoreDirectory): void {
  if (directory.look(JOURNAL_NAME) === undefined) return
  throw refuse(directory.path, 'a change in it failed half-way and has to be finished; close it and open it again')
}
