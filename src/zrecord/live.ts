// zrecord/: an open store as it is now: follows what this and other processes append, and moves to a larger place when
// the store has outgrown its own. Belongs to the thread that opened the store.

import { isLoaderxError } from '../errors.ts'
import { ENTRY_BYTES } from '../format/limits.ts'
import { chooseResidency, type Residency } from '../storage/residency.ts'
import type { StoreFiles } from './files.ts'
import { type Frontier, readFrontier } from './frontier.ts'
import { Home } from './home.ts'
import type { Appended } from './writer.ts'

/** The current home of a store's bytes. */
export class LiveStore {
  readonly #files: StoreFiles
  readonly #residency: Residency
  readonly #windowBytes: number
  #home: Home

  /** @throws as Zrecord.open */
  constructor(files: StoreFiles, residency: Residency, windowBytes: number) {
    this.#files = files
    this.#residency = residency
    this.#windowBytes = windowBytes
    this.#home = this.#newHome(readFrontier(files.directory, files.meta))
  }

  get home(): Home {
    return this.#home
  }

  /** Records in the store as last followed. */
  get length(): number {
    return this.#home.frontier.header.length
  }

  /** Looks whether the header changed on disk and follows it. Returns whether it did. */
  refresh(): boolean {
    if (!this.#home.moved()) return false
    this.#follow(readFrontier(this.#files.directory, this.#files.meta), false)
    return true
  }

  /** Follows an append of this process, of which only the new part need be read where nothing else was changed. */
  followAppend({ before, after }: Appended): void {
    const known = this.#home.frontier.header
    const frontier = readFrontier(this.#files.directory, this.#files.meta)
    const sinceKnown =
      known.length === before.length && known.tailChunk === before.tailChunk && known.tailOffset === before.tailOffset
    this.#follow(frontier, sinceKnown && frontier.header.length === after.length)
  }

  /** Runs a read; when it fails on what may be out of date, follows the store and runs it once more. */
  read<T>(run: (home: Home) => T): T {
    if (this.#home.kind === 'mapped') this.refresh()
    try {
      return run(this.#home)
    } catch (error) {
      if (isStale(error) && this.refresh()) return run(this.#home)
      throw error
    }
  }

  /** As {@link read}, for a read that is waited for. */
  async readAsync<T>(run: (home: Home) => Promise<T>): Promise<T> {
    try {
      return await run(this.#home)
    } catch (error) {
      if (isStale(error) && this.refresh()) return run(this.#home)
      throw error
    }
  }

  /** Lets go of the bytes as soon as nobody holds them. */
  retire(): void {
    this.#home.retire()
  }

  #follow(frontier: Frontier, onlyAdded: boolean): void {
    if (this.#home.advance(frontier, onlyAdded)) return
    const before = this.#home
    this.#home = this.#newHome(frontier)
    before.retire()
  }

  #newHome(frontier: Frontier): Home {
    const bytes = frontier.limits.reduce((sum, limit) => sum + limit, 0) + frontier.header.length * ENTRY_BYTES
    const choice = chooseResidency(this.#residency, bytes, this.#files.directory.path)
    try {
      return new Home(this.#files, frontier, choice, this.#windowBytes)
    } catch (error) {
      if (this.#residency !== 'auto' || !isLoaderxError(error, 'LOADERX_RESIDENCY_UNAVAILABLE')) throw error
      return new Home(this.#files, frontier, { kind: 'file' }, this.#windowBytes)
    }
  }
}

function isStale(error: unknown): boolean {
  return isLoaderxError(error, 'LOADERX_INDEX_OUT_OF_RANGE') || isLoaderxError(error, 'LOADERX_CORRUPT_RECORD')
}
