// loader/: a loader's options, checked and completed before anything is started. Pure.

import { LoaderxError } from '../errors.ts'
import { shown } from '../sampler/check.ts'
import type { Sampler, SamplerKind } from '../sampler/sampler.ts'

/** Options of a DataLoader. */
export interface LoaderOptions<In = unknown, Out = In> {
  /** Samples in a batch. Default 256. */
  readonly batchSize?: number
  /**
   * Order of the samples: `'random'` draws with replacement (the very indices of Python's loaderx for the same seed),
   * `'shuffle'` gives every sample once a pass, `'sequential'` counts up; or an object of your own. Default `'random'`.
   */
  readonly sampler?: SamplerKind | Sampler
  /** Seed of the order: a safe integer from 0 on, or a bigint below 2^64. Default 42. */
  readonly seed?: number | bigint
  /**
   * Threads that fill batches ahead: a number, 0 to fill each batch in the calling thread when it is asked for, or
   * `'auto'`: 0 where a batch is filled faster than a thread is woken. Default `'auto'`. The batches are the same
   * whatever the number.
   */
  readonly workers?: number | 'auto'
  /** The most batches that workers fill ahead of the consumer. Default 4, or 2 for each worker if that is more. */
  readonly prefetch?: number
  /** The most bytes that batches filled ahead may take; at least one batch is filled all the same. Default 256 MiB. */
  readonly prefetchBytes?: number
  /**
   * Who has a batch's memory. `'owned'` (default): the consumer, for as long as it likes. `'shared'`: views of the
   * memory that workers fill, without a copy, valid until the batch is released; at most `prefetch` + 1 batches may be
   * held at a time. A batch that is held keeps its bytes when the loader ends or the datasets are closed.
   */
  readonly ownership?: 'owned' | 'shared'
  /**
   * Called with each batch in the consumer's thread, in order; what it returns (or resolves to) is yielded instead. When
   * it throws, the batch is released and counts as not delivered: iterating again begins with it.
   */
  readonly transform?: (batch: In) => Out | Promise<Out>
  /** Closes the loader; whoever waits for a batch, or asks for one later, gets the signal's reason. */
  readonly signal?: AbortSignal
}

/** Options with every default filled in. */
export interface LoaderSettings {
  readonly batchSize: number
  readonly sampler: SamplerKind | Sampler
  readonly seed: number | bigint
  readonly workers: number | 'auto'
  readonly prefetch: number | undefined
  readonly prefetchBytes: number
  readonly ownership: 'owned' | 'shared'
  readonly transform: ((batch: unknown) => unknown) | undefined
  readonly signal: AbortSignal | undefined
}

const KNOWN = [
  'batchSize',
  'sampler',
  'seed',
  'workers',
  'prefetch',
  'prefetchBytes',
  'ownership',
  'transform',
  'signal',
]
const MOST_SAMPLES = 2 ** 24
const MOST_WORKERS = 64
const MOST_PREFETCH = 1024

function refuse(option: string, value: unknown, wanted: string): LoaderxError {
  const actual = typeof value === 'bigint' ? `${value}n` : shown(value)
  const message = `${option} is ${actual}; give ${wanted}`
  return new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { expected: wanted, actual: value })
}

function checkCount(option: string, value: unknown, least: number, most: number): void {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return
  throw refuse(option, value, `a whole number from ${least} to ${most}`)
}

/** @throws LOADERX_INVALID_ARGUMENT naming the option, its value and what may be given */
export function settleOptions(options: LoaderOptions<never, unknown>): LoaderSettings {
  if (typeof options !== 'object' || options === null) {
    throw refuse('the last argument', options, 'an object with options')
  }
  const unknown = Object.keys(options).find((name) => !KNOWN.includes(name))
  if (unknown !== undefined) {
    const message = `a loader has no option ${JSON.stringify(unknown)}; it has ${KNOWN.join(', ')}`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { expected: KNOWN, actual: unknown })
  }
  const {
    batchSize = 256,
    sampler = 'random',
    seed = 42,
    workers = 'auto',
    prefetch,
    prefetchBytes = 256 * 2 ** 20,
    ownership = 'owned',
    transform,
    signal,
  } = options
  checkCount('batchSize', batchSize, 1, MOST_SAMPLES)
  if (workers !== 'auto') checkCount("workers (a number, or 'auto')", workers, 0, MOST_WORKERS)
  if (prefetch !== undefined) checkCount('prefetch', prefetch, 1, MOST_PREFETCH)
  checkCount('prefetchBytes', prefetchBytes, 1, Number.MAX_SAFE_INTEGER)
  if (ownership !== 'owned' && ownership !== 'shared') throw refuse('ownership', ownership, "'owned' or 'shared'")
  if (transform !== undefined && typeof transform !== 'function') throw refuse('transform', transform, 'a function')
  if (signal !== undefined && typeof (signal as AbortSignal | null)?.throwIfAborted !== 'function') {
    throw refuse('signal', signal, 'an AbortSignal')
  }
  return {
    batchSize,
    sampler,
    seed,
    workers,
    prefetch,
    prefetchBytes,
    ownership,
    transform: transform as ((batch: unknown) => unknown) | undefined,
    signal,
  }
}

/** How many batches may be filled ahead, and how many places hold them and those that the consumer has. */
export function planSize(
  settings: Pick<LoaderSettings, 'prefetch' | 'prefetchBytes' | 'ownership'>,
  workers: number,
  batchBytes: number,
): { readonly ahead: number; readonly places: number } {
  const wanted = settings.prefetch ?? Math.max(4, 2 * workers)
  const ahead = Math.max(1, Math.min(wanted, Math.floor(settings.prefetchBytes / batchBytes)))
  // Owned batches leave their place when they are delivered.
  return { ahead, places: settings.ownership === 'shared' ? ahead + 1 : ahead }
}
