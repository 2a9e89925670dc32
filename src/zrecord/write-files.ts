// zrecord/: a store's files opened to write when first needed, kept open, and flushed in the order that durability asks.

import type { LoaderxError } from '../errors.ts'
import { CHUNK_BYTES, chunkName, META_BYTES, META_NAME } from '../format/limits.ts'
import { SUMS_BYTES, SUMS_NAME } from '../format/sums.ts'
import type { StoreDirectory, StoreFile } from '../storage/files.ts'

/** Gives files their full, sparse size where the file system can; elsewhere they grow as needed. */
export async function growSparse(file: StoreFile, bytes: number): Promise<void> {
  if (process.platform === 'win32' || file.size() >= bytes) return
  try {
    await file.truncate(bytes)
  } catch (error) {
    const code = ((error as LoaderxError).cause as NodeJS.ErrnoException | undefined)?.code
    if (code !== 'EFBIG' && code !== 'EINVAL') throw error
  }
}

/** Full size of each of a store's files. */
function fullBytes(name: string): number {
  if (name === META_NAME) return META_BYTES
  return name === SUMS_NAME ? SUMS_BYTES : CHUNK_BYTES
}

/** The files of one store, open for writing. */
export class WriteFiles {
  readonly directory: StoreDirectory
  readonly #open = new Map<string, StoreFile>()
  /** Whether a name in the directory may not be on the disk yet; another process may have made a file just before. */
  #namesPending = true
  #headerPending = false

  constructor(directory: StoreDirectory) {
    this.directory = directory
  }

  /** The file `name`, which is made (chunks, sums.zr) or grown to its full size where it is not yet. */
  async get(name: string): Promise<StoreFile> {
    const known = this.#open.get(name)
    if (known !== undefined) return known
    const isNew = this.directory.look(name) === undefined
    const file = this.directory.open(name, isNew ? 'create' : 'write')
    this.#namesPending ||= isNew
    this.#open.set(name, file)
    await growSparse(file, fullBytes(name))
    return file
  }

  get meta(): Promise<StoreFile> {
    return this.get(META_NAME)
  }

  chunk(chunk: number): Promise<StoreFile> {
    return this.get(chunkName(chunk))
  }

  /** Forgets a file, because it is removed or replaced. */
  drop(name: string): void {
    this.#open.get(name)?.close()
    this.#open.delete(name)
  }

  /**
   * Flushes the named files, or all that were opened, with the names of new ones: meta.zr last, because it makes the
   * others visible.
   */
  async sync(names: Iterable<string> = this.#open.keys()): Promise<void> {
    const listed = new Set(names)
    const hasMeta = listed.delete(META_NAME)
    for (const name of listed) await this.#open.get(name)?.sync()
    await this.syncNames()
    if (hasMeta) await this.#open.get(META_NAME)?.sync()
  }

  /** Notes that a file of the directory was renamed or removed. */
  namesChanged(): void {
    this.#namesPending = true
  }

  /** Flushes the names of the directory's files, where they changed since. */
  async syncNames(): Promise<void> {
    if (this.#namesPending) await this.directory.sync()
    this.#namesPending = false
  }

  /** Notes that a header was taken back after its flush had failed: the disk may have either. */
  headerTakenBack(): void {
    this.#headerPending = true
  }

  /** Brings the header to the disk where that may have another: nothing that it counts may be overwritten before. */
  async settleHeader(): Promise<void> {
    if (this.#headerPending) await this.#open.get(META_NAME)?.sync()
    this.#headerPending = false
  }

  close(): void {
    for (const file of this.#open.values()) file.close()
    this.#open.clear()
  }
}
