// zrecord/: says why the kernel refused a record. Pure: the entry has been copied out of the table.

import { LoaderxError } from '../errors.ts'
import { type Entry, entryFault } from '../format/entry.ts'

/** What is known of the store and of the batch. */
export interface FaultContext {
  readonly path: string
  /** Records of the store. */
  readonly length: number
  readonly limits: Uint32Array
  /** Shortest and longest record that the batch accepts. */
  readonly shortest: number
  readonly longest: number
}

/** The error for an index that is not below the store's length. `index` is negative when the caller's was. */
export function outOfRange(context: FaultContext, index: number, position: number): LoaderxError {
  const { path, length } = context
  const range = length === 0 ? 'the store is empty' : `its records are 0 … ${length - 1}`
  const message = `index ${index} at position ${position} is out of range for ${path}: ${range}`
  return new LoaderxError('LOADERX_INDEX_OUT_OF_RANGE', message, { path, index, position, expected: length })
}

/** The error for a record whose table entry may not be followed, or whose length does not suit the batch. */
export function entryError(context: FaultContext, index: number, position: number, entry: Entry): LoaderxError {
  const { path, limits, shortest, longest } = context
  const details = { path, index, position }
  const fault = entryFault(entry, limits)
  if (fault !== undefined) {
    return new LoaderxError(
      'LOADERX_CORRUPT_RECORD',
      `record ${index} of ${path} has a damaged table entry: ${fault}; restore the store from a copy or leave the record out`,
      { ...details, chunk: entry.chunk, offset: entry.offset },
    )
  }
  if (shortest === longest) {
    return new LoaderxError(
      'LOADERX_SCHEMA_MISMATCH',
      `record ${index} of ${path} has ${entry.logic} bytes, but a sample has ${longest}: the store's schema.json does not describe it`,
      { ...details, expected: longest, actual: entry.logic },
    )
  }
  return new LoaderxError(
    'LOADERX_BUFFER_TOO_SMALL',
    `record ${index} of ${path} has ${entry.logic} bytes, more than the ${longest} between two places in the destination; use a larger stride`,
    { ...details, expected: entry.logic, actual: longest },
  )
}
