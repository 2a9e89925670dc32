// zrecord/: where appended records go. Pure: the plan is a value that the writer carries out.

import { LoaderxError } from '../errors.ts'
import { CHUNK_BYTES, MAX_CHUNK } from '../format/limits.ts'

/** The next free byte of a store. */
export interface Place {
  readonly chunk: number
  readonly offset: number
}

/** Consecutive stored bytes that go to one place with one write. */
interface WriteRun {
  readonly chunk: number
  readonly offset: number
  /** First byte of the run in the block that was placed. */
  readonly from: number
  readonly bytes: number
}

/** Places for a block of records, and the frontier behind them. */
export interface Placement {
  /** Of each record. */
  readonly chunks: Uint16Array
  readonly offsets: Uint32Array
  readonly runs: readonly WriteRun[]
  readonly next: Place
}

/**
 * Places records of `phys` stored bytes back to back from `start`. A record that would reach the end of its chunk goes
 * to the start of the next one: the last byte of a chunk is never used.
 * @throws LOADERX_STORE_FULL when the last chunk is full
 */
export function placeRecords(start: Place, phys: Uint32Array, path: string): Placement {
  const chunks = new Uint16Array(phys.length)
  const offsets = new Uint32Array(phys.length)
  const runs: WriteRun[] = []
  let { chunk, offset } = start
  let run = { chunk, offset, from: 0, bytes: 0 }
  let from = 0
  for (let i = 0; i < phys.length; i++) {
    const bytes = phys[i]!
    if (offset + bytes >= CHUNK_BYTES) {
      if (chunk === MAX_CHUNK) {
        throw new LoaderxError(
          'LOADERX_STORE_FULL',
          `${path} is full: its last chunk ${MAX_CHUNK} has no room for ${bytes} more bytes; begin another store (Dataset.concat reads several as one)`,
          { path, chunk },
        )
      }
      if (run.bytes > 0) runs.push(run)
      chunk++
      offset = 0
      run = { chunk, offset, from, bytes: 0 }
    }
    chunks[i] = chunk
    offsets[i] = offset
    offset += bytes
    from += bytes
    run.bytes += bytes
  }
  if (run.bytes > 0) runs.push(run)
  return { chunks, offsets, runs, next: { chunk, offset } }
}
