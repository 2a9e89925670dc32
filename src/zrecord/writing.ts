// zrecord/: the writing side of an open store: appends and maintenance, one at a time, with the files and workers that
// they need.

import { realpathSync } from 'node:fs'
import { LoaderxError } from '../errors.ts'
import { JOURNAL_NAME } from '../format/journal.ts'
import type { StoreDirectory } from '../storage/files.ts'
import { ioError } from '../storage/io-error.ts'
import { acquireLock, type Lock, type LockRole } from '../storage/lock.ts'
import type { DeletePlan } from './delete.ts'
import type { Durability } from './journal.ts'
import type { LiveStore } from './live.ts'
import { type CompactSettings, compactRecords, deleteRecords } from './maintain.ts'
import { checkFinished, finishJournalOf } from './recover.ts'
import type { RecordSource } from './source.ts'
import { takeTurn } from './turns.ts'
import { WriteFiles } from './write-files.ts'
import { type Codec, RecordWriter } from './writer.ts'

/** How a store is written. */
export interface WritingOptions {
  readonly durability: Durability
  /** The handle's own lock, which excludes nobody from itself; without it nothing is locked. */
  readonly lock: Lock | undefined
  readonly lockTimeout: number | undefined
  /** Waits for reads that are under way. */
  readonly quiet: () => Promise<unknown>
}

/** How long an append waits for others to end theirs, unless told otherwise. Milliseconds. */
const APPEND_WAITS = 10_000

/** Writes to one store. */
export class StoreWriting {
  readonly #directory: StoreDirectory
  readonly #live: LiveStore
  readonly #options: WritingOptions
  #files: WriteFiles | undefined
  #writer: RecordWriter | undefined
  #maintenance: string | undefined
  /** What failed after its journal was in place: the files are between two states until it is finished. */
  #interrupted: string | undefined

  constructor(directory: StoreDirectory, live: LiveStore, options: WritingOptions) {
    this.#directory = directory
    this.#live = live
    this.#options = options
  }

  get path(): string {
    return this.#directory.path
  }

  get durability(): Durability {
    return this.#options.durability
  }

  /** Appends all records or none. Returns the index of the first. */
  append(source: RecordSource, codec: Codec, signal: AbortSignal | undefined): Promise<number> {
    return this.#inTurn(async () => {
      if (this.#interrupted !== undefined) await this.#alone('repair', async () => {})
      const { lock, lockTimeout = APPEND_WAITS, durability } = this.#options
      const mine =
        lock && (await acquireLock(this.path, 'append', 'append', { timeout: lockTimeout, ...(signal && { signal }) }))
      try {
        checkFinished(this.#directory)
        this.#writer ??= new RecordWriter(this.#open(), durability)
        const appended = await this.#writer.append(source, codec, signal)
        try {
          this.#live.followAppend(appended)
        } catch {
          // The records are in the store whatever happens now; the next read meets the same failure and reports it.
        }
        return appended.before.length
      } finally {
        mine?.release()
      }
    })
  }

  delete(targets: ArrayLike<number>): Promise<DeletePlan> {
    return this.alone('delete', (files) => deleteRecords(files, targets, this.durability))
  }

  compact(options: Omit<CompactSettings, 'durability'>): Promise<void> {
    return this.alone('compact', (files) => compactRecords(files, { ...options, durability: this.durability }))
  }

  /** Flushes what was written. */
  sync(): Promise<void> {
    return this.#inTurn(async () => this.#files?.sync())
  }

  /**
   * @throws LOADERX_LOCKED while records are being moved: what is read then might be half of two records;
   * LOADERX_NEEDS_REPAIR when that failed half-way
   */
  checkReadable(): void {
    const { path } = this.#directory
    if (this.#interrupted !== undefined) {
      throw new LoaderxError(
        'LOADERX_NEEDS_REPAIR',
        `${path} cannot be read: a ${this.#interrupted} of this process failed half-way; see its error, then write to the store or open it again, which finishes it first`,
        { path },
      )
    }
    if (this.#maintenance === undefined) return
    throw new LoaderxError(
      'LOADERX_LOCKED',
      `${path} cannot be read while a ${this.#maintenance} of this process moves its records; wait until that has ended`,
      { path },
    )
  }

  async close(): Promise<void> {
    await this.#writer?.close()
    this.#files?.close()
  }

  #open(): WriteFiles {
    this.#files ??= new WriteFiles(this.#directory)
    return this.#files
  }

  /**
   * Runs work that needs the store for itself: no reads of this handle under way, no other handle open.
   * @throws LOADERX_LOCKED naming who has it
   */
  alone<T>(role: LockRole, work: (files: WriteFiles) => Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#alone(role, work))
  }

  async #alone<T>(role: LockRole, work: (files: WriteFiles) => Promise<T>): Promise<T> {
    const { lock, lockTimeout = 0, quiet } = this.#options
    const mine = lock && (await acquireLock(this.path, 'exclusive', role, { timeout: lockTimeout, excluding: [lock] }))
    this.#maintenance = role
    try {
      await quiet()
      await finishJournalOf(this.#open(), { readOnly: false })
      this.#interrupted = undefined
      const files = this.#open()
      await files.settleHeader()
      return await work(files)
    } catch (error) {
      if (this.#directory.look(JOURNAL_NAME) !== undefined) this.#interrupted ??= role
      throw error
    } finally {
      this.#writer?.forgetTable()
      try {
        if (this.#interrupted === undefined) this.#live.renew()
      } finally {
        this.#maintenance = undefined
        mine?.release()
      }
    }
  }

  /** Runs `work` when all earlier writing to the store, through whichever handle of this process, has ended. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    let key: string
    try {
      key = realpathSync(this.#directory.path)
    } catch (cause) {
      throw ioError('write to', this.#directory.path, cause)
    }
    return takeTurn(key, work)
  }
}
