// Suite: appends of every form read back by one variant, and what is refused.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { AppendOptions, Bytes, RaggedLayout, Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { noise, runs } from '../../support/bytes.ts'
import { nearlyFullStore, tempDir } from '../../support/stores.ts'
import { fingerprint, readEntry, readHeader } from '../../support/table.ts'
import { coded, type Variant } from './variants.ts'

const MIB = 2 ** 20

/** Expects that the store holds exactly `records`, by one gather and one by one. */
async function expectRecords(store: Zrecord, records: readonly Uint8Array[]): Promise<void> {
  expect(store.length).toBe(records.length)
  const offsets: number[] = []
  let end = 0
  for (const record of records) {
    offsets.push(end)
    end += record.length
  }
  const bytes = new Uint8Array(end)
  await store.gather(Array.from(records.keys()), bytes, { offsets })
  expect(Buffer.compare(bytes, Buffer.concat(records))).toBe(0)
  for (const i of new Set([0, records.length >> 1, records.length - 1])) {
    if (i >= 0 && i < records.length) expect(Buffer.compare(await store.get(i), records[i]!)).toBe(0)
  }
}

function cut(source: Uint8Array, bytes: number): Uint8Array[] {
  return Array.from({ length: source.length / bytes }, (_, i) => source.subarray(i * bytes, (i + 1) * bytes))
}

function shared(bytes: Uint8Array): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(bytes.length)
  new Uint8Array(buffer).set(bytes)
  return buffer
}

/** Runs the suite over `variant`. */
export function appendSuite(variant: Variant): void {
  const make = (options = {}): Promise<Zrecord> => variant.open(join(tempDir(), 'store'), { create: true, ...options })

  for (const codec of ['raw', 'flate'] as const) {
    it(`${codec}: equal, ragged and listed records, from every kind of memory`, async () => {
      const store = await make({ codec })
      const source = Buffer.concat([runs(1500, 1), noise(1500, 2)])
      const all: Uint8Array[] = []
      const append = async (records: readonly Uint8Array[], appended: Promise<number>) => {
        expect(await appended).toBe(all.length)
        all.push(...records)
      }
      await append(cut(source, 100), store.append(source, 100))
      await append(cut(source, 3000), store.append(shared(source), 3000))
      const words = new Float64Array(Uint8Array.from(source).buffer)
      await append(
        cut(source, 8),
        store.append(words.subarray(1, 3), 8).then((first) => first),
      )
      all.splice(-375, 375, ...cut(source.subarray(8, 24), 8))
      const layout: RaggedLayout = { offsets: [2990, 0, 0, 1400, 7], lengths: Uint16Array.of(10, 3000, 1, 200, 16) }
      const ragged = Array.from(layout.offsets as number[], (at, i) => source.subarray(at, at + layout.lengths[i]!))
      await append(ragged, store.append(source, layout))
      await append(ragged, store.append(shared(source), layout))
      const dense: RaggedLayout = { offsets: [0, 50, 60], lengths: [50, 10, 400] }
      await append(
        [source.subarray(0, 50), source.subarray(50, 60), source.subarray(60, 460)],
        store.append(source, dense),
      )
      const view = new DataView(source.buffer, source.byteOffset + 3, 40)
      const list: Bytes[] = [source, shared(source), Uint8Array.from(source).buffer, view]
      await append([source, source, source, source.subarray(3, 43)], store.append(list))
      await expectRecords(store, all)
      await expectRecords(await variant.open(store.path, { readOnly: true }), all)
    })
  }

  it('the codec of one append, and of the store', async () => {
    const store = await make({ codec: 'raw' })
    expect(store.codec).toBe('raw')
    const record = runs(500, 1)
    await store.append([record])
    await store.append([record], { codec: 'flate' })
    await store.append(record, 500, { codec: 'flate' })
    await store.append(record, { offsets: [0], lengths: [500] }, { codec: 'flate' })
    await store.append(record, 500)
    expect([0, 1, 2, 3, 4].map((i) => readEntry(store.path, i).codec)).toEqual([0, 1, 1, 1, 0])
    await expectRecords(store, new Array(5).fill(record))
  })

  it('no records: gives the length, also what others appended', async () => {
    const store = await make()
    const other = await variant.open(store.path)
    await other.append([runs(10, 1)])
    const before = fingerprint(store.path)
    expect(await store.append([])).toBe(1)
    expect(await store.append(new Uint8Array(0), 100)).toBe(1)
    expect(await store.append(new Uint8Array(9), { offsets: [], lengths: [] })).toBe(1)
    expect(fingerprint(store.path)).toEqual(before)
  })

  it('records of exactly 1 MiB, and more than one memory was made for', async () => {
    const store = await make()
    const records = [noise(MIB, 1), runs(MIB, 2), new Uint8Array(MIB)]
    await store.append(records)
    await expectRecords(store, records)
    const big = Buffer.alloc(20 * MIB, noise(MIB, 3))
    await store.append(big, MIB, { codec: 'raw' })
    await expectRecords(store, [...records, ...cut(big, MIB)])
    expect(store.residency).toBe(variant.residency)
  })

  it('thousands of small ones, and megabytes through the pool', async () => {
    const store = await make()
    const small = runs(70_000 * 3, 4)
    await store.append(small, 3)
    const images = Buffer.concat([runs(2 * MIB, 5), noise(MIB / 2, 6)])
    await store.append(images, 1024)
    await expectRecords(store, [...cut(small, 3), ...cut(images, 1024)])
    expect(readHeader(store.path).tailOffset).toBeLessThan(3 * MIB)
  })

  it('many at once, on one handle and on two of the process', async () => {
    const store = await make()
    const other = await variant.open(store.path)
    const firsts: Promise<number>[] = []
    const lists = Array.from({ length: 24 }, (_, i) =>
      Array.from({ length: 5 }, (_, k) => runs(1 + ((i * 97 + k) % 700), i * 5 + k)),
    )
    for (const [i, list] of lists.entries()) firsts.push((i % 3 === 0 ? other : store).append(list))
    const order = (await Promise.all(firsts)).map((first, i) => ({ first, list: lists[i]! }))
    order.sort((a, b) => a.first - b.first)
    expect(order.map(({ first }) => first)).toEqual(order.map((_, i) => 5 * i))
    const all = order.flatMap(({ list }) => list)
    await expectRecords(store, all)
    await expectRecords(other, all)
  })

  it.each([
    [99, 1],
    [100, 1],
    [101, 0],
  ])('a frontier %i bytes before the end of a chunk: 100 bytes go to chunk %i', async (left, chunk) => {
    const path = nearlyFullStore(join(tempDir(), 'store'), left)
    const store = await variant.open(path, { codec: 'raw' })
    const reader = await variant.open(path)
    const record = noise(100, left)
    expect(await store.append([record])).toBe(0)
    expect(readEntry(path, 0)).toMatchObject({ chunk, offset: chunk === 0 ? 2 ** 32 - left : 0, phys: 100 })
    expect(existsSync(join(path, '1.zr'))).toBe(chunk === 1)
    const more = Array.from({ length: 300 }, (_, i) => noise(1 + ((i * 41) % 2000), i))
    await store.append(more, { codec: 'flate' })
    await expectRecords(store, [record, ...more])
    await expectRecords(reader, [record, ...more])
  })

  describe('refused', () => {
    const source = new Uint8Array(1000)
    const cases: [string, unknown[], string][] = [
      ['an empty record in a list', [[source, new Uint8Array(0)]], 'LOADERX_EMPTY_RECORD'],
      ['equal records of no bytes', [source, 0], 'LOADERX_EMPTY_RECORD'],
      ['a ragged record of no bytes', [source, { offsets: [0, 1], lengths: [1, 0] }], 'LOADERX_EMPTY_RECORD'],
      ['a record of 1 MiB + 1', [[source, new Uint8Array(MIB + 1)]], 'LOADERX_RECORD_TOO_LARGE'],
      ['equal records of 1 MiB + 1', [new Uint8Array(MIB + 1), MIB + 1], 'LOADERX_RECORD_TOO_LARGE'],
      [
        'a ragged record of 1 MiB + 1',
        [new Uint8Array(2 * MIB), { offsets: [0], lengths: [MIB + 1] }],
        'LOADERX_RECORD_TOO_LARGE',
      ],
      ['a source that is no multiple', [source, 300], 'LOADERX_INVALID_ARGUMENT'],
      ['a length with a fraction', [source, 0.5], 'LOADERX_INVALID_ARGUMENT'],
      ['a negative length', [source, -1], 'LOADERX_INVALID_ARGUMENT'],
      ['a length that is no number', [source, Number.NaN], 'LOADERX_INVALID_ARGUMENT'],
      ['an infinite length', [source, Number.POSITIVE_INFINITY], 'LOADERX_INVALID_ARGUMENT'],
      ['no length', [source], 'LOADERX_INVALID_ARGUMENT'],
      ['null for a length', [source, null], 'LOADERX_INVALID_ARGUMENT'],
      ['offsets without lengths', [source, { offsets: [0] }], 'LOADERX_INVALID_ARGUMENT'],
      ['more offsets than lengths', [source, { offsets: [0, 1], lengths: [1] }], 'LOADERX_INVALID_ARGUMENT'],
      ['ragged lengths with a fraction', [source, { offsets: [0], lengths: [1.5] }], 'LOADERX_INVALID_ARGUMENT'],
      ['bigint lengths', [source, { offsets: [0], lengths: [1n] }], 'LOADERX_INVALID_ARGUMENT'],
      ['bigint offsets', [source, { offsets: [0n], lengths: [1] }], 'LOADERX_INVALID_ARGUMENT'],
      ['a negative offset', [source, { offsets: [-1], lengths: [1] }], 'LOADERX_INVALID_ARGUMENT'],
      [
        'an offset outside of the source',
        [source, { offsets: [0, 1000], lengths: [1, 1] }],
        'LOADERX_BUFFER_TOO_SMALL',
      ],
      ['a record over the end of the source', [source, { offsets: [990], lengths: [11] }], 'LOADERX_BUFFER_TOO_SMALL'],
      ['a list with a text', [[source, 'text']], 'LOADERX_INVALID_ARGUMENT'],
      ['a list with nothing in it', [[source, undefined]], 'LOADERX_INVALID_ARGUMENT'],
      ['a list of numbers', [[1, 2, 3]], 'LOADERX_INVALID_ARGUMENT'],
      ['a text', ['text', 1], 'LOADERX_INVALID_ARGUMENT'],
      ['nothing', [undefined], 'LOADERX_INVALID_ARGUMENT'],
      ['an unknown codec', [[source], { codec: 'zstd' }], 'LOADERX_INVALID_ARGUMENT'],
      ['an unknown codec of equal records', [source, 10, { codec: '' }], 'LOADERX_INVALID_ARGUMENT'],
    ]
    it('each with its code, and nothing is written', async () => {
      const store = await make()
      await store.append([noise(9, 1)])
      const before = fingerprint(store.path)
      for (const [what, args, code] of cases) {
        const appended = store.append(...(args as [Bytes, number, AppendOptions]))
        await expect(appended, what).rejects.toMatchObject({ code })
      }
      expect(fingerprint(store.path)).toEqual(before)
      await expectRecords(store, [noise(9, 1)])
    })

    it('by a store that was opened to read, or was closed', async () => {
      const store = await make()
      const reader = await variant.open(store.path, { readOnly: true })
      expect(reader.readOnly).toBe(true)
      const before = fingerprint(store.path)
      await expect(reader.append([source])).rejects.toThrow(coded('LOADERX_READ_ONLY', store.path))
      await store.close()
      await expect(store.append([source])).rejects.toThrow(coded('LOADERX_ALREADY_CLOSED', store.path))
      expect(fingerprint(store.path)).toEqual(before)
    })
  })

  it('a signal gives an append up: before, while it waits, while it runs; nothing of it is visible', async () => {
    const store = await make()
    await store.append([noise(50, 1)])
    const reason = new Error('enough')
    const big = Buffer.alloc(40 * MIB, runs(MIB, 3))
    const before = fingerprint(store.path)
    await expect(store.append([noise(9, 2)], { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(fingerprint(store.path)).toEqual(before)
    for (const codec of ['raw', 'flate'] as const) {
      const abort = new AbortController()
      const running = store.append(big, MIB, { codec, signal: abort.signal })
      const waiting = store.append([noise(9, 4)], { signal: abort.signal })
      const behind = store.append([noise(70, 5)])
      setTimeout(() => abort.abort(reason), 5)
      await expect(running).rejects.toBe(reason)
      await expect(waiting).rejects.toBe(reason)
      await behind
    }
    await expectRecords(store, [noise(50, 1), noise(70, 5), noise(70, 5)])
    await expectRecords(await variant.open(store.path), [noise(50, 1), noise(70, 5), noise(70, 5)])
  })

  it('the memory of records may not go away while they are appended', async () => {
    const store = await make({ codec: 'raw' })
    const busy = store.append(noise(4 * MIB, 1), MIB)
    const gone = [noise(100, 2), noise(200, 3), noise(300, 4)]
    const waiting = [
      store.append([gone[0]!]),
      store.append(gone[1]!, 100),
      store.append(gone[2]!, { offsets: [1, 0], lengths: [5, 7] }),
    ]
    for (const { buffer } of gone) structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
    for (const one of waiting) await expect(one).rejects.toThrow(coded('LOADERX_INVALID_ARGUMENT', 'transferred'))
    await busy
    expect(store.length).toBe(4)
  })

  it('the lists of offsets and lengths are the caller’s again at once', async () => {
    const store = await make()
    const layout = { offsets: [5, 0], lengths: [50, 100] }
    const source = noise(200, 1)
    const done = store.append(source, layout)
    layout.offsets.fill(-1)
    layout.lengths.fill(0)
    await done
    await expectRecords(store, [source.subarray(5, 55), source.subarray(0, 100)])
  })
}
