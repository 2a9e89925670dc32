// zrecord/: plans as values: where records go, which stretches live, which reads a batch takes.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Entry, encodeEntry } from '#dist/format/entry.js'
import { firstPastFrontier, liveExtents } from '#dist/zrecord/extents.js'
import { placeRecords } from '#dist/zrecord/placement.js'
import { denseEnd, Plan, planReads } from '#dist/zrecord/plan.js'
import { equalRecords, raggedRecords, sliceBlock, sliceSource } from '#dist/zrecord/source.js'
import { roundWindow } from '#dist/zrecord/windows.js'
import { noise } from '../support/bytes.ts'

const CHUNK = 2 ** 32

describe('placing records', () => {
  it('back to back, never over the last byte of a chunk, in runs that cover the block once', () => {
    const place = fc.record({ chunk: fc.nat(4), offset: fc.integer({ min: CHUNK - 5000, max: CHUNK - 1 }) })
    fc.assert(
      fc.property(place, fc.array(fc.integer({ min: 1, max: 2000 }), { maxLength: 20 }), (start, phys) => {
        const { chunks, offsets, runs, next } = placeRecords(start, Uint32Array.from(phys), 'x')
        let at = { ...start }
        let from = 0
        for (const [i, bytes] of phys.entries()) {
          if (at.offset + bytes >= CHUNK) at = { chunk: at.chunk + 1, offset: 0 }
          expect({ chunk: chunks[i], offset: offsets[i] }).toEqual(at)
          const run = runs.find((one) => one.from <= from && from + bytes <= one.from + one.bytes)!
          expect({ chunk: run.chunk, offset: run.offset + from - run.from }).toEqual(at)
          at.offset += bytes
          from += bytes
        }
        expect(next).toEqual(at)
        expect(runs.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(from)
        expect(runs.length).toBeLessThanOrEqual(1 + next.chunk - start.chunk)
      }),
    )
  })

  it('refuses to begin chunk 4096', () => {
    const last = { chunk: 4095, offset: CHUNK - 11 }
    expect(placeRecords(last, Uint32Array.of(10), 'x').next.offset).toBe(CHUNK - 1)
    expect(() => placeRecords(last, Uint32Array.of(11), 'x')).toThrow(
      expect.objectContaining({ code: 'LOADERX_STORE_FULL' }),
    )
  })
})

const entry = fc.record({
  offset: fc.oneof(fc.nat(300_000), fc.nat(CHUNK - 1)),
  phys: fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.nat(2 ** 21)),
  logic: fc.integer({ min: 1, max: 5000 }),
  chunk: fc.nat(3),
  codec: fc.constantFrom(0, 1, 1, 1, 2),
})

function tableOf(entries: readonly Entry[]): DataView {
  const view = new DataView(new ArrayBuffer(16 + 16 * entries.length))
  for (const [i, one] of entries.entries()) encodeEntry(view, 16 + 16 * i, one)
  return view
}

it('live extents hold every sound record, in order, apart, inside the files', () => {
  const limits = [CHUNK - 1, 250_000, 1000]
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 30 }), (entries) => {
      const extents = liveExtents(tableOf(entries), 0, entries.length, limits)
      for (const { chunk, offset, phys, logic, codec } of entries) {
        const sound = codec < 2 && phys > 0 && phys <= 2 ** 20 && (codec === 1 || phys === logic)
        if (!sound || chunk > 2 || offset + phys > limits[chunk]!) continue
        expect(extents.some((one) => one.chunk === chunk && one.from <= offset && offset + phys <= one.to)).toBe(true)
      }
      for (const [i, one] of extents.entries()) {
        expect(one.to).toBeLessThanOrEqual(limits[one.chunk]!)
        const next = extents[i + 1]
        if (next?.chunk === one.chunk) expect(next.from).toBeGreaterThan(one.to)
        else if (next !== undefined) expect(next.chunk).toBeGreaterThan(one.chunk)
      }
    }),
  )
})

it('the first record past the frontier', () => {
  const at = (chunk: number, offset: number): Entry => ({ chunk, offset, phys: 10, logic: 10, codec: 0 })
  const table = tableOf([at(0, 0), at(1, 500), at(1, 90), at(2, 0)])
  expect(firstPastFrontier(table, 4, 2, 10)).toBe(-1)
  expect(firstPastFrontier(table, 4, 2, 9)).toBe(3)
  expect(firstPastFrontier(table, 3, 1, 510)).toBe(-1)
  expect(firstPastFrontier(table, 3, 1, 509)).toBe(1)
  expect(firstPastFrontier(table, 4, 0, 100)).toBe(1)
  expect(firstPastFrontier(table, 0, 0, 0)).toBe(-1)
})

const planOf = (entries: readonly Entry[]): Plan =>
  new Plan(new Uint32Array(tableOf(entries).buffer.slice(16, 16 + 16 * entries.length)))

it('reads of a batch: every record once, in groups of bounded size, none of them overlapping', () => {
  const sound = entry.map((one) => ({ ...one, phys: 1 + (one.phys % 2 ** 20), codec: 1 }))
  fc.assert(
    fc.property(fc.array(sound, { maxLength: 40 }), (entries) => {
      const groups = planReads(planOf(entries))
      const seen = groups.flatMap(({ records }) => records.map(({ position }) => position))
      expect(seen.toSorted((a, b) => a - b)).toEqual(entries.map((_, i) => i))
      for (const { bytes, runs, records } of groups) {
        expect(bytes).toBeLessThan(2 ** 24 + 2 ** 20 + 4096)
        expect(runs.reduce((sum, run) => sum + run.bytes, 0)).toBe(bytes)
        for (const { position, at } of records) {
          const { chunk, offset, phys } = entries[position]!
          const run = runs.find((one) => one.at <= at && at < one.at + one.bytes)!
          expect(run.chunk).toBe(chunk)
          expect(run.offset + at - run.at).toBe(offset)
          expect(at + phys).toBeLessThanOrEqual(run.at + run.bytes)
        }
      }
    }),
  )
})

it('a batch is dense when no byte lies between its records', () => {
  const plan = planOf([4, 4, 4].map((bytes) => ({ chunk: 0, offset: 0, phys: bytes, logic: bytes, codec: 0 })))
  expect(denseEnd(plan, 4)).toBe(12)
  expect(denseEnd(plan, 5)).toBe(-1)
  expect(denseEnd(plan, { offsets: [7, 11, 15] })).toBe(19)
  expect(denseEnd(plan, { offsets: [7, 11, 16] })).toBe(-1)
  expect(denseEnd(plan, { offsets: [11, 7, 15] })).toBe(-1)
})

it('a source is cut into blocks that together are its records', () => {
  const source = noise(4000, 1)
  const piece = fc.record({ from: fc.nat(3900), length: fc.integer({ min: 1, max: 100 }) })
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 30 }),
      fc.integer({ min: 1, max: 500 }),
      fc.boolean(),
      (list, size, fresh) => {
        const ragged = raggedRecords(source, {
          offsets: list.map(({ from }) => from),
          lengths: list.map(({ length }) => length),
        })
        const equal = equalRecords(source, 50)
        for (const records of [ragged, equal]) {
          const all = Buffer.concat(Array.from({ length: records.count }, (_, i) => records.record(i)))
          const slices = sliceSource(records, size)
          const blocks = slices.map((slice) => sliceBlock(records, slice, fresh))
          expect(Buffer.compare(Buffer.concat(blocks.map((block) => block.source)), all)).toBe(0)
          expect(blocks.flatMap(({ lengths }) => [...lengths])).toEqual(
            Array.from({ length: records.count }, (_, i) => records.length(i)),
          )
          for (const { count, bytes } of slices) expect(count === 1 || bytes <= size).toBe(true)
          if (fresh) for (const block of blocks) expect(block.source.buffer).not.toBe(source.buffer)
        }
      },
    ),
  )
})

it('a window is a whole number of pages, at least one, at most what a memory can have', () => {
  expect([1, 65536, 65537, 2 ** 40].map(roundWindow)).toEqual([65536, 65536, 131072, 3 * 2 ** 30])
})
