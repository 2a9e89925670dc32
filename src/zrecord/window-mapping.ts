// zrecord/: maps one window of a chunk over a memory of its own.

import { LoaderxError } from '../errors.ts'
import { fileMapper } from '../storage/mapping.ts'
import { createResidence, mapBytes } from '../storage/residence.ts'
import type { StoreFiles } from './files.ts'
import type { ReaderState } from './reader-state.ts'
import { WINDOW_OVERLAP, type WindowState } from './windows.ts'

/**
 * Maps the window of `chunk` that begins at byte `start`.
 * @throws LOADERX_RESIDENCY_UNAVAILABLE, also when the store lives in memory: its windows were all read when it was opened
 */
export function mapWindow(state: ReaderState, files: StoreFiles, chunk: number, start: number): WindowState {
  const { path, windowBytes, kind } = state
  const mapper = fileMapper()
  if (kind !== 'mapped' || mapper === null) {
    throw new LoaderxError(
      'LOADERX_RESIDENCY_UNAVAILABLE',
      `bytes ${start} … of chunk ${chunk} of ${path} are not in memory; open the store anew`,
      { path, chunk, offset: start },
    )
  }
  const bytes = windowBytes + WINDOW_OVERLAP
  const { memory, addresses } = createResidence([bytes], path, false)
  mapBytes(mapper, memory, addresses[0]!, files.chunk(chunk), start, bytes)
  return { chunk, start, memory, address: addresses[0]! }
}
