// sampler/: from what the user names or gives to the source that a loader reads.

import { LoaderxError } from '../errors.ts'
import { checkSettings, shown } from './check.ts'
import { CustomSource } from './custom.ts'
import { RandomSource } from './random.ts'
import type { IndexSource, Sampler, SamplerKind, SourceSettings } from './sampler.ts'
import { SequentialSource } from './sequential.ts'
import { ShuffleSource } from './shuffle.ts'

const KINDS: Readonly<Record<SamplerKind, new (settings: SourceSettings) => IndexSource>> = {
  sequential: SequentialSource,
  random: RandomSource,
  shuffle: ShuffleSource,
}

/** What {@link createSampler} needs to know of the data and the loader. */
export interface SamplerOptions {
  /** Number of samples, at least 1. */
  readonly length: number | bigint
  /** Indices of a step, of all ranks together; at least 1. */
  readonly batchSize: number
  /** A safe integer from 0 on, or a bigint below 2^64. */
  readonly seed: number | bigint
}

/**
 * The source of a loader's indices.
 * @throws LOADERX_EMPTY_DATASET when the length is 0; LOADERX_INVALID_ARGUMENT when the sampler is neither one of the
 *   three names nor an object with `indicesAt`, or an option is out of its range
 */
export function createSampler(sampler: SamplerKind | Sampler, options: SamplerOptions): IndexSource {
  const settings = checkSettings(options.length, options.batchSize, options.seed)
  if (typeof sampler === 'string' && Object.hasOwn(KINDS, sampler)) return new KINDS[sampler](settings)
  if (typeof sampler === 'object' && typeof sampler?.indicesAt === 'function')
    return new CustomSource(sampler, settings)
  throw new LoaderxError(
    'LOADERX_INVALID_ARGUMENT',
    `sampler ${shown(sampler)} is unknown: give ${Object.keys(KINDS).join(', ')}, or an object with indicesAt(step)`,
    { expected: Object.keys(KINDS), actual: sampler },
  )
}
