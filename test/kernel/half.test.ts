// float16: every value there and back, and every rounding boundary, against what the values themselves say.
import { expect, it } from 'vitest'
import { CAST_SCRATCH_BYTES, CAST_TYPES } from '#dist/kernel/layout.js'
import { bytesAt, kernels, viewAt } from '../support/kernels.ts'

const { float16, float32, float64 } = CAST_TYPES
const SCRATCH = 65536
const SOURCE: number = SCRATCH + CAST_SCRATCH_BYTES
const TARGET: number = SOURCE + 65536 * 8

/** All positive finite float16 in order, by their definition. */
const values: readonly number[] = Array.from({ length: 0x7c00 }, (_, half) => {
  const exponent = half >> 10
  return exponent === 0 ? half * 2 ** -24 : (1024 + (half & 1023)) * 2 ** (exponent - 25)
})

/** The float16 of `doubles` by `kernel`. */
function halves(kernel: (typeof kernels)[keyof typeof kernels], doubles: readonly number[]): number[] {
  const source = viewAt(SOURCE)
  for (const [i, value] of doubles.entries()) source.setFloat64(i * 8, value, true)
  expect(kernel.cast(SOURCE, float64, TARGET, float16, doubles.length, SCRATCH)).toBe(-1)
  const target = viewAt(TARGET)
  return doubles.map((_, i) => target.getUint16(i * 2, true))
}

/** The float64 next to positive `value`. */
function neighbour(value: number, step: bigint): number {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  view.setBigInt64(0, view.getBigInt64(0) + step)
  return view.getFloat64(0)
}

it.each(Object.entries(kernels))('reads all 65536 of them right (%s)', (_, kernel) => {
  const source = viewAt(SOURCE)
  for (let half = 0; half < 65536; half++) source.setUint16(half * 2, half, true)
  expect(kernel.cast(SOURCE, float16, TARGET, float64, 65536, SCRATCH)).toBe(-1)
  const target = viewAt(TARGET)
  const wrong: number[] = []
  for (let half = 0; half < 65536; half++) {
    const size = half & 0x7fff
    const expected = size < 0x7c00 ? values[size]! : size === 0x7c00 ? Number.POSITIVE_INFINITY : Number.NaN
    if (!Object.is(target.getFloat64(half * 8, true), half < 32768 || size > 0x7c00 ? expected : -expected)) {
      wrong.push(half)
    }
  }
  expect(wrong).toEqual([])
})

it.each(Object.entries(kernels))('rounds to nearest, ties to even, at every boundary (%s)', (_, kernel) => {
  const ties = values.map((value, half) => (half + 1 < values.length ? (value + values[half + 1]!) / 2 : 65520))
  expect(halves(kernel, values)).toEqual(values.map((_, half) => half))
  expect(halves(kernel, ties)).toEqual(values.map((_, half) => half + (half & 1)))
  expect(
    halves(
      kernel,
      ties.map((tie) => neighbour(tie, -1n)),
    ),
  ).toEqual(values.map((_, half) => half))
  expect(
    halves(
      kernel,
      ties.map((tie) => neighbour(tie, 1n)),
    ),
  ).toEqual(values.map((_, half) => half + 1))
  expect(
    halves(
      kernel,
      ties.map((tie) => -tie),
    ),
  ).toEqual(values.map((_, half) => 0x8000 + half + (half & 1)))
})

it.each(Object.entries(kernels))('keeps signs, infinities and one NaN (%s)', (_, kernel) => {
  const doubles = [0, -0, Infinity, -Infinity, Number.NaN, 65519.99, 65520, 1e300, -1e300, 5e-324, -5e-324]
  const expected = [0, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x7bff, 0x7c00, 0x7c00, 0xfc00, 0, 0x8000]
  expect(halves(kernel, doubles)).toEqual(expected)
})

it.each(Object.entries(kernels))('rounds once: by way of float32 this one would go up (%s)', (_, kernel) => {
  // 1 + 2^-11 + 2^-40 is above the tie of 1 and 1 + 2^-10; as a float32 it is that tie, which goes to even.
  const value = 1 + 2 ** -11 + 2 ** -40
  expect(halves(kernel, [value])).toEqual([0x3c01])
  expect(halves(kernel, [Math.fround(value)])).toEqual([0x3c00])
  viewAt(SOURCE).setFloat32(0, 1 + 2 ** -11, true)
  kernel.cast(SOURCE, float32, TARGET, float16, 1, SCRATCH)
  expect([...bytesAt(TARGET, 2)]).toEqual([0x00, 0x3c])
})
