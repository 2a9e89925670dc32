// zrecord/: the writing side of an open store: appends and maintenance, one at a time, with the files and workers that
// they need.

import { realpathSync } from 'node:fs'
import { LoaderxError } from '../errors.ts'
import type { StoreDirectory } from '../storage/files.ts'
import { ioError } from '../storage/io-error.ts'
import type { DeletePlan } from './delete.ts'
import type { Durability } from './journal.ts'
import type { LiveStore } from './live.ts'
import { compactRecords, deleteRecords, type MaintainOptions } from './maintain.ts'
import type { RecordSource } from './source.ts'
import { takeTurn } from './turns.ts'
import { WriteFiles } from './write-files.ts'
import { type Codec, RecordWriter } from './writer.ts'

/** Writes to one store. */
export class StoreWriting {
  readonly #directory: StoreDirectory
  readonly #live: LiveStore
  readonly #durability: Durability
  /** Waits for reads that are under way. */
  readonly #quiet: () => Promise<unknown>
  #files: WriteFiles | undefined
  #writer: RecordWriter | undefined
  #maintenance: string | undefined

  constructor(directory: StoreDirectory, live: LiveStore, durability: Durability, quiet: () => Promise<unknown>) {
    this.#directory = directory
    this.#live = live
    this.#durability = durability
    this.#quiet = quiet
  }

  /** Appends all records or none. Returns the index of the first. */
  append(source: RecordSource, codec: Codec, signal: AbortSignal | undefined): Promise<number> {
    return this.#inTurn(async () => {
      this.#writer ??= new RecordWriter(this.#open(), this.#durability)
      const appended = await this.#writer.append(source, codec, signal)
      try {
        this.#live.followAppend(appended)
      } catch {
        // The records are in the store whatever happens now; the next read meets the same failure and reports it.
      }
      return appended.before.length
    })
  }

  delete(targets: ArrayLike<number>): Promise<DeletePlan> {
    return this.#maintain('delete', () => deleteRecords(this.#open(), targets, this.#durability))
  }

  compact(options: Omit<MaintainOptions, 'durability'>): Promise<void> {
    return this.#maintain('compact', () => compactRecords(this.#open(), { ...options, durability: this.#durability }))
  }

  /** Flushes what was written. */
  sync(): Promise<void> {
    return this.#inTurn(async () => this.#files?.sync())
  }

  /** @throws LOADERX_LOCKED while records are being moved: what is read then might be half of two records */
  checkReadable(): void {
    if (this.#maintenance === undefined) return
    const { path } = this.#directory
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

  #maintain<T>(name: string, work: () => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      this.#maintenance = name
      try {
        await this.#quiet()
        return await work()
      } finally {
        this.#maintenance = undefined
        this.#writer?.forgetTable()
        this.#live.renew()
      }
    })
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
