// zrecord/: carries out sets of writes that must all happen or none: they are first put into a journal file, which
// appears by a rename; a process that dies later leaves it for the next one to finish.

import { LoaderxError } from '../errors.ts'
import { sameHeader } from '../format/header.ts'
import { decodeJournal, encodeJournal, JOURNAL_NAME, JOURNAL_NEW_NAME, type Journal } from '../format/journal.ts'
import type { Crc32 } from '../format/sums.ts'
import type { StoreDirectory } from '../storage/files.ts'
import { readHeader } from './frontier.ts'
import type { WriteFiles } from './write-files.ts'

/**
 * When writes reach the disk. `'process'`: in order, so a killed process loses nothing that was acknowledged.
 * `'power'`: each stage is flushed before the next, so a power cut loses nothing either.
 */
export type Durability = 'process' | 'power'

/** Puts the journal into its file. From then on its writes will happen, by {@link finishJournal} or a later repair. */
export async function writeJournal(
  files: WriteFiles,
  journal: Journal,
  crc32: Crc32,
  durability: Durability,
): Promise<void> {
  const { directory } = files
  if (directory.look(JOURNAL_NEW_NAME) !== undefined) await directory.remove(JOURNAL_NEW_NAME)
  const file = directory.open(JOURNAL_NEW_NAME, 'create')
  try {
    await file.write(encodeJournal(journal, crc32), 0)
    if (durability === 'power') await file.sync()
  } catch (error) {
    file.close()
    await directory.remove(JOURNAL_NEW_NAME).catch(() => {})
    throw error
  }
  file.close()
  await directory.rename(JOURNAL_NEW_NAME, JOURNAL_NAME)
  files.namesChanged()
  if (durability === 'process') return
  try {
    await files.syncNames()
  } catch (error) {
    await directory.remove(JOURNAL_NAME).catch(() => {})
    throw error
  }
}

/** Does a journal's writes. Doing it again does no harm, so its file may go when they are done. */
export async function applyJournal(files: WriteFiles, journal: Journal, durability: Durability): Promise<void> {
  for (const { file, offset, bytes } of journal.writes) await (await files.get(file)).write(bytes, offset)
  if (durability === 'power') await files.sync(new Set(journal.writes.map((write) => write.file)))
}

/** Removes the journal's file. */
export async function removeJournal(files: WriteFiles, durability: Durability): Promise<void> {
  await files.directory.remove(JOURNAL_NAME)
  files.namesChanged()
  if (durability === 'power') await files.syncNames()
}

/** Does a journal's writes and removes its file. */
export async function finishJournal(files: WriteFiles, journal: Journal, durability: Durability): Promise<void> {
  await applyJournal(files, journal, durability)
  await removeJournal(files, durability)
}

/** Does a set of writes to one store: all or none. */
export async function writeTogether(
  files: WriteFiles,
  journal: Journal,
  crc32: Crc32,
  durability: Durability,
): Promise<void> {
  await writeJournal(files, journal, crc32, durability)
  await finishJournal(files, journal, durability)
}

/** The journal that a process left behind, or undefined. @throws LOADERX_CORRUPT_STORE when it cannot be read */
export function readJournal(directory: StoreDirectory, crc32: Crc32): Journal | undefined {
  if (directory.look(JOURNAL_NAME) === undefined) return undefined
  const file = directory.open(JOURNAL_NAME, 'read')
  try {
    const bytes = new Uint8Array(file.size())
    file.readSync(bytes, 0)
    return decodeJournal(bytes, file.path, crc32)
  } finally {
    file.close()
  }
}

/**
 * Finishes what a process that died left in the journal of one store. It is flushed, whatever the store is opened with:
 * the process may have promised so.
 * @throws LOADERX_CORRUPT_STORE when another writer changed the store since: then only repair can tell what to do
 */
export async function recoverJournal(files: WriteFiles, journal: Journal): Promise<void> {
  const { path } = files.directory
  const now = readHeader(await files.meta)
  if (!sameHeader(now, journal.before) && !sameHeader(now, journal.after)) {
    throw new LoaderxError(
      'LOADERX_CORRUPT_STORE',
      `${path} was changed by another writer after a ${journal.operation} in it was interrupted, so that cannot be finished; restore the store from a copy, or run repair`,
      { path, expected: journal.before, actual: now },
    )
  }
  // A journal that a power cut takes away while its writes are under way would leave them half done.
  const file = files.directory.open(JOURNAL_NAME, 'write')
  try {
    await file.sync()
  } finally {
    file.close()
  }
  await files.syncNames()
  await finishJournal(files, journal, 'power')
}
