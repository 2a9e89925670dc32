// cli/: how a command ends. This file: exit codes, and what a failure says on the two outputs.

import { isLoaderxError, type LoaderxErrorCode } from '../errors.ts'
import { note, print } from './output.ts'

/** Exit codes; docs/cli.md explains them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, input: 3, interrupted: 130 } as const

/** Codes that say: what was given is not there, or is not something that can be used. Trying again does not help. */
const INPUT: ReadonlySet<LoaderxErrorCode> = new Set<LoaderxErrorCode>([
  'LOADERX_EMPTY_RECORD',
  'LOADERX_INVALID_NPY',
  'LOADERX_INVALID_SCHEMA',
  'LOADERX_NEWER_VERSION',
  'LOADERX_NOT_A_DIRECTORY',
  'LOADERX_NOT_A_STORE',
  'LOADERX_NOT_FOUND',
  'LOADERX_RECORD_TOO_LARGE',
  'LOADERX_SCHEMA_MISMATCH',
  'LOADERX_UNSUPPORTED_DTYPE',
])

/** A failure as a command reports it. */
export interface Failure {
  readonly exit: number
  /** A code of LoaderxError, or INTERRUPTED, or UNEXPECTED. */
  readonly code: string
  readonly message: string
  readonly details: object
  /** What to type next. */
  readonly hint?: string
  readonly cause?: unknown
}

/** Exit code for a failure with `code`. */
export function exitFor(code: LoaderxErrorCode): number {
  if (code === 'LOADERX_INVALID_ARGUMENT') return EXIT.usage
  return INPUT.has(code) ? EXIT.input : EXIT.failed
}

/** What went wrong, by the error that says so. */
export function failureOf(error: unknown): Failure {
  if (isLoaderxError(error)) {
    const { code, message, details } = error
    return { exit: exitFor(code), code, message, details, cause: error }
  }
  const message = `unexpected error: ${error instanceof Error ? error.message : String(error)}; LOADERX_DEBUG=1 shows where`
  return { exit: EXIT.failed, code: 'UNEXPECTED', message, details: {}, cause: error }
}

/** Says what went wrong: a line on standard error, with `json` also an object on standard output. */
export function report(failure: Failure, json: boolean): number {
  const { exit, code, message, details, hint, cause } = failure
  note(`loaderx: ${message} [${code}]`)
  if (hint !== undefined) note(hint)
  if (process.env['LOADERX_DEBUG'] === '1' && cause instanceof Error) note(cause.stack ?? cause.message)
  if (json) print(JSON.stringify({ error: { code, message, details } }, jsonValue, 2))
  return exit
}

/** Details may hold what the caller gave, and JSON has no big integers. */
function jsonValue(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
