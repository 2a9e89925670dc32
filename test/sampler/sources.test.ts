// The three samplers as pure functions of the step: any order of steps, any batch size, resumed or not.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSampler } from '#dist/sampler/create.js'
import type { IndexSource, SamplerKind } from '#dist/sampler/sampler.js'

const KINDS: readonly SamplerKind[] = ['sequential', 'random', 'shuffle']

function batch(source: IndexSource, step: number): bigint[] {
  const into = new BigUint64Array(source.batchSize)
  source.fill(step, into)
  return [...into]
}

/** The first `count` indices of a stream. */
function stream(kind: SamplerKind, length: number | bigint, seed: number | bigint, count: number): bigint[] {
  return batch(createSampler(kind, { length, batchSize: count, seed }), 0)
}

describe.each(KINDS)('%s', (kind) => {
  it('is a pure function of the step: any order of steps gives the stream', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 70n }),
        fc.integer({ min: 1, max: 20 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        fc.array(fc.nat(30), { maxLength: 12 }),
        (length, batchSize, seed, steps) => {
          const whole = stream(kind, length, seed, 31 * batchSize)
          const source = createSampler(kind, { length, batchSize, seed })
          for (const step of steps) {
            expect(batch(source, step)).toEqual(whole.slice(step * batchSize, (step + 1) * batchSize))
          }
        },
      ),
      { numRuns: 200 },
    )
  })

  it('does not depend on the batch size, also when a batch is larger than one call of the kernel', () => {
    const whole = stream(kind, 60_000, 3, 20_000)
    const source = createSampler(kind, { length: 60_000, batchSize: 5000, seed: 3 })
    expect([0, 1, 2, 3].flatMap((step) => batch(source, step))).toEqual(whole)
    expect(new Set(whole.map(Number)).size).toBeGreaterThan(15_000)
  })

  it('is not disturbed by other sources', () => {
    const one = createSampler(kind, { length: 50, batchSize: 7, seed: 1 })
    const others = KINDS.map((other) => createSampler(other, { length: 1000, batchSize: 7, seed: 2 }))
    const whole = stream(kind, 50, 1, 70)
    for (let step = 0; step < 10; step++) {
      for (const other of others) batch(other, step)
      expect(batch(one, step)).toEqual(whole.slice(step * 7, step * 7 + 7))
    }
  })

  it('goes on at once from the words of a step', () => {
    const first = createSampler(kind, { length: 1000, batchSize: 16, seed: 42 })
    const words = first.words(1000)
    expect(words.length).toBe(kind === 'random' ? 4 : 0)
    const second = createSampler(kind, { length: 1000, batchSize: 16, seed: 42 })
    second.resume(1000, words)
    expect(batch(second, 1000)).toEqual(batch(first, 1000))
    expect(batch(second, 1001)).toEqual(batch(first, 1001))
    expect(second.words(1003)).toEqual(first.words(1003))
    expect(batch(second, 3)).toEqual(batch(first, 3))
  })

  it('has its name and batch size', () => {
    expect(createSampler(kind, { length: 3, batchSize: 5, seed: 0 })).toMatchObject({ name: kind, batchSize: 5 })
  })
})

describe('sequential', () => {
  it('goes round: last and first samples share a batch', () => {
    const source = createSampler('sequential', { length: 5, batchSize: 3, seed: 0 })
    expect([0, 1, 2, 3].map((step) => batch(source, step).map(Number))).toEqual([
      [0, 1, 2],
      [3, 4, 0],
      [1, 2, 3],
      [4, 0, 1],
    ])
  })

  it('is there at once at any step, indices above 2^53 included', () => {
    const step = Number.MAX_SAFE_INTEGER
    const source = createSampler('sequential', { length: 2n ** 64n - 1n, batchSize: 3000, seed: 0 })
    expect(batch(source, step)[1]).toBe((BigInt(step) * 3000n + 1n) % (2n ** 64n - 1n))
    const near = createSampler('sequential', { length: 2n ** 64n - 1n, batchSize: 2 ** 13, seed: 0 })
    const last = batch(near, 2 ** 51 - 1)
    expect(last.slice(-2)).toEqual([2n ** 64n - 2n, 0n])
  })
})

describe('random', () => {
  it('depends on the seed and repeats samples', () => {
    expect(stream('random', 1000, 1, 50)).not.toEqual(stream('random', 1000, 2, 50))
    expect(stream('random', 1000, 7, 50)).toEqual(stream('random', 1000, 7n, 50))
    expect(new Set(stream('random', 10, 1, 10)).size).toBeLessThan(10)
  })

  it('runs forward to a far step', () => {
    const source = createSampler('random', { length: 60_000, batchSize: 256, seed: 42 })
    const far = batch(source, 20_000)
    const near = createSampler('random', { length: 60_000, batchSize: 256, seed: 42 })
    for (let step = 0; step < 20_000; step++) near.fill(step, new BigUint64Array(256))
    expect(batch(near, 20_000)).toEqual(far)
  })
})

describe('shuffle', () => {
  it.each([...Array.from({ length: 200 }, (_, i) => i + 1), 4095, 4096, 32_768, 32_769, 65_536, 100_003, 1_048_577])(
    'of %d samples holds each once a pass',
    (length) => {
      const passes = length > 200 ? 2 : 4
      const indices = stream('shuffle', length, 5, length * passes)
      for (let pass = 0; pass < passes; pass++) {
        const seen = new Uint8Array(length)
        for (const index of indices.slice(pass * length, (pass + 1) * length)) seen[Number(index)]!++
        expect(seen.every((times) => times === 1)).toBe(true)
      }
      if (length > 20) expect(indices.slice(0, length)).not.toEqual(indices.slice(length, 2 * length))
    },
  )

  it('spans passes within a batch, several of them too', () => {
    const whole = stream('shuffle', 10, 8, 100)
    const source = createSampler('shuffle', { length: 10, batchSize: 25, seed: 8 })
    for (let step = 0; step < 4; step++) expect(batch(source, step)).toEqual(whole.slice(step * 25, step * 25 + 25))
  })

  it('is there at once at any step and for lengths above 2^53', () => {
    const source = createSampler('shuffle', { length: 60_000, batchSize: 250, seed: 1 })
    const pass = [...Array(240).keys()].flatMap((i) => batch(source, 1e9 * 240 + i))
    expect(new Set(pass).size).toBe(60_000)
    const wide = createSampler('shuffle', { length: 2n ** 60n + 3n, batchSize: 1000, seed: 1 })
    const indices = batch(wide, Number.MAX_SAFE_INTEGER)
    expect(new Set(indices).size).toBe(1000)
    expect(indices.every((index) => index < 2n ** 60n + 3n)).toBe(true)
    expect(indices.some((index) => index > 2n ** 53n)).toBe(true)
  })

  it('depends on the seed', () => {
    expect(stream('shuffle', 1000, 1, 50)).not.toEqual(stream('shuffle', 1000, 2, 50))
    expect(stream('shuffle', 1000, 1, 50)).not.toEqual(stream('shuffle', 1000, 2n ** 64n - 1n, 50))
  })
})
