// sampler/: index k of the stream is k mod length. The batch is a window that goes round: it may hold the last samples
// and the first ones.

import { checkNoWords, checkStep, checkTarget } from './check.ts'
import { fillByBlocks, samplerEngine } from './engine.ts'
import type { IndexSource, SourceSettings } from './sampler.ts'

/** The indices in order, without end. The seed changes nothing. */
export class SequentialSource implements IndexSource {
  readonly name: string = 'sequential'
  readonly batchSize: number
  readonly #length: bigint

  constructor({ length, batchSize }: SourceSettings) {
    this.batchSize = batchSize
    this.#length = length
  }

  fill(step: number, into: BigUint64Array): void {
    checkStep(step)
    checkTarget(into, this.batchSize)
    const engine = samplerEngine()
    const first = BigInt(step) * BigInt(this.batchSize)
    fillByBlocks(engine, into, (count, done) => {
      engine.kernel.sequential(engine.out, count, (first + BigInt(done)) % this.#length, this.#length)
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
