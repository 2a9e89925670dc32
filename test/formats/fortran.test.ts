import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { columnPlaces, fortranBlockRows, placeColumns, planColumns } from '#dist/formats/fortran.js'

describe('planColumns', () => {
  test('reads runs that lie close together with one call, and what is between them', () => {
    expect([...planColumns({ rows: 1000, columns: 6, itemBytes: 2 }, 100, 50)]).toEqual([
      { first: 0, columns: 6, stride: 1000, reads: [{ position: 200, bytes: (5 * 1000 + 50) * 2, at: 0 }] },
    ])
  })

  test('reads runs that lie far apart one by one', () => {
    expect([...planColumns({ rows: 2 ** 20, columns: 2, itemBytes: 4 }, 10, 3)]).toEqual([
      {
        first: 0,
        columns: 2,
        stride: 3,
        reads: [
          { position: 40, bytes: 12, at: 0 },
          { position: 2 ** 22 + 40, bytes: 12, at: 12 },
        ],
      },
    ])
  })

  test('holds at most 4 MiB and a gap at a time, and covers every column once, in order', () => {
    const layouts = fc.record({
      rows: fc.integer({ min: 1, max: 5_000_000 }),
      columns: fc.integer({ min: 1, max: 3000 }),
      itemBytes: fc.constantFrom(1, 2, 3, 8, 16, 400),
    })
    fc.assert(
      fc.property(layouts, fc.nat(), fc.integer({ min: 1, max: 2 ** 28 }), (layout, seed, maxBytes) => {
        const count = Math.min(layout.rows, fortranBlockRows(layout, maxBytes))
        expect(count === 1 || count * layout.columns * layout.itemBytes <= maxBytes).toBe(true)
        const from = seed % (layout.rows - count + 1)
        let column = 0
        for (const piece of planColumns(layout, from, count)) {
          expect(piece.first).toBe(column)
          column += piece.columns
          const end = piece.reads.at(-1)!
          expect(end.at + end.bytes).toBeLessThanOrEqual(2 ** 22 + 2 ** 14 + layout.itemBytes)
          expect(end.position + end.bytes).toBeLessThanOrEqual(layout.rows * layout.columns * layout.itemBytes)
        }
        expect(column).toBe(layout.columns)
      }),
      { numRuns: 50 },
    )
  })
})

test('columnPlaces: the first index runs fastest in the file, the last in the row', () => {
  expect([...columnPlaces([2, 3])]).toEqual([0, 3, 1, 4, 2, 5])
  expect([...columnPlaces([2, 1, 2])]).toEqual([0, 2, 1, 3])
  expect([...columnPlaces([4])]).toEqual([0, 1, 2, 3])
  expect([...columnPlaces([])]).toEqual([0])
})

test('rows of any shape come out in C order, whatever the item and the block', () => {
  const arrays = fc.record({
    shape: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
    extraRows: fc.nat(150),
    itemBytes: fc.constantFrom(1, 2, 3, 4, 6, 8, 16),
    count: fc.integer({ min: 1, max: 100 }),
  })
  fc.assert(
    fc.property(arrays, ({ shape, extraRows, itemBytes, count }) => {
      const rows = shape[0]! + extraRows
      const rowShape = shape.slice(1)
      const columns = rowShape.reduce((a, b) => a * b, 1)
      // Every byte of item (row, column in C order) is known by arithmetic.
      const byte = (row: number, place: number, k: number): number => (row * 31 + place * 7 + k * 3) % 251
      const places = columnPlaces(rowShape)
      const file = new Uint8Array(rows * columns * itemBytes)
      for (let at = 0; at < file.length; at++) {
        const item = Math.floor(at / itemBytes)
        file[at] = byte(item % rows, places[Math.floor(item / rows)]!, at % itemBytes)
      }
      for (let from = 0; from < rows; from += count) {
        const some = Math.min(count, rows - from)
        const block = new Uint8Array(some * columns * itemBytes)
        for (const piece of planColumns({ rows, columns, itemBytes }, from, some)) {
          const scratch = new Uint8Array(piece.columns * piece.stride * itemBytes)
          for (const { position, bytes, at } of piece.reads) scratch.set(file.subarray(position, position + bytes), at)
          placeColumns(block, scratch, piece, places, itemBytes, some)
        }
        const wrong = block.findIndex((value, at) => {
          const item = Math.floor(at / itemBytes)
          return value !== byte(from + Math.floor(item / columns), item % columns, at % itemBytes)
        })
        expect(wrong).toBe(-1)
      }
    }),
  )
})
