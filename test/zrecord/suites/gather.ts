// Suite: gather into every kind of memory, by every kind of list, by one variant; and what is refused.
import { join } from 'node:path'
import { type Bytes, type Indices, type Layout, Zrecord } from 'loaderx'
import { beforeAll, describe, expect, it } from 'vitest'
import { noise, runs } from '../../support/bytes.ts'
import { tempDir } from '../../support/stores.ts'
import { coded, type Variant } from './variants.ts'

const UNTOUCHED = 0xee
const LONGEST = 5000

/** Ragged records, of which about half are deflated; the last five are long. */
const records: readonly Uint8Array[] = Array.from({ length: 60 }, (_, i) => {
  const length = i < 55 ? 1 + ((i * 197) % 900) : LONGEST - i
  return i % 2 === 0 ? noise(length, i) : runs(length, i)
})

type Memory = (bytes: number) => { readonly into: Bytes; readonly bytes: Uint8Array; readonly around: Uint8Array }

function over(buffer: ArrayBufferLike, from: number, to: number, into: (from: number, to: number) => Bytes) {
  const around = new Uint8Array(buffer).fill(UNTOUCHED)
  return { into: into(from, to), bytes: around.subarray(from, to), around }
}

const memories: Record<string, Memory> = {
  ArrayBuffer: (n) => {
    const buffer = new ArrayBuffer(n)
    return over(buffer, 0, n, () => buffer)
  },
  SharedArrayBuffer: (n) => {
    const buffer = new SharedArrayBuffer(n)
    return over(buffer, 0, n, () => buffer)
  },
  'Uint8Array at an offset': (n) => {
    const buffer = new ArrayBuffer(n + 30)
    return over(buffer, 13, 13 + n, () => new Uint8Array(buffer, 13, n))
  },
  Buffer: (n) => {
    const buffer = new ArrayBuffer(n + 30)
    return over(buffer, 5, 5 + n, () => Buffer.from(buffer, 5, n))
  },
  'Float64Array at an offset': (n) => {
    const whole = Math.ceil(n / 8) * 8
    const buffer = new ArrayBuffer(whole + 32)
    return over(buffer, 16, 16 + whole, () => new Float64Array(buffer, 16, whole / 8))
  },
  'BigInt64Array over shared memory': (n) => {
    const whole = Math.ceil(n / 8) * 8
    const buffer = new SharedArrayBuffer(whole + 32)
    return over(buffer, 8, 8 + whole, () => new BigInt64Array(buffer, 8, whole / 8))
  },
  DataView: (n) => {
    const buffer = new ArrayBuffer(n + 30)
    return over(buffer, 3, 3 + n, () => new DataView(buffer, 3, n))
  },
}

const numbers = [0, 54, 7, 7, 31, 2, 1, 0]
const lists: Record<string, Indices> = {
  list: numbers,
  Int8Array: Int8Array.from(numbers),
  Uint8Array: Uint8Array.from(numbers),
  Int16Array: Int16Array.from(numbers),
  Uint16Array: Uint16Array.from(numbers),
  Int32Array: Int32Array.from(numbers),
  'Uint32Array over shared memory': new Uint32Array(new SharedArrayBuffer(4 * numbers.length)),
  Float32Array: Float32Array.from(numbers),
  Float64Array: Float64Array.from(numbers),
  BigInt64Array: BigInt64Array.from(numbers.map(BigInt)),
  BigUint64Array: BigUint64Array.from(numbers.map(BigInt)),
}
;(lists['Uint32Array over shared memory'] as Uint32Array).set(numbers)

/** Runs the suite over `variant`. */
export function gatherSuite(variant: Variant): void {
  let path: string
  let store: Zrecord

  beforeAll(async () => {
    path = join(tempDir(), 'store')
    const made = await Zrecord.open(path, { create: true })
    await made.append(records)
    await made.close()
  })

  /** Gathers by both methods and compares every byte of the memory with what should be in it. */
  async function check(memory: Memory, bytes: number, indices: Indices, layout: Layout): Promise<void> {
    store = await variant.open(path)
    const wanted = memory(bytes)
    for (let i = 0; i < indices.length; i++) {
      const at = typeof layout === 'number' ? i * layout : layout.offsets[i]!
      wanted.bytes.set(records[Number(indices[i])]!, at)
    }
    const [one, other] = [memory(bytes), memory(bytes)]
    await store.gather(indices, one.into, layout)
    expect(Buffer.compare(one.around, wanted.around)).toBe(0)
    store.gatherSync(indices, other.into, layout)
    expect(Buffer.compare(other.around, wanted.around)).toBe(0)
  }

  const ends = (list: readonly number[], gap = 0): number[] => {
    const at = [0]
    for (const i of list) at.push(at.at(-1)! + records[i]!.length + gap)
    return at
  }

  describe.each(Object.entries(memories))('gather into %s', (_, memory) => {
    const all = records.map((_, i) => i)
    it('by a stride leaves the rest of each place as it was', async () => {
      await check(memory, 60 * LONGEST, all, LONGEST)
      await check(memory, 901 * 8, numbers, 901)
    })

    it('by offsets: dense, from an offset on, with gaps, in any order', async () => {
      const dense = ends(numbers)
      await check(memory, dense.at(-1)!, numbers, { offsets: dense.slice(0, -1) })
      await check(memory, dense.at(-1)! + 33, numbers, {
        offsets: Uint32Array.from(dense.slice(0, -1), (at) => at + 33),
      })
      const gaps = ends(numbers, 5)
      await check(memory, gaps.at(-1)!, numbers, { offsets: Float64Array.from(gaps.slice(0, -1)) })
      const order = all.toSorted((a, b) => ((a * 37) % 60) - ((b * 37) % 60))
      const places = ends(order)
      const offsets = all.map((i) => places[order.indexOf(i)]!)
      await check(memory, places.at(-1)!, all, { offsets })
    })

    it('of the exact size, and not one byte less', async () => {
      const last = numbers.length - 1
      const exact = last * 900 + records[numbers[last]!]!.length
      await check(memory, exact, numbers, 900)
      const { into, bytes, around } = memory(exact - 8)
      const layouts: Layout[] = [900, { offsets: numbers.map((_, i) => i * 900 + 8) }]
      for (const layout of layouts) {
        await expect(store.gather(numbers, into, layout)).rejects.toThrow(
          coded('LOADERX_BUFFER_TOO_SMALL', `${bytes.length} bytes`),
        )
        expect(() => store.gatherSync(numbers, into, layout)).toThrow(coded('LOADERX_BUFFER_TOO_SMALL'))
        expect(around.every((byte) => byte === UNTOUCHED)).toBe(true)
      }
    })
  })

  it.each(Object.entries(lists))('indices as %s', async (_, indices) => {
    await check(memories['ArrayBuffer']!, 901 * 8, indices, 901)
    expect([...store.lengths(indices)]).toEqual(numbers.map((i) => records[i]!.length))
  })

  it('equal records, dense, short and long, in batches larger than fit beside the store', async () => {
    const equal = join(tempDir(), 'equal')
    for (const [length, n] of [
      [1, 300],
      [8, 300],
      [784, 300],
      [4096, 40],
      [2000, 17_000],
    ] as const) {
      const made = await variant.open(equal, { create: true, codec: 'raw' })
      const from = made.length
      const source = noise(40 * length, length)
      await made.append(source, length)
      await made.append(runs(length, 1), length, { codec: 'flate' })
      const indices = Array.from({ length: n }, (_, i) => from + ((i * 7) % 41))
      const into = Buffer.alloc(n * length)
      await made.gather(indices, into, length)
      const wrong = indices.findIndex((index, i) => {
        const got = into.subarray(i * length, (i + 1) * length)
        const k = index - from
        return Buffer.compare(got, k === 40 ? runs(length, 1) : source.subarray(k * length, (k + 1) * length)) !== 0
      })
      expect(wrong).toBe(-1)
      await made.close()
    }
  })

  it('overlapping places: nothing outside of them is touched', async () => {
    store = await variant.open(path)
    const into = new Uint8Array(3000).fill(UNTOUCHED)
    await store.gather([2, 4, 2], into, { offsets: [100, 150, 2000] })
    const end = 150 + records[4]!.length
    expect(into.subarray(0, 100).every((byte) => byte === UNTOUCHED)).toBe(true)
    expect(into.subarray(Math.max(end, 100 + records[2]!.length), 2000).every((byte) => byte === UNTOUCHED)).toBe(true)
    expect(Buffer.compare(into.subarray(2000, 2000 + records[2]!.length), records[2]!)).toBe(0)
  })

  it('no indices: nothing happens, whatever the destination', async () => {
    store = await variant.open(path)
    await store.gather([], new Uint8Array(0), 1)
    await store.gather(new BigUint64Array(0), new ArrayBuffer(0), { offsets: [] })
    store.gatherSync([], new Uint8Array(0), 10)
    expect(store.lengths([])).toEqual(new Uint32Array(0))
  })

  it('the caller may change its lists while it waits', async () => {
    store = await variant.open(path)
    const indices = [1, 2, 3]
    const offsets = [0, 1000, 2000]
    const into = new Uint8Array(3000)
    const done = store.gather(indices, into, { offsets })
    indices.fill(-1)
    offsets.fill(1e9)
    await done
    for (const i of [1, 2, 3]) {
      expect(Buffer.compare(into.subarray((i - 1) * 1000).subarray(0, records[i]!.length), records[i]!)).toBe(0)
    }
  })

  it('the destination may not go away while it waits', async () => {
    store = await variant.open(path)
    const into = new Uint8Array(3000)
    const done = store.gather([1, 3], into, 1000)
    structuredClone(into.buffer, { transfer: [into.buffer] })
    if (variant.residency === 'file')
      await expect(done).rejects.toThrow(coded('LOADERX_INVALID_ARGUMENT', 'transferred'))
    else await done
    expect(Buffer.compare(await store.get(1), records[1]!)).toBe(0)
  })

  const hole: number[] = [0]
  hole[2] = 1
  const refused: [string, unknown, unknown, string][] = [
    ['an index past the end', [0, 60], 1000, 'LOADERX_INDEX_OUT_OF_RANGE'],
    ['an index past 2^32', [0, 2 ** 32], 1000, 'LOADERX_INDEX_OUT_OF_RANGE'],
    ['an index of 2^53 - 1', [0, 2 ** 53 - 1], 1000, 'LOADERX_INDEX_OUT_OF_RANGE'],
    ['an index of 2^53', [0, 2 ** 53], 1000, 'LOADERX_INVALID_INDEX'],
    ['an index of 2^64 - 1', BigUint64Array.of(0n, 2n ** 64n - 1n), 1000, 'LOADERX_INDEX_OUT_OF_RANGE'],
    ['a negative index', [0, -1], 1000, 'LOADERX_INDEX_OUT_OF_RANGE'],
    ['a negative index in a typed array', Int32Array.of(0, -1), 1000, 'LOADERX_INDEX_OUT_OF_RANGE'],
    ['a negative bigint index', BigInt64Array.of(0n, -1n), 1000, 'LOADERX_INDEX_OUT_OF_RANGE'],
    ['a fraction', [0, 1.5], 1000, 'LOADERX_INVALID_INDEX'],
    ['a fraction in a typed array', Float32Array.of(0, 1.5), 1000, 'LOADERX_INVALID_INDEX'],
    ['NaN', [0, Number.NaN], 1000, 'LOADERX_INVALID_INDEX'],
    ['infinity', [0, Number.POSITIVE_INFINITY], 1000, 'LOADERX_INVALID_INDEX'],
    ['booleans', [true, false], 1000, 'LOADERX_INVALID_INDEX'],
    ['strings', ['0', '1'], 1000, 'LOADERX_INVALID_INDEX'],
    ['bigints in a list', [0n, 1n], 1000, 'LOADERX_INVALID_INDEX'],
    ['null', [0, null], 1000, 'LOADERX_INVALID_INDEX'],
    ['an object', [0, {}], 1000, 'LOADERX_INVALID_INDEX'],
    ['a symbol', [0, Symbol('x')], 1000, 'LOADERX_INVALID_INDEX'],
    ['a hole', hole, 1000, 'LOADERX_INVALID_INDEX'],
    ['one index instead of a list', 0, 1000, 'LOADERX_INVALID_INDEX'],
    ['a text instead of a list', '01', 1000, 'LOADERX_INVALID_INDEX'],
    ['nothing instead of a list', undefined, 1000, 'LOADERX_INVALID_INDEX'],
    ['null instead of a list', null, 1000, 'LOADERX_INVALID_INDEX'],
    ['a DataView instead of a list', new DataView(new ArrayBuffer(8)), 1000, 'LOADERX_INVALID_INDEX'],
    ['a stride of 0', [0, 1], 0, 'LOADERX_INVALID_ARGUMENT'],
    ['a negative stride', [0, 1], -1000, 'LOADERX_INVALID_ARGUMENT'],
    ['a stride that is no number', [0, 1], Number.NaN, 'LOADERX_INVALID_ARGUMENT'],
    ['a stride with a fraction', [0, 1], 1000.5, 'LOADERX_INVALID_ARGUMENT'],
    ['a stride of 2^32', [0], 2 ** 32, 'LOADERX_INVALID_ARGUMENT'],
    ['a stride shorter than a record', [0, 4], 100, 'LOADERX_BUFFER_TOO_SMALL'],
    ['no layout', [0, 1], undefined, 'LOADERX_INVALID_ARGUMENT'],
    ['a layout of null', [0, 1], null, 'LOADERX_INVALID_ARGUMENT'],
    ['a layout without offsets', [0, 1], {}, 'LOADERX_INVALID_ARGUMENT'],
    ['offsets of null', [0, 1], { offsets: null }, 'LOADERX_INVALID_ARGUMENT'],
    ['too few offsets', [0, 1], { offsets: [0] }, 'LOADERX_INVALID_ARGUMENT'],
    ['too many offsets', [0, 1], { offsets: [0, 1000, 2000] }, 'LOADERX_INVALID_ARGUMENT'],
    ['a negative offset', [0, 1], { offsets: [0, -1] }, 'LOADERX_INVALID_ARGUMENT'],
    ['an offset with a fraction', [0, 1], { offsets: [0, 0.5] }, 'LOADERX_INVALID_ARGUMENT'],
    ['an offset that is no number', [0, 1], { offsets: ['0', '1'] }, 'LOADERX_INVALID_ARGUMENT'],
    ['bigint offsets', [0, 1], { offsets: BigInt64Array.of(0n, 1n) }, 'LOADERX_INVALID_ARGUMENT'],
    ['an offset past the end', [0, 1], { offsets: [0, 3000] }, 'LOADERX_BUFFER_TOO_SMALL'],
    ['an offset past 2^32', [0, 1], { offsets: [0, 2 ** 32] }, 'LOADERX_BUFFER_TOO_SMALL'],
  ]
  it.each(refused)('refused: %s', async (_, indices, layout, code) => {
    store = await variant.open(path)
    const into = new Uint8Array(3000).fill(UNTOUCHED)
    await expect(store.gather(indices as Indices, into, layout as Layout)).rejects.toThrow(coded(code))
    expect(() => store.gatherSync(indices as Indices, into, layout as Layout)).toThrow(coded(code))
    expect(into.every((byte) => byte === UNTOUCHED)).toBe(true)
  })

  it('refused: a destination that is not memory', async () => {
    store = await variant.open(path)
    for (const into of [5, 1000, undefined, null, 'x', [1, 2, 3], {}]) {
      await expect(store.gather([0], into as unknown as Bytes, 1000)).rejects.toThrow(coded('LOADERX_INVALID_ARGUMENT'))
    }
  })

  it('a message names position, index and range', async () => {
    store = await variant.open(path)
    const into = new Uint8Array(3000)
    const message = `index 60 at position 1 is out of range for ${path}: its records are 0 … 59`
    expect(() => store.gatherSync([5, 60], into, 1000)).toThrow(
      expect.objectContaining({ message, details: { path, index: 60, position: 1, expected: 60 } }),
    )
    expect(() => store.lengths(BigInt64Array.of(-3n))).toThrow(coded('LOADERX_INDEX_OUT_OF_RANGE', 'index -3 '))
    await expect(store.get(-1)).rejects.toThrow(coded('LOADERX_INDEX_OUT_OF_RANGE', 'at(-1)'))
    await expect(store.get(0.5)).rejects.toThrow(coded('LOADERX_INVALID_INDEX', '0.5'))
  })
}
