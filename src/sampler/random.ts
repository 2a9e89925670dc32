// sampler/: every index drawn anew, with replacement: the very stream of the original for the same seed and length.
// Its generator (SFC64) only goes forward, so the source keeps the four words of one step and runs on from there; an
// earlier step starts again from the seed, unless the words of a step are given.

import { LoaderxError } from '../errors.ts'
import { checkStep, checkTarget } from './check.ts'
import { type Engine, fillByBlocks, samplerEngine } from './engine.ts'
import type { IndexSource, SourceSettings } from './sampler.ts'

const WORDS = 4
// After seeding: it starts at 1 and counts the twelve outputs that are thrown away.
const FIRST_COUNTER = 13n

/** The random stream, without end. */
export class RandomSource implements IndexSource {
  readonly name: string = 'random'
  readonly batchSize: number
  readonly #length: bigint
  readonly #seed: bigint
  readonly #words: BigUint64Array = new BigUint64Array(WORDS)
  /** The step that #words belong to; -1 before the first use. */
  #step = -1

  constructor({ length, batchSize, seed }: SourceSettings) {
    this.batchSize = batchSize
    this.#length = length
    this.#seed = seed
  }

  fill(step: number, into: BigUint64Array): void {
    checkStep(step)
    checkTarget(into, this.batchSize)
    const engine = this.#seek(step)
    fillByBlocks(engine, into, (count) => {
      engine.kernel.random(engine.state, engine.out, count, this.#length)
    })
    this.#keep(engine, step + 1)
  }

  words(step: number): BigUint64Array {
    checkStep(step)
    this.#keep(this.#seek(step), step)
    return this.#words.slice()
  }

  resume(step: number, words: BigUint64Array): void {
    checkStep(step)
    const counter = BigInt.asUintN(64, FIRST_COUNTER + BigInt(step) * BigInt(this.batchSize))
    if (words.length !== WORDS || words[3] !== counter) {
      throw new LoaderxError(
        'LOADERX_INVALID_ARGUMENT',
        `the ${words.length} words given are not those of the random sampler at step ${step} with batchSize ${this.batchSize}: resume with the batch size and step they were taken at`,
        { step, expected: counter, actual: words[3] },
      )
    }
    this.#words.set(words)
    this.#step = step
  }

  // Leaves the state of the start of `step` in the engine.
  #seek(step: number): Engine {
    const engine = samplerEngine()
    if (this.#step < 0 || step < this.#step) {
      engine.kernel.randomSeed(engine.state, this.#seed)
      this.#step = 0
    } else {
      engine.words.set(this.#words)
    }
    if (step > this.#step) engine.kernel.randomSkip(engine.state, BigInt(step - this.#step) * BigInt(this.batchSize))
    return engine
  }

  #keep(engine: Engine, step: number): void {
    this.#words.set(engine.words)
    this.#step = step
  }
}
