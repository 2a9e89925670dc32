// zrecord/: what callers of a store give: options, and arguments that TypeScript's types cannot check. Pure.

import { LoaderxError } from '../errors.ts'
import { MAX_RECORD_BYTES } from '../format/limits.ts'
import type { Residency } from '../storage/residency.ts'
import type { Durability } from './journal.ts'
import type { Layout } from './plan.ts'
import type { VerifyMode } from './seals.ts'
import {
  asBytes,
  type Bytes,
  equalRecords,
  isBytes,
  listedRecords,
  type RaggedLayout,
  type RecordSource,
  raggedRecords,
} from './source.ts'
import type { Codec } from './writer.ts'

/** How a store is opened. */
export interface ZrecordOptions {
  /** Codec of appended records unless an append names another. Default `'flate'`. */
  readonly codec?: Codec
  /** Make an empty store when there is none at the path, with missing parent directories. Default false. */
  readonly create?: boolean
  /**
   * Refuse appends, deletes and compacts. Default false. Opening writes nothing unless a process died in a delete or a
   * compact, so a store on a read-only disk opens either way.
   */
  readonly readOnly?: boolean
  /** Where the bytes live while the store is open. Default `'auto'`. */
  readonly residency?: Residency
  /** When records are checked against their checksums. Default `'first'`: each the first time this process reads it. */
  readonly verify?: VerifyMode
  /** What an append, a delete or a compact survives once it has returned. Default `'process'`: a killed process. */
  readonly durability?: Durability
  /**
   * Milliseconds to wait while others hold the store in a way that excludes what is asked: for an append by default
   * 10,000, to open, to delete or to compact by default 0.
   */
  readonly lockTimeout?: number
}

/** Options of one append. */
export interface AppendOptions {
  /** Codec of these records. Default: the store's. */
  readonly codec?: Codec
  /** Gives the append up, unless it has been committed; nothing of it is then visible. */
  readonly signal?: AbortSignal
}

/** @throws LOADERX_INVALID_ARGUMENT */
export function checkPath(path: string): void {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return
  const message = `the path of a store is ${JSON.stringify(path) ?? String(path)}; give the name of a directory`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: path })
}

/** @throws LOADERX_INVALID_ARGUMENT */
export function checkCodec(codec: Codec): void {
  if (codec === 'raw' || codec === 'flate') return
  const message = `codec is ${JSON.stringify(codec)}; use 'raw' or 'flate'`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: codec })
}

/** @throws LOADERX_INVALID_ARGUMENT */
export function checkChoice(option: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return
  const message = `${option} is ${JSON.stringify(value)}; use ${choices.map((choice) => `'${choice}'`).join(' or ')}`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { expected: choices, actual: value })
}

/** @throws LOADERX_INVALID_ARGUMENT */
export function checkLayout(layout: Layout): void {
  if (typeof layout === 'number') {
    if (Number.isSafeInteger(layout) && layout >= 1 && layout <= 2 ** 32 - 1) return
    const message = `the stride is ${layout}; give the bytes from one record to the next, at least 1`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: layout })
  }
  const offsets = (layout as Partial<Exclude<Layout, number>> | null | undefined)?.offsets
  if (typeof offsets === 'object' && offsets !== null && Number.isInteger(offsets.length)) return
  const message = `the layout of a gather is ${layout === null ? 'null' : typeof layout}; give a stride in bytes, or { offsets }`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: layout })
}

/**
 * The records and options of an append, whichever of its forms the caller used.
 * @throws LOADERX_INVALID_ARGUMENT, LOADERX_EMPTY_RECORD, LOADERX_RECORD_TOO_LARGE, LOADERX_BUFFER_TOO_SMALL
 */
export function appendArguments(
  input: Bytes | readonly Bytes[],
  layout: number | RaggedLayout | AppendOptions | undefined,
  last: AppendOptions | undefined,
): { source: RecordSource; options: AppendOptions } {
  if (Array.isArray(input)) return { source: listedRecords(input), options: (layout as AppendOptions) ?? {} }
  const options = last ?? {}
  if (isBytes(input)) {
    const bytes = asBytes(input, 'the source')
    if (typeof layout === 'number') return { source: equalRecords(bytes, layout), options }
    if (typeof layout === 'object' && layout !== null && 'offsets' in layout && 'lengths' in layout) {
      return { source: raggedRecords(bytes, layout), options }
    }
    const message = `an append of one buffer needs the bytes of each record (1 … ${MAX_RECORD_BYTES}), or { offsets, lengths }`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: layout })
  }
  const message = `records to append are ${typeof input}; give a list of byte arrays, or a buffer and the bytes of each record`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message)
}
