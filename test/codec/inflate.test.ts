// codec/: inflating by Node's raw handle and by its public call gives the same results on the same streams.

import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { constants, deflateRawSync, deflateSync, gzipSync, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rawHandle } from '#dist/codec/handle.js'
import { createInflater, handleInflater, type Inflater, inflaterWorks, publicInflater } from '#dist/codec/inflate.js'
import { noise, runs } from '../support/bytes.ts'
import { broken, brokenBase, brokenCases, golden, goldenCases, restoreStore, tempDir } from '../support/stores.ts'
import { readEntry, readStored } from '../support/table.ts'

const inflaters: Inflater[] = [handleInflater(rawHandle('inflate')!), publicInflater()]
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Whether both are the same bytes, or the same fault. */
function same(a: Uint8Array | string, b: Uint8Array | string): boolean {
  return typeof a === 'string' || typeof b === 'string' ? a === b : Buffer.compare(a, b) === 0
}

/** Inflates into the middle of a larger area, which must stay as it was, and as the last thing of one. */
function inflate(inflater: Inflater, stream: Uint8Array, length: number): Uint8Array | string {
  const source = new Uint8Array(new SharedArrayBuffer(stream.length + 9))
  source.set(stream, 5)
  const results = [40, 0].map((behind) => {
    const area = noise(30 + length + behind, length + behind)
    const before = area.slice()
    const fault = inflater.inflate(source, 5, stream.length, area, 30, length)
    expect(same(area.subarray(0, 30), before.subarray(0, 30))).toBe(true)
    expect(same(area.subarray(30 + length), before.subarray(30 + length))).toBe(true)
    return fault ?? area.slice(30, 30 + length)
  })
  expect(same(results[0]!, results[1]!)).toBe(true)
  expect(same(source.subarray(5, 5 + stream.length), stream)).toBe(true)
  return results[0]!
}

for (const inflater of inflaters) {
  describe(`inflating via ${inflater.via}`, () => {
    it('passes its self-test', () => {
      expect(inflaterWorks(inflater)).toBe(true)
    })

    it('decodes every deflated record of the golden stores', () => {
      let records = 0
      for (const name of goldenCases) {
        const { dir, expected } = golden(name)
        const store = restoreStore(dir, join(tempDir(), name))
        for (const [i, record] of expected.records.entries()) {
          if (record.codec !== 1) continue
          records++
          const bytes = inflate(inflater, readStored(store, i), record.length)
          expect(bytes, `${name} record ${i}`).toBeInstanceOf(Uint8Array)
          expect(sha256(bytes as Uint8Array), `${name} record ${i}`).toBe(record.sha256)
        }
      }
      expect(records).toBeGreaterThan(300)
    })

    for (const name of brokenCases.filter((one) => one.startsWith('deflate_') || one === 'bitflip_deflate')) {
      it(`${name}: as a careful reader`, () => {
        const { dir, expected } = broken(name)
        const store = restoreStore(dir, join(tempDir(), name))
        const bytes = inflate(inflater, readStored(store, 3), readEntry(store, 3).logic)
        if (expected.careful.fail_records.includes(3)) expect(bytes).toBeTypeOf('string')
        else if (!expected.careful.may_differ_from_base.includes(3))
          expect(sha256(bytes as Uint8Array)).toBe(brokenBase[3])
      })
    }

    it('decodes what zlib makes of any bytes with any level and strategy, and nothing one byte off', () => {
      const strategies = [0, constants.Z_FILTERED, constants.Z_HUFFMAN_ONLY, constants.Z_RLE, constants.Z_FIXED]
      const bytes = fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 600 }),
        fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.nat(999)).map(([length, seed]) => runs(length, seed)),
        fc.tuple(fc.integer({ min: 1, max: 5000 }), fc.nat(999)).map(([length, seed]) => noise(length, seed)),
      )
      const options = fc.record({
        level: fc.integer({ min: 0, max: 9 }),
        strategy: fc.constantFrom(...strategies),
        windowBits: fc.integer({ min: 9, max: 15 }),
        memLevel: fc.integer({ min: 1, max: 9 }),
      })
      fc.assert(
        fc.property(bytes, options, fc.uint8Array({ maxLength: 20 }), (plain, how, behind) => {
          const stream = deflateRawSync(plain, how)
          expect(same(inflate(inflater, stream, plain.length), plain)).toBe(true)
          expect(same(inflate(inflater, Buffer.concat([stream, behind]), plain.length), plain)).toBe(true)
          expect(inflate(inflater, stream.subarray(0, -1), plain.length)).toBeTypeOf('string')
          expect(inflate(inflater, stream, plain.length + 1)).toMatch(`decodes to ${plain.length} bytes`)
          if (plain.length > 1) {
            expect(inflate(inflater, stream, plain.length - 1)).toMatch(`more than ${plain.length - 1} bytes`)
          }
        }),
        { numRuns: 150 },
      )
    })

    it('reads flush points, also behind the last byte, and empty blocks', () => {
      const plain = runs(3000, 5)
      const stored = (bytes: Uint8Array, final: number) => {
        const size = bytes.length
        return Buffer.from([final, size & 255, size >> 8, ~size & 255, (~size >> 8) & 255, ...bytes])
      }
      const open = deflateRawSync(plain, { finishFlush: constants.Z_SYNC_FLUSH })
      expect([...open.subarray(-4)]).toEqual([0, 0, 255, 255])
      const streams = [
        Buffer.concat([open, Buffer.from([3, 0])]),
        Buffer.concat([open, stored(Buffer.alloc(0), 1)]),
        Buffer.concat([stored(Buffer.alloc(0), 0), stored(plain, 1)]),
        Buffer.concat([stored(plain.subarray(0, 7), 0), stored(plain.subarray(7), 0), Buffer.from([3, 0])]),
      ]
      for (const stream of streams) expect(same(inflate(inflater, stream, 3000), plain)).toBe(true)
      expect(inflate(inflater, open, 3000)).toBeTypeOf('string')
    })

    it('refuses wrapped streams and bytes that are no stream', () => {
      const plain = runs(500, 6)
      for (const stream of [deflateSync(plain), gzipSync(plain), noise(400, 1).fill(7, 0, 1), Buffer.alloc(9)]) {
        expect(inflate(inflater, stream, 500)).toBeTypeOf('string')
      }
    })

    it('stops a bomb at the length that was asked for', () => {
      const bomb = deflateRawSync(new Uint8Array(2 ** 26))
      const before = process.memoryUsage().arrayBuffers
      expect(inflate(inflater, bomb, 200)).toMatch('more than 200 bytes')
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 24)
    })

    it('is as good as new after a fault', () => {
      const plain = runs(400, 8)
      const stream = deflateRawSync(plain)
      for (const bad of [stream.subarray(0, 9), noise(30, 2), stream]) {
        inflate(inflater, bad, 100)
        expect(same(inflate(inflater, stream, 400), plain)).toBe(true)
      }
    })
  })
}

it('gives the same answer by both ways for every single-bit flip', () => {
  const plain = runs(300, 3)
  const stream = deflateRawSync(plain)
  let wrong = 0
  for (let bit = 0; bit < stream.length * 8; bit++) {
    const flipped = Uint8Array.from(stream)
    flipped[bit >> 3]! ^= 1 << (bit & 7)
    const [one, other] = inflaters.map((inflater) => inflate(inflater, flipped, 300))
    if (typeof one === 'string') expect(other).toBeTypeOf('string')
    else expect(same(one!, other!)).toBe(true)
    wrong += typeof one === 'string' ? 1 : 0
  }
  expect(wrong).toBeGreaterThan(stream.length)
})

it('chooses the raw handle where it works', () => {
  expect(createInflater().via).toBe('handle')
})

it('finds out a handle that leaves out a check', () => {
  const handle = rawHandle('inflate')!
  const full = {
    run: (...args: Parameters<typeof handle.run>) => handle.run(...args) || true,
    availableIn: 0,
    availableOut: 1,
  }
  const broken = {
    ...full,
    run: () => {
      throw new Error('not as it was')
    },
  }
  const wild = {
    ...full,
    run: (from: Uint8Array, at: number, bytes: number, into: Uint8Array, position: number, room: number) => {
      const ok = handle.run(from, at, bytes, into, position, room)
      into[position]! ^= 1
      return ok
    },
  }
  expect(inflaterWorks(handleInflater(broken))).toBe(false)
  expect(inflaterWorks(handleInflater(full))).toBe(false)
  expect(inflaterWorks(handleInflater(wild))).toBe(false)
  expect(inflateRawSync(deflateRawSync(Buffer.from('x'))).toString()).toBe('x')
})
