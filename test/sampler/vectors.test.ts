// The index streams of the original, as its own package wrote them: sequential and random, cut into batches.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createSampler } from '#dist/sampler/create.js'

interface Vector {
  readonly length: string
  readonly batch: number
  readonly mode: number
  readonly seed: string
  readonly first32: readonly string[]
  readonly sha256_first_1000000_u64le: string
}

const TOTAL = 1_000_000
const file = new URL('../vectors/sampler-vectors.json', import.meta.url)
const { vectors } = JSON.parse(readFileSync(file, 'utf8')) as { vectors: readonly Vector[] }

it('are all there', () => {
  expect(vectors.length).toBe(32)
})

describe.each(vectors)('length $length, batch $batch, mode $mode, seed $seed', (vector) => {
  it('gives the first million indices', () => {
    const source = createSampler(vector.mode === 0 ? 'sequential' : 'random', {
      length: BigInt(vector.length),
      batchSize: vector.batch,
      seed: BigInt(vector.seed),
    })
    const steps = Math.ceil(TOTAL / vector.batch)
    const stream = new BigUint64Array(steps * vector.batch)
    for (let step = 0; step < steps; step++) {
      source.fill(step, stream.subarray(step * vector.batch, (step + 1) * vector.batch))
    }
    expect(Array.from(stream.subarray(0, 32), String)).toEqual(vector.first32)
    const hash = createHash('sha256').update(stream.subarray(0, TOTAL)).digest('hex')
    expect(hash).toBe(vector.sha256_first_1000000_u64le)
  })
})
