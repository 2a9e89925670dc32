// The one error class of the package. Every failure that a caller can meet has a code that is stable across
// releases; docs/errors.md says for each what happened and what to do.

/** The stable codes of {@link LoaderxError}; each has a paragraph in docs/errors.md. */
export type LoaderxErrorCode =
  | 'LOADERX_ALREADY_CLOSED'
  | 'LOADERX_BATCH_RELEASED'
  | 'LOADERX_BATCH_TOO_LARGE'
  | 'LOADERX_BATCHES_HELD'
  | 'LOADERX_BUFFER_TOO_SMALL'
  | 'LOADERX_CORRUPT_RECORD'
  | 'LOADERX_CORRUPT_STORE'
  | 'LOADERX_EMPTY_DATASET'
  | 'LOADERX_EMPTY_RECORD'
  | 'LOADERX_INDEX_OUT_OF_RANGE'
  | 'LOADERX_INVALID_ARGUMENT'
  | 'LOADERX_INVALID_INDEX'
  | 'LOADERX_INVALID_NPY'
  | 'LOADERX_INVALID_SCHEMA'
  | 'LOADERX_IO'
  | 'LOADERX_LENGTH_MISMATCH'
  | 'LOADERX_LOCKED'
  | 'LOADERX_NEWER_VERSION'
  | 'LOADERX_NOT_A_DIRECTORY'
  | 'LOADERX_NOT_A_STORE'
  | 'LOADERX_NOT_FOUND'
  | 'LOADERX_READ_ONLY'
  | 'LOADERX_RECORD_TOO_LARGE'
  | 'LOADERX_RESIDENCY_UNAVAILABLE'
  | 'LOADERX_SCHEMA_MISMATCH'
  | 'LOADERX_STORE_FULL'
  | 'LOADERX_TRUNCATED'
  | 'LOADERX_UNSUPPORTED_DTYPE'
  | 'LOADERX_WORKER_FAILED'

/** Who holds a lock on a store. */
export interface LockHolder {
  /** Id of its process. */
  readonly pid: number
  /** Name of the machine or container. */
  readonly host: string
  /** What it holds: `shared` (reading), `append` or `exclusive`. */
  readonly mode: string
  /** What for: `reader`, `loader`, `append`, `delete`, `compact`, …; undefined while it is still being noted. */
  readonly role: string | undefined
  /** Since when, as an ISO time; undefined while it is still being noted. */
  readonly since: string | undefined
  /** Whether the process was seen to live; it cannot be seen from another container or machine. */
  readonly verified: boolean
  /** The file that says so (docs/locks.md). */
  readonly note: string
}

/** The facts of a failure as data, so that a program need not parse the message. All are optional. */
export interface LoaderxErrorDetails {
  /** File or directory that the failure is about. */
  readonly path?: string
  /** Index of the record or sample. */
  readonly index?: number
  /** Position of the faulty element in the caller's list of indices or records. */
  readonly position?: number
  /** Name of the loader's field. */
  readonly field?: string
  /** Step of the loader. */
  readonly step?: number
  /** Chunk file number. */
  readonly chunk?: number
  /** Byte offset in the file. */
  readonly offset?: number
  /** Who holds the store. */
  readonly holders?: readonly LockHolder[]
  /** What was expected (a length, a name, a shape). */
  readonly expected?: unknown
  /** What was found instead. */
  readonly actual?: unknown
}

const BRAND = Symbol.for('loaderx.error')

/**
 * Every failure of this package. `code` is stable; `message` names the thing, what is wrong and what to do;
 * `details` holds the same facts as data; `cause` is the underlying error where there is one.
 */
export class LoaderxError extends Error {
  /** Always `LoaderxError`, also in minified bundles. */
  override readonly name: string = 'LoaderxError'
  /** What happened, as a name that stays the same across releases. */
  readonly code: LoaderxErrorCode
  /** The facts of the message as data. */
  readonly details: LoaderxErrorDetails

  /** `options.cause` is the underlying error. */
  constructor(code: LoaderxErrorCode, message: string, details: LoaderxErrorDetails = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.details = details
    Object.defineProperty(this, BRAND, { value: true })
  }
}

/**
 * Whether `value` is a {@link LoaderxError}, also when it comes from another copy of the package (where
 * `instanceof` would say no). With `code`, also whether it carries that code.
 */
export function isLoaderxError(value: unknown, code?: LoaderxErrorCode): value is LoaderxError {
  if (!(value instanceof Error) || (value as unknown as Record<symbol, unknown>)[BRAND] !== true) return false
  return code === undefined || (value as LoaderxError).code === code
}
