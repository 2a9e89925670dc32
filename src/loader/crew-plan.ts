// loader/: what the loader tells its workers when it starts them, and what they send back. Plain data.

import type { MessagePort } from 'node:worker_threads'
import { isLoaderxError, LoaderxError, type LoaderxErrorCode, type LoaderxErrorDetails } from '../errors.ts'
import type { FieldPlan } from './filler.ts'

/**
 * How a field's bytes reach the consumer: through a place in shared memory, or in a buffer of their own that the worker
 * fills and hands over.
 */
type HandOver = 'place' | 'transfer'

/** One field of a crew's work. */
export interface CrewField {
  readonly plan: FieldPlan
  readonly handOver: HandOver
  /** Address of each place in the memory of the field's first part; empty for `transfer`. */
  readonly places: readonly number[]
}

/** What all workers of a crew share. */
export interface CrewPlan {
  readonly batchSize: number
  /** Memory with the indices of each slot, at these addresses; their number is a power of two. */
  readonly indices: WebAssembly.Memory
  readonly indexSlots: readonly number[]
}

/** Data that a worker starts with. */
export interface CrewData extends CrewPlan {
  readonly worker: number
  readonly ring: SharedArrayBuffer
  readonly fields: readonly CrewField[]
  /** Where the worker's messages go, and spare buffers come from. */
  readonly port: MessagePort
}

/** What a worker sends with a filled slot that has transferred fields, or with a failed one. */
export interface CrewMessage {
  readonly slot: number
  /** One for each field with hand-over `transfer`, in the order of the fields. */
  readonly buffers?: readonly ArrayBuffer[]
  readonly error?: PlainError
}

/** An error as data: a structured clone would lose its class and code. */
export interface PlainError {
  readonly message: string
  readonly stack: string | undefined
  readonly code?: LoaderxErrorCode
  readonly details?: LoaderxErrorDetails
  readonly cause?: PlainError
}

export function packError(error: unknown): PlainError {
  if (!(error instanceof Error)) return { message: String(error), stack: undefined }
  const cause = error.cause === undefined ? {} : { cause: packError(error.cause) }
  const coded = isLoaderxError(error) ? { code: error.code, details: error.details } : {}
  return { message: error.message, stack: error.stack, ...coded, ...cause }
}

export function unpackError(plain: PlainError): Error {
  const options = plain.cause === undefined ? {} : { cause: unpackError(plain.cause) }
  const error =
    plain.code === undefined
      ? new Error(plain.message, options)
      : new LoaderxError(plain.code, plain.message, plain.details, options)
  if (plain.stack !== undefined) error.stack = plain.stack
  return error
}
