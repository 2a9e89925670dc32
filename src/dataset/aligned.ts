// dataset/: removes the same samples from datasets that belong together.

import { LoaderxError } from '../errors.ts'
import { deleteFromAll } from '../zrecord/aligned.ts'
import type { DeleteResult } from '../zrecord/delete.ts'
import { type Indices, wholeIndices } from '../zrecord/indices.ts'
import { type Dataset, partsOf } from './dataset.ts'

/**
 * Removes the samples of `indices` from all datasets or, when it fails or the process dies, from none: data, labels and
 * whatever else belongs to a sample stay aligned. All lengths, indices and locks are checked before the first change.
 * A process that dies in the middle leaves datasets that say so when they are opened; `repair` on any of them finishes
 * or undoes the delete in all.
 * @param datasets of equal length, each of one store
 * @param indices any order, duplicates tolerated
 * @throws LOADERX_LENGTH_MISMATCH, LOADERX_INVALID_ARGUMENT, and as Zrecord.delete
 */
export async function deleteAligned(datasets: readonly Dataset[], indices: Indices): Promise<DeleteResult> {
  if (datasets.length === 0) {
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', 'deleteAligned was given no datasets; give at least one')
  }
  const stores = datasets.map((dataset) => {
    const parts = partsOf(dataset)
    if (parts.length === 1) return parts[0]!.store
    const message = `deleteAligned works on single stores, but ${dataset.path} joins ${parts.length}; give each of them`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { path: dataset.path })
  })
  return deleteFromAll(stores, wholeIndices(indices))
}
