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
  /** Whether names in the directory may not be on the disk yet: those that this made, or whoever made the store. */
  #newNames = true

  constructor(directory: StoreDirectory) {
    this.directory = directory
  }

  /** The file `name`, which is made (chunks, sums.zr) or grown to its full size where it is not yet. */
  async get(name: string): Promise<StoreFile> {
    const known = this.#open.get(name)
    if (known !== undefined) return known
    const isMissing = this.directory.look(name) === undefined
    const file = this.directory.open(name, isMissing ? 'create' : 'write')
    this.#newNames ||= isMissing
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

  /** Flushes the named files, or all that were opened, and their names: meta.zr last, as it makes the others visible. */
  async sync(names: Iterable<string> = this.#open.keys()): Promise<void> {
    const sorted = [...names].sort((a, b) => Number(a === META_NAME) - Number(b === META_NAME))
    if (this.#newNames) await this.directory.sync()
    this.#newNames = false
    for (const name of sorted) await this.#open.get(name)?.sync()
  }

  close(): void {
    for (const file of this.#open.values()) file.close()
    this.#open.clear()
  }
}
