// codec/: deflating by Node's raw handle and by its public call.
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDeflaters, type Deflater, deflaterWorks, handleDeflater, publicDeflater } from '#dist/codec/deflate.js'
import { encodeBlock } from '#dist/codec/encode.js'
import { rawHandle } from '#dist/codec/handle.js'
import { noise, runs } from '../support/bytes.ts'
import { deflateBlocks } from '../support/deflate-blocks.ts'

const strategies = [
  { name: 'run lengths', options: { level: 6, strategy: constants.Z_RLE } },
  { name: 'full matching', options: { level: 4 } },
]
const deflaters: { name: string; deflater: Deflater }[] = strategies.flatMap(({ name, options }) => [
  { name: `${name} via the handle`, deflater: handleDeflater(rawHandle('deflate', options)!) },
  { name: `${name} via the public call`, deflater: publicDeflater(options) },
])

const anyBytes: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 400 }),
  fc.tuple(fc.integer({ min: 1, max: 70_000 }), fc.nat(999)).map(([length, seed]) => runs(length, seed)),
  fc.tuple(fc.integer({ min: 1, max: 70_000 }), fc.nat(999)).map(([length, seed]) => noise(length, seed)),
  fc
    .tuple(fc.integer({ min: 1, max: 40_000 }), fc.integer({ min: 1, max: 40_000 }), fc.nat(999))
    .map(([a, b, seed]) => Buffer.concat([noise(a, seed), runs(b, seed)])),
  fc.integer({ min: 1, max: 2 ** 17 }).map((length) => new Uint8Array(length)),
)

/** Deflates from and to the middle of larger areas, of which the rest must stay as it was. */
function deflate(deflater: Deflater, plain: Uint8Array): Uint8Array | undefined {
  const source = new Uint8Array(new SharedArrayBuffer(plain.length + 20))
  source.set(plain, 11)
  const area = new Uint8Array(plain.length + 60).fill(0xa5)
  const length = deflater.deflate(source, 11, plain.length, area, 20)
  expect(area.subarray(0, 20).every((byte) => byte === 0xa5)).toBe(true)
  expect(area.subarray(20 + plain.length).every((byte) => byte === 0xa5)).toBe(true)
  return length === 0 ? undefined : area.slice(20, 20 + length)
}

/** What the original cannot read: an empty stored block when the output is complete. */
function endsInEmptyStored(stream: Uint8Array): boolean {
  const last = deflateBlocks(stream).at(-1)!
  return last.kind === 0 && last.bytes === 0
}

describe.each(deflaters)('deflating: $name', ({ deflater }) => {
  it('passes its self-test', () => {
    expect(deflaterWorks(deflater)).toBe(true)
  })

  it('gives a shorter stream that zlib decodes and the original reads, or nothing', () => {
    fc.assert(
      fc.property(anyBytes, (plain) => {
        const stream = deflate(deflater, plain)
        if (stream === undefined) return
        expect(stream.length).toBeLessThan(plain.length)
        expect(Buffer.compare(inflateRawSync(stream), plain)).toBe(0)
        const blocks = deflateBlocks(stream)
        expect(blocks.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(plain.length)
        expect(endsInEmptyStored(stream)).toBe(false)
      }),
      { numRuns: 100 },
    )
  })

  it('reads the original of each full block of symbols without an empty stored block behind it', () => {
    // zlib ends a block when its buffer of symbols is full; here it is so exactly at the end of the data.
    for (const length of [16383, 16384, 32767, 32768, 65535, 65536]) {
      const half = Uint8Array.from(noise(length, 1), (byte) => byte & 15)
      expect(endsInEmptyStored(deflate(deflater, half)!)).toBe(false)
    }
  })

  it('shrinks from 17 bytes on and never touches shorter records', () => {
    expect(deflate(deflater, new Uint8Array(17))!.length).toBeLessThan(17)
    for (let length = 1; length <= 16; length++) expect(deflate(deflater, new Uint8Array(length))).toBeUndefined()
  })

  it('gives up what does not become smaller, and is as good as new afterwards', () => {
    expect(deflate(deflater, noise(5000, 3))).toBeUndefined()
    expect(inflateRawSync(deflate(deflater, runs(5000, 3))!).equals(runs(5000, 3))).toBe(true)
    expect(deflate(deflater, noise(2 ** 20, 3))).toBeUndefined()
    expect(deflate(deflater, new Uint8Array(2 ** 20))!.length).toBeLessThan(2000)
  })
})

it('knows a stream that the original cannot read when it sees one', () => {
  const open = deflateRawSync(runs(500, 1), { finishFlush: constants.Z_SYNC_FLUSH })
  expect(endsInEmptyStored(Buffer.concat([open, Buffer.from([1, 0, 0, 255, 255])]))).toBe(true)
  expect(endsInEmptyStored(Buffer.concat([open, Buffer.from([3, 0])]))).toBe(false)
})

it('uses the raw handle where it works, and finds out one that does not', () => {
  expect(createDeflaters().map(({ via }) => via)).toEqual(['handle', 'handle'])
  const handle = rawHandle('deflate')!
  const unfinished = { run: handle.run, availableIn: 0, availableOut: 990 }
  expect(deflaterWorks(handleDeflater(unfinished))).toBe(false)
})

describe('encoding a block', () => {
  const block = (records: readonly Uint8Array[]) => ({
    source: Uint8Array.from(Buffer.concat(records)),
    lengths: Uint32Array.from(records, (record) => record.length),
  })

  it('gives every record shorter or as it was, one behind the other', () => {
    fc.assert(
      fc.property(fc.array(anyBytes, { maxLength: 12 }), (records) => {
        const { bytes, phys, codecs } = encodeBlock(block(records), createDeflaters())
        let at = 0
        for (const [i, record] of records.entries()) {
          const stored = bytes.subarray(at, at + phys[i]!)
          at += phys[i]!
          if (codecs[i] === 0) expect(Buffer.compare(stored, record)).toBe(0)
          else {
            expect(stored.length).toBeLessThan(record.length)
            expect(Buffer.compare(inflateRawSync(stored), record)).toBe(0)
          }
        }
        expect(bytes.length).toBe(at)
      }),
      { numRuns: 40 },
    )
  })

  it('takes the deflater that suits the data', () => {
    const text = Buffer.from('the quick brown fox jumps over the lazy dog and then over another lazy dog, '.repeat(40))
    const image = Uint8Array.from({ length: 784 }, (_, i) => (i % 28 < 20 ? 0 : noise(1, i)[0]!))
    const used: string[] = []
    const spies = createDeflaters().map(
      (deflater, i): Deflater => ({
        via: deflater.via,
        deflate: (...args) => {
          used.push(i === 0 ? 'runs' : 'full')
          return deflater.deflate(...args)
        },
      }),
    )
    encodeBlock(block(new Array(30).fill(text)), spies)
    expect(used.slice(-30)).toEqual(new Array(30).fill('full'))
    encodeBlock(block(new Array(30).fill(image)), spies)
    expect(used.slice(-30)).toEqual(new Array(30).fill('runs'))
  })
})
