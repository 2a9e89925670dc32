// Interop: the original reads what we wrote, in full: bytes, lengths, stats, schema and layout.
import { join } from 'node:path'
import { Dataset, openNpy, Zrecord } from 'loaderx'
import { expect, it } from 'vitest'
import { noise, runs, writeNpy, writeRecords } from '../support/bytes.ts'
import { needs } from '../support/parts.ts'
import { checkInterop } from '../support/reference.ts'
import { nearlyFullStore, tempDir } from '../support/stores.ts'

const CODECS = ['raw', 'flate'] as const

needs('python').describe('the original reads what we wrote', () => {
  for (const codec of CODECS) {
    it(`images of uint8, ${codec}`, async () => {
      const dir = tempDir()
      const npy = writeNpy(join(dir, 'images.npy'), '|u1', [500, 28, 28], runs(500 * 784, 1))
      await Dataset.write(join(dir, 'store'), await openNpy(npy), { codec, chunkBytes: 100_000 })
      await checkInterop(join(dir, 'store'), npy, '--codec', codec)
    })

    it(`ragged records and the limits of their length, ${codec}`, async () => {
      const dir = tempDir()
      const lengths = [1, 16, 17, 18, 100, 4096, 65_535, 65_536, 2 ** 20]
      const records = lengths.flatMap((length, i) => [runs(length, i), noise(length, i), new Uint8Array(length)])
      const store = await Zrecord.open(join(dir, 'store'), { create: true, codec })
      expect(await store.append(records.slice(0, 4))).toBe(0)
      const rest = records.slice(4)
      const offsets = rest.map((_, i) => rest.slice(0, i).reduce((sum, record) => sum + record.length, 0))
      const source = Buffer.concat(rest)
      expect(await store.append(source, { offsets, lengths: rest.map((record) => record.length) })).toBe(4)
      await store.close()
      await checkInterop(join(dir, 'store'), writeRecords(join(dir, 'records'), records), '--codec', codec)
    })

    it(`records that roll over to a second chunk, ${codec}`, async () => {
      const dir = tempDir()
      const path = nearlyFullStore(join(dir, 'store'), 1000)
      const store = await Zrecord.open(path, { codec })
      const records = Array.from({ length: 20 }, (_, i) => (i % 3 === 0 ? runs(300, i) : noise(300, i)))
      expect(await store.append(Buffer.concat(records), 300)).toBe(0)
      await store.close()
      await checkInterop(path, writeRecords(join(dir, 'records'), records), '--codec', codec)
    })
  }

  it('a record that would end exactly at the end of a chunk, and one that ends a byte before', async () => {
    for (const [left, fitting] of [
      [300, 0],
      [301, 1],
    ] as const) {
      const dir = tempDir()
      const path = nearlyFullStore(join(dir, 'store'), left)
      const store = await Zrecord.open(path, { codec: 'raw' })
      const records = [noise(300, 1), noise(300, 2)]
      await store.append(records)
      await store.close()
      const chunkBytes = 2 ** 32 + 300 * (2 - fitting)
      await checkInterop(path, writeRecords(join(dir, 'records'), records), '--stats', `chunk_bytes=${chunkBytes}`)
    }
  })

  it('scalars of int64', async () => {
    const dir = tempDir()
    const values = BigInt64Array.from({ length: 3000 }, (_, i) => (BigInt(i) - 1500n) * 6_148_914_691_236_517n)
    const npy = writeNpy(join(dir, 'labels.npy'), '<i8', [3000], values)
    await Dataset.write(join(dir, 'store'), await openNpy(npy))
    await checkInterop(join(dir, 'store'), npy)
  })

  it('matrices of float32, NaN and negative zero included', async () => {
    const dir = tempDir()
    const values = Float32Array.from(
      { length: 200 * 12 },
      (_, i) => [Math.fround(i / 7), -0, Number.NaN, 1e-40][i % 4]!,
    )
    const npy = writeNpy(join(dir, 'matrices.npy'), '<f4', [200, 3, 4], values)
    await Dataset.write(join(dir, 'store'), await openNpy(npy))
    await checkInterop(join(dir, 'store'), npy)
  })

  it('an empty dataset', async () => {
    const dir = tempDir()
    const npy = writeNpy(join(dir, 'none.npy'), '<u2', [0, 5], new Uint16Array(0))
    await Dataset.write(join(dir, 'store'), await openNpy(npy))
    await checkInterop(join(dir, 'store'), npy)
  })
})
