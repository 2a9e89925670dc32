// The index streams: kernel and twin agree, and the random one is the original's (see also test/sampler).
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RANDOM_STATE_BYTES, SHUFFLE_KEY_BYTES } from '#dist/kernel/layout.js'
import { bytesAt, kernels, ORIGINS, runAll, viewAt } from '../support/kernels.ts'

const word = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
/** Short and long ones, and those beside a power of two. */
const length = fc.oneof(
  fc.bigInt({ min: 1n, max: 40n }),
  // Beside the limit of the two-multiplication form of the random stream.
  fc.bigInt({ min: 2n ** 31n, max: 2n ** 33n }),
  fc
    .tuple(fc.nat(64), fc.integer({ min: -1, max: 1 }))
    .map(([power, add]) => 2n ** BigInt(power) + BigInt(add))
    .filter((value) => value >= 1n && value < 2n ** 64n),
  word.map((value) => value || 1n),
)
const count = fc.nat(60)

/** The `n` indices that an outcome holds from byte `at`. */
const indices = (bytes: Buffer, n: number, at = 0): bigint[] =>
  Array.from({ length: n }, (_, i) => bytes.readBigUInt64LE(at + i * 8))

it('sequential counts round the length', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ORIGINS), word, length, count, (origin, position, size, n) => {
      const { bytes } = runAll(
        origin,
        n * 8 + 8,
        () => {},
        (kernel) => kernel.sequential(origin, n, position, size),
      )
      expect(indices(bytes, n)).toEqual(Array.from({ length: n }, (_, i) => ((position % size) + BigInt(i)) % size))
      expect(bytes.readBigUInt64LE(n * 8)).toBe(0xa5a5a5a5a5a5a5a5n)
    }),
    { numRuns: 200 },
  )
})

it('random draws the same in kernel and twin, in one call or two, and skips what it would have drawn', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ORIGINS), word, length, count, count, (origin, seed, size, skip, n) => {
      const out = origin + RANDOM_STATE_BYTES
      const run = (draw: (kernel: (typeof kernels)['simd']) => void): Buffer =>
        runAll(
          origin,
          RANDOM_STATE_BYTES + (skip + n) * 8,
          () => {},
          (kernel) => {
            kernel.randomSeed(origin, seed)
            draw(kernel)
          },
        ).bytes
      const whole = run((kernel) => kernel.random(origin, out, skip + n, size))
      const parts = run((kernel) => {
        kernel.random(origin, out, skip, size)
        kernel.random(origin, out + skip * 8, n, size)
      })
      const skipped = run((kernel) => {
        kernel.randomSkip(origin, BigInt(skip))
        kernel.random(origin, out, n, size)
      })
      expect(parts.equals(whole)).toBe(true)
      expect(indices(skipped, n, RANDOM_STATE_BYTES)).toEqual(indices(whole, n, RANDOM_STATE_BYTES + skip * 8))
      expect(indices(skipped, 4)).toEqual(indices(whole, 4))
      expect(indices(whole, 4)[3]).toBe(BigInt(13 + skip + n))
    }),
    { numRuns: 100 },
  )
})

it('shuffle gives the same in kernel and twin, from any place and across passes', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ORIGINS),
      fc.record({ pass: word, place: word, length, seed: word, n: count, cut: fc.nat() }),
      (origin, { pass, place, length: size, seed, n, cut }) => {
        const start = place % size
        const out = origin + SHUFFLE_KEY_BYTES
        const head = cut % (n + 1)
        const run = (draw: (kernel: (typeof kernels)['simd']) => void): Buffer =>
          runAll(
            origin,
            SHUFFLE_KEY_BYTES + n * 8,
            () => {},
            (kernel) => {
              draw(kernel)
              bytesAt(origin, SHUFFLE_KEY_BYTES).fill(0)
            },
          ).bytes.subarray(SHUFFLE_KEY_BYTES)
        const whole = run((kernel) => kernel.shuffle(out, n, pass, start, size, seed, origin))
        const parts = run((kernel) => {
          kernel.shuffle(out, head, pass, start, size, seed, origin)
          const at = start + BigInt(head)
          kernel.shuffle(out + head * 8, n - head, pass + at / size, at % size, size, seed, origin)
        })
        expect(parts.equals(whole)).toBe(true)
        expect(indices(whole, n).every((index) => index < size)).toBe(true)
        if (start + BigInt(n) <= size) expect(new Set(indices(whole, n)).size).toBe(n)
      },
    ),
    { numRuns: 150 },
  )
})

it.each(Object.entries(kernels))('shuffle has not changed since it was published (%s)', (_, kernel) => {
  // A run that is resumed under a newer release must go on as it began.
  const first = (size: bigint, seed: bigint, pass: bigint, n: number): string => {
    kernel.shuffle(70000, n, pass, 0n, size, seed, 65536)
    return Array.from({ length: n }, (_, i) => viewAt(70000).getBigUint64(i * 8, true)).join(' ')
  }
  expect(first(10n, 42n, 0n, 20)).toBe('3 7 0 4 5 1 9 2 6 8 8 3 1 4 5 2 0 6 9 7')
  expect(first(60000n, 42n, 0n, 8)).toBe('50001 26841 57562 44061 6979 6476 38332 11019')
  expect(first(2n ** 53n, 2n ** 64n - 1n, 7n, 4)).toBe(
    '5149240732784667 305577746393862 8958835957675785 3640019685315383',
  )
})
