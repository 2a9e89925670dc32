// The checked gather: kernel and twin agree on any table, and a resolved plan reads nothing that entryFault refuses.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEntry, type Entry, encodeEntry, entryFault } from '#dist/format/entry.js'
import { bytesAt, kernels, ORIGINS, runAll, viewAt } from '../support/kernels.ts'

const CHUNK_BYTES = 3000
const content = Uint8Array.from({ length: CHUNK_BYTES }, (_, i) => (i * 131) >> 3)
const uint = (bits: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: 2 ** bits - 1 })

/** Any 16 bytes as an entry. */
const hostile: fc.Arbitrary<Entry> = fc.record({
  offset: uint(32),
  phys: uint(32),
  logic: uint(32),
  chunk: uint(16),
  codec: uint(8),
})
/** An entry that may be followed when the limits are those of whole chunks. */
const good: fc.Arbitrary<Entry> = fc
  .record({
    offset: fc.nat(CHUNK_BYTES - 60),
    logic: fc.integer({ min: 20, max: 60 }),
    chunk: fc.nat(1),
    flate: fc.nat(40),
  })
  .map(({ offset, logic, chunk, flate }) =>
    flate < 20 ? { offset, phys: flate + 1, logic, chunk, codec: 1 } : { offset, phys: logic, logic, chunk, codec: 0 },
  )
/** One that is wrong in one field, or just not. */
const close: fc.Arbitrary<Entry> = fc
  .tuple(
    good,
    fc.oneof(
      fc.record({ offset: fc.integer({ min: CHUNK_BYTES - 61, max: CHUNK_BYTES }) }),
      fc.record({ phys: fc.oneof(fc.nat(61), fc.constantFrom(0, 2 ** 20, 2 ** 20 + 1, 2 ** 32 - 1)) }),
      fc.record({ logic: fc.oneof(fc.nat(61), fc.constantFrom(0, 2 ** 20, 2 ** 20 + 1, 2 ** 32 - 1)) }),
      fc.record({ chunk: fc.nat(4) }),
      fc.record({ codec: fc.nat(3) }),
    ),
  )
  .map(([entry, change]) => ({ ...entry, ...change }))

const batch = fc.record({
  origin: fc.constantFrom(...ORIGINS),
  entries: fc.array(fc.oneof({ weight: 60, arbitrary: good }, { weight: 3, arbitrary: close }, hostile), {
    minLength: 1,
    maxLength: 12,
  }),
  picks: fc.array(fc.nat(), { maxLength: 20 }),
  beyond: fc.option(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { freq: 5 }),
  limits: fc.oneof(
    { weight: 4, arbitrary: fc.constant([CHUNK_BYTES, CHUNK_BYTES]) },
    fc.array(fc.oneof(fc.nat(CHUNK_BYTES), uint(32)), { maxLength: 3 }),
  ),
  min: fc.constantFrom(1, 1, 20, 25),
  max: fc.constantFrom(60, 60, 50, 2 ** 20),
})

describe('resolve', () => {
  it('agrees with the twin and with entryFault on any table', () => {
    let followed = 0
    let refused = 0
    fc.assert(
      fc.property(batch, ({ origin, entries, picks, beyond, limits, min, max }) => {
        const indices = picks.map((pick) => BigInt(pick % entries.length))
        if (beyond !== null) indices.splice(indices.length >> 1, 0, beyond)
        const [at, table, ends, plan] = [origin, origin + 400, origin + 800, origin + 900]
        const { result } = runAll(
          origin,
          1300,
          () => {
            for (const [i, index] of indices.entries()) viewAt(at).setBigUint64(i * 8, index, true)
            for (const [i, entry] of entries.entries()) encodeEntry(viewAt(table), i * 16, entry)
            for (const [i, limit] of limits.entries()) viewAt(ends).setUint32(i * 4, limit, true)
          },
          (kernel) => kernel.resolve(at, indices.length, table, entries.length, ends, limits.length, min, max, plan),
        )
        const expected = indices.findIndex((index) => {
          const entry = index < BigInt(entries.length) ? entries[Number(index)] : undefined
          return (
            entry === undefined || entryFault(entry, limits) !== undefined || entry.logic < min || entry.logic > max
          )
        })
        expect(result).toBe(expected)
        for (let i = 0; i < (expected < 0 ? indices.length : expected); i++) {
          expect(decodeEntry(viewAt(plan), i * 16)).toEqual(entries[Number(indices[i])])
        }
        if (expected < 0 && indices.length > 0) followed++
        if (expected >= 0) refused++
      }),
      { numRuns: 2000 },
    )
    expect(Math.min(followed, refused)).toBeGreaterThan(50)
  })

  it('refuses offset + length beyond 2^32, which wraps in 32 bits', () => {
    for (const kernel of Object.values(kernels)) {
      const view = viewAt(65536)
      view.setBigUint64(0, 0n, true)
      encodeEntry(view, 16, { offset: 2 ** 32 - 8, phys: 16, logic: 16, chunk: 0, codec: 0 })
      view.setUint32(32, 2 ** 32 - 1, true)
      expect(kernel.resolve(65536, 1, 65552, 1, 65568, 1, 1, 2 ** 20, 65600)).toBe(0)
    }
  })
})

describe('copyFixed and copyOffsets', () => {
  const plan = fc.record({
    origin: fc.constantFrom(...ORIGINS),
    entries: fc.array(
      fc.record({
        offset: fc.integer({ min: 0, max: CHUNK_BYTES - 300 }),
        phys: fc.oneof(fc.integer({ min: 1, max: 24 }), fc.integer({ min: 1, max: 300 })),
        codec: fc.constantFrom(0, 0, 0, 1),
      }),
      { maxLength: 12 },
    ),
    gap: fc.integer({ min: 0, max: 9 }),
  })

  it('copy each raw record to its place and nothing else, as the twin', () => {
    fc.assert(
      fc.property(plan, ({ origin, entries, gap }) => {
        const stride = 300 + gap
        const [slots, chunk, target, offsets] = [origin, origin + 200, origin + 3300, origin + 3300 + 12 * stride]
        const prepare = (): void => {
          bytesAt(chunk, CHUNK_BYTES).set(content)
          for (const [i, entry] of entries.entries()) {
            encodeEntry(viewAt(slots), i * 16, { ...entry, logic: entry.phys, chunk: 0 })
            viewAt(offsets).setUint32(i * 4, (entries.length - 1 - i) * stride + gap, true)
          }
        }
        const size = offsets + 48 - origin
        const fixed = runAll(origin, size, prepare, (kernel) =>
          kernel.copyFixed(slots, entries.length, chunk, target, stride),
        )
        const spread = runAll(origin, size, prepare, (kernel) =>
          kernel.copyOffsets(slots, entries.length, chunk, target, offsets),
        )
        const expectedAt = (place: (i: number) => number): Buffer => {
          const expected = Buffer.alloc(12 * stride, 0xa5)
          for (const [i, { offset, phys, codec }] of entries.entries()) {
            for (let k = 0; codec === 0 && k < phys; k++) expected[place(i) + k] = content[offset + k]!
          }
          return expected
        }
        const deflated = entries.filter((entry) => entry.codec === 1).length
        for (const [{ result, bytes }, place] of [
          [fixed, (i: number) => i * stride],
          [spread, (i: number) => (entries.length - 1 - i) * stride + gap],
        ] as const) {
          expect(bytes.subarray(target - origin, offsets - origin).equals(expectedAt(place))).toBe(true)
          expect(result).toBe(deflated)
        }
      }),
      { numRuns: 300 },
    )
  })
})
