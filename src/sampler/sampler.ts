// sampler/: the pure function (seed, step) -> indices. This file: what a sampler is to the user, and what the loader
// reads indices from.

/** The samplers of this package. */
export type SamplerKind = 'sequential' | 'random' | 'shuffle'

/** A sampler of the user's own: any object that has `indicesAt`. */
export interface Sampler {
  /** Shown in error messages; 'custom' when there is none. */
  readonly name?: string
  /**
   * The indices of the whole batch of `step` (0, 1, 2, …), all ranks together: exactly `batchSize` integers from 0 up
   * to the length of the data. It must give the same indices whenever it is asked for the same step, or a replayed or
   * resumed run differs.
   */
  indicesAt(step: number): ArrayLike<number> | ArrayLike<bigint>
}

/** What a loader reads indices from. */
export interface IndexSource {
  readonly name: string
  /** Indices of one step. */
  readonly batchSize: number
  /** Writes the indices of `step` to `into`, which has `batchSize` elements. The order of the steps asked is free. */
  fill(step: number, into: BigUint64Array): void
  /** What another source of the same settings needs to go on at `step` at once; empty when it needs nothing. */
  words(step: number): BigUint64Array
  /** Takes the words that `words(step)` of an equal source gave. */
  resume(step: number, words: BigUint64Array): void
}

/** What the indices of a source depend on, checked. */
export interface SourceSettings {
  /** Number of samples: 1 … 2^64 - 1. */
  readonly length: bigint
  readonly batchSize: number
  /** 0 … 2^64 - 1. */
  readonly seed: bigint
}
