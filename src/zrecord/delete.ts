// zrecord/: removing records. Pure plan: each hole is filled with the record that is last then, from the highest hole
// down, so only table entries change and records keep their bytes.

import { LoaderxError } from '../errors.ts'

/** What a delete changes. */
export interface DeletePlan {
  /** Records left, and records removed. */
  readonly length: number
  readonly removed: number
  /** For each slot below `length` that gets another record: the slot, and the slot that had the record before. */
  readonly slots: Uint32Array
  readonly sources: Uint32Array
}

/** What a delete did. */
export interface DeleteResult {
  /** Records left. */
  readonly length: number
  /** Records removed; an index that was given twice counts once. */
  readonly removed: number
  /** Records that have another index now, as pairs (index before, index now). All others kept theirs. */
  readonly moves: readonly (readonly [from: number, to: number])[]
}

/** A plan as callers see it. */
export function deleteResult({ length, removed, slots, sources }: DeletePlan): DeleteResult {
  return { length, removed, moves: Array.from(slots, (to, i) => [sources[i]!, to] as const) }
}

/**
 * Plans the removal of `targets` (any order, duplicates tolerated) from a store of `length` records.
 * @throws LOADERX_INDEX_OUT_OF_RANGE naming the first index that is not in the store; nothing is removed then
 */
export function planDelete(length: number, targets: ArrayLike<number>, path: string): DeletePlan {
  for (let i = 0; i < targets.length; i++) {
    const index = targets[i]!
    if (index < length) continue
    const range = length === 0 ? 'the store is empty' : `its records are 0 … ${length - 1}`
    throw new LoaderxError(
      'LOADERX_INDEX_OUT_OF_RANGE',
      `index ${index} at position ${i} cannot be deleted from ${path}: ${range}; nothing was deleted`,
      { path, index, position: i, expected: length },
    )
  }
  const sorted = [...new Set(Array.from(targets))].sort((a, b) => b - a)
  const origin = new Map<number, number>()
  let left = length
  for (const target of sorted) {
    left--
    if (target !== left) origin.set(target, origin.get(left) ?? left)
  }
  const kept = [...origin].filter(([slot]) => slot < left).sort(([a], [b]) => a - b)
  return {
    length: left,
    removed: length - left,
    slots: Uint32Array.from(kept, ([slot]) => slot),
    sources: Uint32Array.from(kept, ([, source]) => source),
  }
}
