// zrecord/: a store's files, opened to read when first needed and kept open.

import { LoaderxError } from '../errors.ts'
import { chunkName, META_NAME } from '../format/limits.ts'
import { SUMS_NAME } from '../format/sums.ts'
import type { StoreDirectory, StoreFile } from '../storage/files.ts'

/** The files of one store, open for reading. */
export class StoreFiles {
  readonly directory: StoreDirectory
  readonly #open = new Map<string, StoreFile>()

  constructor(directory: StoreDirectory) {
    this.directory = directory
  }

  /** @throws LOADERX_NOT_FOUND, LOADERX_NOT_A_DIRECTORY, LOADERX_NOT_A_STORE, LOADERX_IO */
  get meta(): StoreFile {
    return this.#get(META_NAME)
  }

  get sums(): StoreFile {
    return this.#get(SUMS_NAME)
  }

  chunk(chunk: number): StoreFile {
    return this.#get(chunkName(chunk))
  }

  #get(name: string): StoreFile {
    let file = this.#open.get(name)
    if (file === undefined) {
      file = this.directory.open(name, 'read')
      this.#open.set(name, file)
    }
    return file
  }

  close(): void {
    for (const file of this.#open.values()) file.close()
    this.#open.clear()
  }
}

/**
 * Checks that `directory` is a directory with a meta.zr.
 * @throws LOADERX_NOT_FOUND, LOADERX_NOT_A_DIRECTORY, LOADERX_NOT_A_STORE
 */
export function checkIsStore(directory: StoreDirectory): void {
  const { path } = directory
  if (directory.look(META_NAME) !== undefined) return
  const facts = directory.look('.')
  if (facts === undefined) {
    throw new LoaderxError(
      'LOADERX_NOT_FOUND',
      `${path} does not exist; check the path, or make a store there with Dataset.write or { create: true }`,
      { path },
    )
  }
  throw new LoaderxError(
    'LOADERX_NOT_A_STORE',
    `${path} is not a store: it has no ${META_NAME}; check the path, or make a store there with Dataset.write or { create: true }`,
    { path },
  )
}
