// dataset/: the stores that a dataset consists of: one, or several behind each other. A batch is planned as one gather
// for each store and then carried out.

import { isLoaderxError, LoaderxError } from '../errors.ts'
import { type Indices, writeIndices } from '../zrecord/indices.ts'
import type { Layout } from '../zrecord/plan.ts'
import { gatherExactly, gatherExactlySync, type Zrecord } from '../zrecord/zrecord.ts'
import { swapBytes } from './bytes.ts'
import type { DTypeInfo } from './dtype.ts'

/** One store of a dataset. */
export interface Part {
  readonly store: Zrecord
  /** The dtype as this store has it: byte orders may differ. */
  readonly dtype: DTypeInfo
  /** Index of its first sample in the dataset. */
  readonly start: number
  /** Number of its samples that belong to the dataset. */
  readonly length: number
}

/** What one store gives to a batch. */
export interface PartBatch {
  readonly part: Part
  /** Indices in the store. */
  readonly indices: Indices
  /** Position in the batch of each of them; without, they are the whole batch in its order. */
  readonly positions?: Uint32Array
}

/**
 * Plans a batch over several parts.
 * @param indices indices in the dataset; may be above 2^32
 * @throws LOADERX_INVALID_INDEX, LOADERX_INDEX_OUT_OF_RANGE
 */
export function planParts(parts: readonly Part[], indices: Indices, path: string): PartBatch[] {
  const words = new Uint32Array(2 * indices.length)
  writeIndices(indices, words)
  const last = parts.at(-1)!
  const length = last.start + last.length
  const chosen = parts.map(() => ({ indices: [] as number[], positions: [] as number[] }))
  for (let i = 0; i < indices.length; i++) {
    const index = words[2 * i]! + words[2 * i + 1]! * 2 ** 32
    if (index >= length) {
      const range = length === 0 ? 'it is empty' : `its samples are 0 … ${length - 1}`
      const shown = Number(indices[i])
      throw new LoaderxError(
        'LOADERX_INDEX_OUT_OF_RANGE',
        `index ${shown} at position ${i} is out of range for ${path}: ${range}`,
        { path, index: shown, position: i, expected: length },
      )
    }
    const which = findPart(parts, index)
    chosen[which]!.indices.push(index - parts[which]!.start)
    chosen[which]!.positions.push(i)
  }
  return parts.flatMap((part, which) => {
    const { indices, positions } = chosen[which]!
    if (positions.length === 0) return []
    return { part, indices: Uint32Array.from(indices), positions: Uint32Array.from(positions) }
  })
}

/** Number of the part that holds sample `index`, which is in range. */
function findPart(parts: readonly Part[], index: number): number {
  let low = 0
  let high = parts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (parts[middle]!.start <= index) low = middle
    else high = middle - 1
  }
  return low
}

function layoutOf(batch: PartBatch, sampleBytes: number): Layout {
  const { positions } = batch
  // Samples without bytes exist in empty datasets only; a stride is at least 1.
  return positions === undefined
    ? Math.max(1, sampleBytes)
    : { offsets: Float64Array.from(positions, (at) => at * sampleBytes) }
}

function finish(batch: PartBatch, into: Uint8Array, sampleBytes: number): void {
  const { bigEndian, elementBytes } = batch.part.dtype
  if (!bigEndian) return
  if (batch.positions === undefined) swapBytes(into, elementBytes)
  else
    for (const at of batch.positions) swapBytes(into.subarray(at * sampleBytes, (at + 1) * sampleBytes), elementBytes)
}

/** The error of one store's gather, with the position in the whole batch. */
function placed(error: unknown, batch: PartBatch): unknown {
  if (batch.positions === undefined || !isLoaderxError(error) || error.details.position === undefined) return error
  const position = batch.positions[error.details.position]!
  return new LoaderxError(error.code, error.message, { ...error.details, position }, { cause: error })
}

/** Carries a plan out: every sample to its place in `into`, in little-endian order. @throws as Zrecord.gather */
export async function gatherParts(batches: readonly PartBatch[], into: Uint8Array, sampleBytes: number): Promise<void> {
  const one = async (batch: PartBatch): Promise<void> => {
    try {
      await gatherExactly(batch.part.store, batch.indices, into, layoutOf(batch, sampleBytes), sampleBytes)
    } catch (error) {
      throw placed(error, batch)
    }
    finish(batch, into, sampleBytes)
  }
  // All have ended, also after an error: nothing writes to the caller's memory later.
  const results = await Promise.allSettled(batches.map(one))
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/** As {@link gatherParts}, at once. */
export function gatherPartsSync(batches: readonly PartBatch[], into: Uint8Array, sampleBytes: number): void {
  for (const batch of batches) {
    try {
      gatherExactlySync(batch.part.store, batch.indices, into, layoutOf(batch, sampleBytes), sampleBytes)
    } catch (error) {
      throw placed(error, batch)
    }
    finish(batch, into, sampleBytes)
  }
}
