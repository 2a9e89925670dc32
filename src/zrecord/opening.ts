// zrecord/: opening a store: what is asked is checked first, then the store is made where it is wanted, a change that
// was interrupted in it is finished, and it is locked.

import { LoaderxError } from '../errors.ts'
import { META_NAME } from '../format/limits.ts'
import type { StoreDirectory } from '../storage/files.ts'
import type { Lock } from '../storage/lock.ts'
import { chooseResidency, type Residency } from '../storage/residency.ts'
import { checkChoice, checkCodec, type ZrecordOptions } from './arguments.ts'
import { createStore } from './create.ts'
import { checkIsStore, StoreFiles } from './files.ts'
import type { Durability } from './journal.ts'
import { lockToRead } from './recover.ts'
import type { VerifyMode } from './seals.ts'
import { MAX_WINDOW_BYTES, roundWindow } from './windows.ts'
import type { Codec } from './writer.ts'

/** Options of an open, with those that only tests use. */
export interface OpenOptions extends ZrecordOptions {
  readonly windowBytes?: number
  readonly locking?: boolean
}

/** What an open store was opened with. */
export interface Opened {
  readonly codec: Codec
  readonly readOnly: boolean
  readonly residency: Residency
  readonly verify: VerifyMode
  readonly durability: Durability
  readonly windowBytes: number
  /** The handle's own lock; none where the store is not locked at all. */
  readonly lock: Lock | undefined
  readonly lockTimeout: number | undefined
}

/** Opens the store in `directory` and gives its files to `make`. @throws as Zrecord.open */
export async function openWith<T>(
  directory: StoreDirectory,
  options: OpenOptions,
  make: (files: StoreFiles, opened: Opened) => T,
): Promise<T> {
  const { codec = 'flate', create = false, readOnly = false, residency = 'auto' } = options
  const { verify = 'first', durability = 'process', lockTimeout, locking = true } = options
  checkCodec(codec)
  checkChoice('verify', verify, ['first', 'always', 'never'])
  checkChoice('durability', durability, ['process', 'power'])
  checkTimeout(lockTimeout)
  // Misuse is refused before anything is made.
  chooseResidency(residency, 0, directory.path)
  if (create && readOnly) {
    const message = 'create and readOnly exclude each other; leave one out'
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { path: directory.path })
  }
  const windowBytes = roundWindow(options.windowBytes ?? MAX_WINDOW_BYTES)
  const isMissing = create && directory.look(META_NAME) === undefined
  const unmake = isMissing ? await createStore(directory, durability) : undefined
  const files = new StoreFiles(directory)
  let lock: Lock | undefined
  try {
    checkIsStore(directory)
    lock = await lockToRead(directory, { readOnly, locking, lockTimeout: lockTimeout ?? 0 })
    return make(files, { codec, readOnly, residency, verify, durability, windowBytes, lock, lockTimeout })
  } catch (error) {
    lock?.release()
    files.close()
    await unmake?.()
    throw error
  }
}

function checkTimeout(timeout: number | undefined): void {
  if (timeout === undefined || (typeof timeout === 'number' && timeout >= 0)) return
  const message = `lockTimeout is ${String(timeout)}; give milliseconds, 0 or more, or Infinity`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: timeout })
}
