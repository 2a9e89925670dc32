// zrecord/: makes an empty store. meta.zr appears last and complete, by a rename, so a process that is killed half-way
// leaves a directory that is not a store yet and can be tried again.

import { rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { LoaderxError } from '../errors.ts'
import { EMPTY_HEADER, encodeHeader } from '../format/header.ts'
import { CHUNK_BYTES, chunkName, META_BYTES, META_NAME } from '../format/limits.ts'
import { NodeDirectory, type StoreDirectory } from '../storage/files.ts'
import type { Durability } from './journal.ts'
import { takeTurn } from './turns.ts'
import { growSparse } from './write-files.ts'

const UNFINISHED = `${META_NAME}.new`

/**
 * Makes an empty store in `directory`, with the directory and its parents where they are missing.
 * @returns a function that takes back everything that was made
 * @throws LOADERX_NOT_A_DIRECTORY, LOADERX_NOT_A_STORE when chunk files stand there without a meta.zr, LOADERX_IO
 */
export function createStore(
  directory: StoreDirectory,
  durability: Durability = 'process',
): Promise<() => Promise<void>> {
  return takeTurn(`create ${directory.path}`, () => create(directory, durability === 'power'))
}

async function create(directory: StoreDirectory, flush: boolean): Promise<() => Promise<void>> {
  // While this waited for its turn, another handle of the process may have made the store.
  if (directory.look(META_NAME) !== undefined) return async () => {}
  const firstMade = await directory.make()
  const made: string[] = []
  const undo = async () => {
    for (const name of made.splice(0).reverse()) await directory.remove(name)
    if (firstMade !== undefined) await removeEmpty(directory.path, firstMade)
  }
  try {
    await makeChunk(directory, made, flush)
    await makeMeta(directory, made, flush)
    if (flush && firstMade !== undefined) await flushParents(directory.path, firstMade)
  } catch (error) {
    await undo()
    throw error
  }
  return undo
}

async function makeChunk(directory: StoreDirectory, made: string[], flush: boolean): Promise<void> {
  const name = chunkName(0)
  const facts = directory.look(name)
  if (facts !== undefined && (!facts.plain || facts.allocated > 0)) {
    const path = join(directory.path, name)
    throw new LoaderxError(
      'LOADERX_NOT_A_STORE',
      `${path} has data, but there is no ${META_NAME} beside it: restore that file from a copy, or choose another path`,
      { path },
    )
  }
  const file = directory.open(name, facts === undefined ? 'create' : 'write')
  if (facts === undefined) made.push(name)
  try {
    await growSparse(file, CHUNK_BYTES)
    if (flush) await file.sync()
  } finally {
    file.close()
  }
  if (flush) await directory.sync()
}

async function makeMeta(directory: StoreDirectory, made: string[], flush: boolean): Promise<void> {
  if (directory.look(UNFINISHED) !== undefined) await directory.remove(UNFINISHED)
  const file = directory.open(UNFINISHED, 'create')
  made.push(UNFINISHED)
  try {
    await file.write(encodeHeader(EMPTY_HEADER), 0)
    await growSparse(file, META_BYTES)
    if (flush) await file.sync()
  } finally {
    file.close()
  }
  await directory.rename(UNFINISHED, META_NAME)
  made[made.length - 1] = META_NAME
  if (flush) await directory.sync()
}

/** A new directory's name is flushed with the directory that it stands in. */
async function flushParents(path: string, top: string): Promise<void> {
  for (let at = path; at.length >= top.length; at = dirname(at)) await new NodeDirectory(dirname(at)).sync()
}

async function removeEmpty(path: string, top: string): Promise<void> {
  for (let at = path; at.length >= top.length; at = join(at, '..')) {
    try {
      await rmdir(at)
    } catch {
      return
    }
  }
}
