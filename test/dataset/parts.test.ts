import { describe, expect, test } from 'vitest'
import { type Part, planParts } from '#dist/dataset/parts.js'

/** Parts of these lengths; a plan looks at nothing else of them. */
function partsOf(...lengths: number[]): Part[] {
  let start = 0
  return lengths.map((length) => {
    const part = { start, length } as Part
    start += length
    return part
  })
}

const plan = (parts: Part[], indices: number[]) =>
  planParts(parts, indices, 'p').map(({ part, indices, positions }) => [
    parts.indexOf(part),
    [...indices],
    [...positions!],
  ])

describe('planParts', () => {
  test('one gather for each part that is asked for, positions kept', () => {
    expect(plan(partsOf(3, 2, 4), [8, 0, 2, 5, 0])).toEqual([
      [0, [0, 2, 0], [1, 2, 4]],
      [2, [3, 0], [0, 3]],
    ])
  })

  test('empty parts hold nothing', () => {
    expect(plan(partsOf(0, 2, 0, 0, 1, 0), [0, 1, 2])).toEqual([
      [1, [0, 1], [0, 1]],
      [4, [0], [2]],
    ])
  })

  test('indices above 2^32 survive', () => {
    const parts = partsOf(...Array.from({ length: 600 }, () => 2 ** 24))
    expect(plan(parts, [2 ** 33 + 5, 600 * 2 ** 24 - 1])).toEqual([
      [512, [5], [0]],
      [599, [2 ** 24 - 1], [1]],
    ])
    expect(() => plan(parts, [600 * 2 ** 24])).toThrow(/index 10066329600 at position 0 is out of range for p/)
  })
})
