// Interop: we read what the original wrote: every dtype, both codecs, ragged records, several chunks, after deletes and
// a compact.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Dataset, Zrecord } from 'loaderx'
import { expect, it } from 'vitest'
import { noise, runs, writeNpy } from '../support/bytes.ts'
import { needs } from '../support/parts.ts'
import { runPython, startReference, writeStore } from '../support/reference.ts'
import { nearlyFullStore, tempDir } from '../support/stores.ts'

const RESIDENCIES = ['memory', 'file', 'auto'] as const

/** NumPy's dtype string and our name. */
const DTYPES = {
  '|b1': 'bool',
  '|i1': 'int8',
  '|u1': 'uint8',
  '<i2': 'int16',
  '<u2': 'uint16',
  '<i4': 'int32',
  '<u4': 'uint32',
  '<i8': 'int64',
  '<u8': 'uint64',
  '<f2': 'float16',
  '<f4': 'float32',
  '<f8': 'float64',
  '<c8': 'complex64',
  '<c16': 'complex128',
  '<M8[ns]': 'datetime64[ns]',
  '<m8[s]': 'timedelta64[s]',
  '>i2': 'int16',
  '>u8': 'uint64',
  '>f4': 'float32',
  '>f8': 'float64',
  '>c8': 'complex64',
  '<U5': 'U5',
  '>U2': 'U2',
  '|S3': 'S3',
}

/** Writes N.npy with 40 rows of 2×3 of each dtype, as stored, and N.bin with the same values in little endian. */
const MAKE_ARRAYS = `
import sys
import numpy as np
out, descrs = sys.argv[1], sys.argv[2:]
rng = np.random.default_rng(5)
for n, descr in enumerate(descrs):
    dtype = np.dtype(descr)
    if dtype.kind in "US":
        values = np.array([["", "a", "é€𝄞"[: dtype.itemsize // 4], "xyz", "b", "hello"]] * 40).reshape(40, 2, 3)
        if dtype.kind == "S":
            values = np.char.encode(values, "utf-8")
        array = values.astype(dtype)
    elif dtype.kind == "b":
        array = rng.integers(0, 2, (40, 2, 3)).astype(dtype)
    else:
        array = np.frombuffer(rng.bytes(240 * dtype.itemsize), dtype).reshape(40, 2, 3)
    np.save(f"{out}/{n}.npy", array)
    array.astype(dtype.newbyteorder("<")).tofile(f"{out}/{n}.bin")
`

needs('python').describe('we read what the original wrote', () => {
  it('every dtype, big-endian ones converted', async () => {
    const dir = tempDir()
    await runPython(MAKE_ARRAYS, dir, ...Object.keys(DTYPES))
    const stores = Object.keys(DTYPES).map((_, n) => join(dir, `store${n}`))
    const write =
      'import sys, numpy, loaderx\nfor p in sys.argv[1:]: loaderx.Dataset.write(p, numpy.load(p.replace("store", "") + ".npy")).close()'
    await runPython(write, ...stores)
    for (const [n, [descr, name]] of Object.entries(DTYPES).entries()) {
      const dataset = await Dataset.open(stores[n]!)
      expect([dataset.dtype, dataset.shape, dataset.length], descr).toEqual([name, [2, 3], 40])
      const order = Array.from({ length: 40 }, (_, i) => (i * 7) % 40)
      const { dtype, shape, data } = await dataset.gather(order)
      expect([dtype, shape], descr).toEqual([name, [40, 2, 3]])
      const expected = readFileSync(join(dir, `${n}.bin`))
      const rowBytes = expected.length / 40
      const rows = order.map((i) => expected.subarray(i * rowBytes, (i + 1) * rowBytes))
      expect(
        Buffer.compare(Buffer.from(data.buffer, data.byteOffset, data.byteLength), Buffer.concat(rows)),
        descr,
      ).toBe(0)
      await dataset.close()
    }
  })

  for (const codec of ['raw', 'flate'] as const) {
    it(`images, ${codec}, sample by sample and in batches, in every residency`, async () => {
      const dir = tempDir()
      const bytes = runs(600 * 784, 2)
      const npy = writeNpy(join(dir, 'images.npy'), '|u1', [600, 28, 28], bytes)
      await writeStore(join(dir, 'store'), [npy], '--codec', codec)
      for (const residency of RESIDENCIES) {
        const store = await Zrecord.open(join(dir, 'store'), { readOnly: true, residency })
        const order = Array.from({ length: 600 }, (_, i) => (i * 271 + 5) % 600)
        const into = new Uint8Array(600 * 784)
        await store.gather(order, into, 784)
        const wrong = order.filter((index, i) =>
          Buffer.compare(into.subarray(i * 784, i * 784 + 784), bytes.subarray(index * 784, index * 784 + 784)),
        )
        expect(wrong, residency).toEqual([])
        expect(await store.get(599), residency).toEqual(bytes.subarray(599 * 784))
        await store.close()
      }
    })

    it(`ragged records, ${codec}`, async () => {
      const dir = tempDir()
      const lengths = [1, 16, 17, 300, 5000, 2 ** 20]
      const records = lengths.flatMap((length, i) => [runs(length, i), noise(length, i)])
      const files = records.map((record, i) => {
        writeFileSync(join(dir, `in${i}`), record)
        return join(dir, `in${i}`)
      })
      await writeStore(join(dir, 'store'), files, '--bytes', '--codec', codec)
      await expectRecords(join(dir, 'store'), records)
    })
  }

  it('what is left after a delete, and after a compact', async () => {
    const dir = tempDir()
    const npy = writeNpy(join(dir, 'rows.npy'), '<i4', [60, 5], noise(60 * 20, 3))
    for (const options of [['--delete', '2,5,7,59,0'], ['--compact']]) {
      const left = join(dir, `left${options.length}`)
      await writeStore(join(dir, 'store'), options.length === 2 ? [npy] : [], ...options, '--dump-raw', left)
      const count = readdirSync(left).length
      expect(count).toBe(55)
      const records = Array.from({ length: count }, (_, i) => new Uint8Array(readFileSync(join(left, `${i}.bin`))))
      await expectRecords(join(dir, 'store'), records)
    }
  })

  it('records in two chunks', async () => {
    const path = nearlyFullStore(join(tempDir(), 'store'), 1000)
    const records = Array.from({ length: 8 }, (_, i) => noise(300, i))
    const original = startReference()
    await original.append(path, records, 'raw')
    const stats = await original.stats(path)
    await original.close()
    expect(stats.chunk_bytes).toBe(2 ** 32 + 5 * 300)
    await expectRecords(path, records)
  })
})

async function expectRecords(path: string, records: readonly Uint8Array[]): Promise<void> {
  for (const residency of RESIDENCIES) {
    const store = await Zrecord.open(path, { readOnly: true, residency })
    expect(store.length, residency).toBe(records.length)
    const indices = records.map((_, i) => i)
    expect(store.lengths(indices), residency).toEqual(Uint32Array.from(records, (record) => record.length))
    const wrong: number[] = []
    for (const i of indices) if (Buffer.compare(await store.get(i), records[i]!) !== 0) wrong.push(i)
    expect(wrong, residency).toEqual([])
    const offsets = records.map((_, i) => records.slice(0, i).reduce((sum, record) => sum + record.length, 0))
    const into = new Uint8Array(records.reduce((sum, record) => sum + record.length, 0))
    await store.gather(indices, into, { offsets })
    expect(Buffer.compare(into, Buffer.concat(records)), residency).toBe(0)
    await store.close()
  }
}
