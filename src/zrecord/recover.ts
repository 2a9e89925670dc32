// zrecord/: what has to happen before a store is opened: a change that a process left half done in its journal is
// finished first.

import { LoaderxError } from '../errors.ts'
import { JOURNAL_NAME, type Journal } from '../format/journal.ts'
import type { StoreDirectory } from '../storage/files.ts'
import { acquireLockSync } from '../storage/lock.ts'
import { readJournal, recoverJournal } from './journal.ts'
import { crc32 } from './sums.ts'
import { WriteFiles } from './write-files.ts'

/** @throws LOADERX_NEEDS_REPAIR */
function refuse(path: string, why: string): LoaderxError {
  return new LoaderxError('LOADERX_NEEDS_REPAIR', `${path} cannot be opened yet: ${why}`, { path })
}

/** What a journal is part of, for messages. */
function whose(journal: Journal): string {
  const { operation, group } = journal
  return group === undefined ? operation : `delete in ${group.members.join(', ')} together`
}

/**
 * Finishes the change in the store's journal, if there is one.
 * @throws LOADERX_NEEDS_REPAIR when that needs more than this store or may not be done here, LOADERX_LOCKED while its
 * process still works on it, LOADERX_CORRUPT_STORE
 */
export async function finishInterrupted(
  directory: StoreDirectory,
  options: { readonly readOnly: boolean; readonly locking: boolean },
): Promise<void> {
  if (directory.look(JOURNAL_NAME) === undefined) return
  const lock = options.locking ? acquireLockSync(directory.path, 'exclusive', 'repair') : undefined
  const files = new WriteFiles(directory)
  try {
    const journal = readJournal(directory, crc32)
    if (journal === undefined) return
    const { path } = directory
    if (journal.group !== undefined) {
      throw refuse(path, `a ${whose(journal)} was interrupted; run repair on any of them, which finishes or undoes it`)
    }
    if (options.readOnly) {
      throw refuse(
        path,
        `a ${whose(journal)} in it was interrupted and has to be finished; open it once without readOnly`,
      )
    }
    await recoverJournal(files, journal)
  } finally {
    files.close()
    lock?.release()
  }
}
