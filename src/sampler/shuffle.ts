// sampler/: every sample once a pass, each pass in another order. Index k of the stream is at place k mod length of
// the permutation of pass k / length; a batch may span passes. Any step costs the same.

import { checkNoWords, checkStep, checkTarget } from './check.ts'
import { fillByBlocks, samplerEngine } from './engine.ts'
import type { IndexSource, SourceSettings } from './sampler.ts'

/** The shuffled stream, without end. */
export class ShuffleSource implements IndexSource {
  readonly name: string = 'shuffle'
  readonly batchSize: number
  readonly #length: bigint
  readonly #seed: bigint

  constructor({ length, batchSize, seed }: SourceSettings) {
    this.batchSize = batchSize
    this.#length = length
    this.#seed = seed
  }

  fill(step: number, into: BigUint64Array): void {
    checkStep(step)
    checkTarget(into, this.batchSize)
    const engine = samplerEngine()
    const first = BigInt(step) * BigInt(this.batchSize)
    fillByBlocks(engine, into, (count, done) => {
      const position = first + BigInt(done)
      const pass = position / this.#length
      const place = position - pass * this.#length
      engine.kernel.shuffle(engine.out, count, pass, place, this.#length, this.#seed, engine.keys)
    })
  }

  words(step: number): BigUint64Array {
    checkStep(step)
    return new BigUint64Array(0)
  }

  resume(step: number, words: BigUint64Array): void {
    checkStep(step)
    checkNoWords(this.name, words)
  }
}
