import fc from 'fast-check'
import { isLoaderxError, ndarray } from 'loaderx'
import { describe, expect, test } from 'vitest'
import { indexFromEnd, type SampleIndices, sliceIndices, toIndices } from '#dist/dataset/indexing.js'

function refusal(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (isLoaderxError(error)) return `${error.code} ${error.message}`
    throw error
  }
  return 'accepted'
}

describe('sliceIndices', () => {
  // Rows made with Python: list(range(10))[start:stop:step]
  test.each([
    [10, undefined, undefined, 1, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]],
    [10, undefined, undefined, -1, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]],
    [10, 2, 5, 1, [2, 3, 4]],
    [10, -3, undefined, 1, [7, 8, 9]],
    [10, undefined, -8, 1, [0, 1]],
    [10, -20, 2, 1, [0, 1]],
    [10, 8, 20, 1, [8, 9]],
    [10, 5, 2, 1, []],
    [10, 1, 9, 3, [1, 4, 7]],
    [10, 5, 2, -1, [5, 4, 3]],
    [10, 20, -20, -4, [9, 5, 1]],
    [10, 2, undefined, -1, [2, 1, 0]],
    [10, undefined, 7, -1, [9, 8]],
    [10, 3, -1, -1, []],
    [0, undefined, undefined, -1, []],
    [0, -1, 1, 1, []],
  ])('of %d [%s:%s:%s]', (length, start, stop, step, expected) => {
    expect([...sliceIndices(length, start, stop, step)]).toEqual(expected)
  })

  test('steps forwards as Array.slice does', () => {
    const bound = fc.option(fc.integer({ min: -30, max: 30 }), { nil: undefined })
    fc.assert(
      fc.property(fc.nat(20), bound, bound, fc.integer({ min: 1, max: 7 }), (length, start, stop, step) => {
        const all = Array.from({ length }, (_, i) => i)
        const expected = all.slice(start, stop).filter((_, i) => i % step === 0)
        expect([...sliceIndices(length, start, stop, step)]).toEqual(expected)
        // Backwards it visits what the definition of Python says: from start down to, without, stop.
        const down = [...sliceIndices(length, start, stop, -step)]
        const at = (value: number | undefined, none: number) =>
          value === undefined ? none : Math.min(length - 1, Math.max(-1, value < 0 ? value + length : value))
        const byHand: number[] = []
        for (let i = at(start, length - 1); i > at(stop, -1); i -= step) byHand.push(i)
        expect(down).toEqual(byHand)
      }),
    )
  })

  test('refuses step 0 and fractions', () => {
    expect(refusal(() => sliceIndices(5, 0, 5, 0))).toMatch(/^LOADERX_INVALID_ARGUMENT the step of a slice is 0/)
    expect(refusal(() => sliceIndices(5, 0.5, 5, 1))).toMatch(/^LOADERX_INVALID_INDEX start of the slice is 0.5/)
    expect(refusal(() => sliceIndices(5, 0, Number.NaN, 1))).toMatch(/stop of the slice is NaN/)
    expect(refusal(() => sliceIndices(5, 0, 5, '1' as unknown as number))).toMatch(/step of the slice is 1/)
  })
})

test('indexFromEnd', () => {
  expect([0, 4, -1, -5].map((at) => indexFromEnd(at, 5, 'p'))).toEqual([0, 4, 4, 0])
  expect(indexFromEnd(-1, 2 ** 40, 'p')).toBe(2 ** 40 - 1)
  expect(refusal(() => indexFromEnd(5, 5, 'p'))).toMatch(
    /^LOADERX_INDEX_OUT_OF_RANGE index 5 is out of range for p: its samples are 0 … 4, or -5 … -1/,
  )
  expect(refusal(() => indexFromEnd(-6, 5, 'p'))).toMatch(/^LOADERX_INDEX_OUT_OF_RANGE index -6/)
  expect(refusal(() => indexFromEnd(0, 0, 'p'))).toMatch(/it is empty/)
  expect(refusal(() => indexFromEnd(1.5, 5, 'p'))).toMatch(/^LOADERX_INVALID_INDEX .*1\.5/)
  expect(refusal(() => indexFromEnd(1n as unknown as number, 5, 'p'))).toMatch(/^LOADERX_INVALID_INDEX/)
})

describe('toIndices', () => {
  const list = (samples: unknown): number[] =>
    Array.from(toIndices(samples as SampleIndices, () => 4) as ArrayLike<number>)

  test('masks, lists, typed arrays and arrays', () => {
    expect(list([true, false, false, true])).toEqual([0, 3])
    expect(list([false, false, false, false])).toEqual([])
    expect(list(ndarray('bool', [4], Uint8Array.of(0, 1, 1, 0)))).toEqual([1, 2])
    expect(list([3, 3, 0])).toEqual([3, 3, 0])
    expect(list([])).toEqual([])
    expect(list(Uint8Array.of(1, 0, 1, 1))).toEqual([1, 0, 1, 1])
    expect(list(ndarray('int32', [2], Int32Array.of(2, 1)))).toEqual([2, 1])
  })

  test.each<[string, unknown, RegExp]>([
    ['a mask that is too short', [true], /^LOADERX_LENGTH_MISMATCH the mask has 1 booleans, but the dataset has 4/],
    ['a mask that is too long', ndarray('bool', [5], new Uint8Array(5)), /^LOADERX_LENGTH_MISMATCH the mask has 5/],
    ['a mask with a number', [true, false, 2, false], /^LOADERX_INVALID_INDEX the mask has 2 at position 2/],
    [
      'an array of two dimensions',
      ndarray('int32', [1, 2], Int32Array.of(2, 1)),
      /^LOADERX_INVALID_ARGUMENT .*\[1, 2\]/,
    ],
    ['a number', 3, /the indices are a number/],
    ['nothing', undefined, /the indices are a undefined/],
    ['null', null, /the indices are a null/],
    ['a set', new Set([1]), /the indices are a object/],
    ['a DataView', new DataView(new ArrayBuffer(4)), /the indices are a object/],
  ])('refuses %s', (_, samples, message) => {
    expect(refusal(() => list(samples))).toMatch(message)
  })
})
