// zrecord/: records are checked against sums.zr as they are read, in every residency; what another program wrote is not.
import { copyFileSync, readdirSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { DataLoader, Dataset, ndarray, type VerifyMode, Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { noise, runs } from '../support/bytes.ts'
import { golden, restoreStore, tempDir } from '../support/stores.ts'
import { editHeader, readAt, readEntry, readHeader, writeAt, writeEntries } from '../support/table.ts'
import { closeAfterEach, variants } from './suites/variants.ts'

closeAfterEach()

const records = Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? noise : runs)(200 + 50 * i, i))

/** A store of 60 records: even ones raw, odd ones deflated. */
async function makeStore(): Promise<string> {
  const path = join(tempDir(), 'store')
  const store = await Zrecord.open(path, { create: true })
  for (let i = 0; i < 60; i += 20) await store.append(records.slice(i, i + 20))
  await store.close()
  return path
}

function flip(path: string, at: number, bit = 0): void {
  writeAt(path, at, Uint8Array.of(readAt(path, at, 1)[0]! ^ (1 << bit)))
}

const damaged = (index: number, offset: number): object =>
  expect.objectContaining({
    code: 'LOADERX_CORRUPT_RECORD',
    message: expect.stringMatching(`record ${index} of .* is damaged: the checksum of its stored bytes is [0-9a-f]{8}`),
    details: expect.objectContaining({
      index,
      chunk: 0,
      offset,
      expected: expect.stringMatching(/^[0-9a-f]{8}$/),
      actual: expect.stringMatching(/^[0-9a-f]{8}$/),
    }),
  })

describe.each(variants)('$name', (variant) => {
  it.each([
    ['raw', 30],
    ['deflated', 31],
  ])('finds a flipped bit of a %s record, by its index, and reads the others', async (_, index) => {
    const path = await makeStore()
    const entry = readEntry(path, index)
    expect(entry.codec).toBe(index % 2)
    flip(join(path, '0.zr'), entry.offset + Math.floor(entry.phys / 2), 3)
    for (const verify of ['first', 'always'] as const) {
      const store = await variant.open(path, { verify })
      const wanted = [2, index, 5]
      const into = new Uint8Array(3 * 4096)
      expect(() => store.gatherSync(wanted, into, 4096)).toThrow(damaged(index, entry.offset) as Error)
      for (let i = 0; i < 2; i++) await expect(store.get(index)).rejects.toThrow(damaged(index, entry.offset) as Error)
      for (const other of [0, 1, index - 1, index + 1, 59]) {
        expect(Buffer.compare(await store.get(other), records[other]!)).toBe(0)
      }
      expect(store.stats().unsealed).toBe(0)
      await store.close()
    }
    const trusting = await variant.open(path, { verify: 'never' })
    if (index % 2 === 0) expect(Buffer.compare(await trusting.get(index), records[index]!)).not.toBe(0)
    await trusting.close()
  })

  it('finds every flipped bit of a table entry, or it changes nothing', async () => {
    const path = await makeStore()
    const outcomes = { found: 0, harmless: 0 }
    for (const index of [7, 40]) {
      for (let bit = 0; bit < 128; bit++) {
        const at = 16 + 16 * index + Math.floor(bit / 8)
        flip(join(path, 'meta.zr'), at, bit % 8)
        const store = await variant.open(path)
        const got = await store.get(index).then(
          (bytes) => (Buffer.compare(bytes, records[index]!) === 0 ? 'harmless' : 'wrong bytes'),
          (error) => (error as { code: string }).code,
        )
        if (got === 'harmless') outcomes.harmless++
        else {
          expect(got, `bit ${bit} of entry ${index}`).toBe('LOADERX_CORRUPT_RECORD')
          outcomes.found++
        }
        expect(Buffer.compare(await store.get(index + 1), records[index + 1]!)).toBe(0)
        await store.close()
        flip(join(path, 'meta.zr'), at, bit % 8)
      }
    }
    // Only the reserved byte of an entry may be anything.
    expect(outcomes).toEqual({ found: 2 * 120, harmless: 2 * 8 })
  })

  it('a record at a place where its sums do not fit is told with the place that the entry names', async () => {
    const path = await makeStore()
    const entry = readEntry(path, 20)
    writeEntries(path, 20, [{ ...entry, offset: entry.offset + 1 }])
    const store = await variant.open(path)
    await expect(store.get(20)).rejects.toThrow(damaged(20, entry.offset + 1) as Error)
  })

  it('appends keep what was checked, and new records are checked too', async () => {
    const path = await makeStore()
    const store = await variant.open(path)
    for (let i = 0; i < 60; i++) await store.get(i)
    const other = await variant.open(path)
    await other.append([noise(1000, 99), noise(3000, 98)], { codec: 'raw' })
    flip(join(path, '0.zr'), readEntry(path, 61).offset + 5)
    expect(store.length).toBe(62)
    expect(Buffer.compare(await store.get(60), noise(1000, 99))).toBe(0)
    await expect(store.get(61)).rejects.toThrow(damaged(61, readEntry(path, 61).offset) as Error)
  })

  it('a store without sums is read and counted; what is appended then has some', async () => {
    const path = restoreStore(golden('raw_u8').dir, join(tempDir(), 'store'))
    const store = await variant.open(path, { codec: 'raw' })
    expect(store.stats()).toMatchObject({ records: 40, unsealed: 40 })
    const before = await store.get(12)
    await store.append([noise(100, 1)])
    expect(store.stats()).toMatchObject({ records: 41, unsealed: 40 })
    flip(join(path, '0.zr'), 40 * 100 + 7)
    flip(join(path, '0.zr'), 12 * 100 + 7)
    const again = await variant.open(path)
    expect(Buffer.compare(await again.get(12), before)).not.toBe(0)
    await expect(again.get(40)).rejects.toThrow(damaged(40, 4000) as Error)
  })

  it('sums that are cut, damaged or no file at all are not believed, and reads go on', async () => {
    const path = await makeStore()
    const whole = `${path}-sums`
    copyFileSync(join(path, 'sums.zr'), whole)
    const spoil: [string, number, () => void][] = [
      ['gone', 60, () => rmSync(join(path, 'sums.zr'))],
      ['empty', 60, () => truncateSync(join(path, 'sums.zr'), 0)],
      ['cut in its header', 60, () => truncateSync(join(path, 'sums.zr'), 31)],
      ['cut in its list', 50, () => truncateSync(join(path, 'sums.zr'), 32 + 8 * 10 + 4)],
      ['without its mark', 60, () => flip(join(path, 'sums.zr'), 1)],
      ['of another length', 60, () => flip(join(path, 'sums.zr'), 8)],
      ['of another version', 60, () => flip(join(path, 'sums.zr'), 4)],
    ]
    for (const [name, unsealed, damage] of spoil) {
      damage()
      const store = await variant.open(path)
      for (const i of [0, 33, 59]) expect(Buffer.compare(await store.get(i), records[i]!), name).toBe(0)
      expect(store.stats().unsealed, name).toBe(unsealed)
      await store.close()
      copyFileSync(whole, join(path, 'sums.zr'))
    }
    const store = await variant.open(path)
    expect(store.stats().unsealed).toBe(0)
  })
})

it('checks the first time, always or never', async () => {
  for (const residency of ['mapped', 'file'] as const) {
    const outcome = async (verify: VerifyMode): Promise<string> => {
      const path = await makeStore()
      const store = await Zrecord.open(path, { residency, verify })
      await store.get(10)
      flip(join(path, '0.zr'), readEntry(path, 10).offset)
      const got = await store.get(10).then(
        () => 'read',
        (error) => (error as { code: string }).code,
      )
      await store.close()
      return got
    }
    expect(await outcome('first')).toBe('read')
    expect(await outcome('always')).toBe('LOADERX_CORRUPT_RECORD')
    expect(await outcome('never')).toBe('read')
  }
})

describe('a loader', () => {
  const rows = ndarray('uint8', [500, 64], noise(500 * 64, 3))
  it.each(['mapped', 'file'] as const)('%s: its workers share what was checked with the dataset', async (residency) => {
    for (const workers of [0, 2]) {
      const path = join(tempDir(), 'set')
      await Dataset.write(path, rows, { codec: 'raw' })
      await using data = await Dataset.open(path, { residency })
      await using loader = new DataLoader(data, { batchSize: 50, sampler: 'sequential', workers })
      for await (const _ of loader.take(8)) {
        // Samples 0 … 399 are read, and perhaps some after them.
      }
      await loader.close()
      for (let i = 0; i < 500; i += 1) flip(join(path, '0.zr'), 64 * i)
      for (const i of [0, 200, 399])
        expect((await data.at(i)).data.subarray(1)).toEqual(rows.data.subarray(64 * i + 1, 64 * i + 64))
      await using fresh = await Dataset.open(path, { residency })
      await expect(fresh.at(399)).rejects.toThrow('is damaged')
      await using careful = await Dataset.open(path, { residency, verify: 'always' })
      await expect(careful.at(0)).rejects.toThrow('is damaged')
      await using trusting = await Dataset.open(path, { residency, verify: 'never' })
      await trusting.at(0)
    }
  })

  it.each(['memory', 'mapped', 'file'] as const)('%s: meets a damaged sample by its index', async (residency) => {
    const path = join(tempDir(), 'set')
    await Dataset.write(path, rows, { codec: 'raw' })
    flip(join(path, '0.zr'), 64 * 123 + 9)
    for (const workers of [0, 2]) {
      await using data = await Dataset.open(path, { residency })
      await using loader = new DataLoader(data, { batchSize: 50, sampler: 'sequential', workers })
      const read = async () => {
        for await (const _ of loader.take(4)) {
          // The third batch has the damaged sample.
        }
      }
      await expect(read()).rejects.toMatchObject({
        code: 'LOADERX_CORRUPT_RECORD',
        details: { index: 123, step: 2, chunk: 0, offset: 64 * 123 },
      })
    }
  })
})

describe('sums of records that are not there any more', () => {
  it('of an append that never became visible do not count for what another program appends there', async () => {
    const path = await makeStore()
    const header = readHeader(path)
    const store = await Zrecord.open(path, { codec: 'raw' })
    await store.append([noise(500, 1)])
    await store.close()
    // As a process that was killed before its header leaves it, followed by an append of the original.
    writeAt(join(path, 'sums.zr'), 0, stampOf(await makeStore()))
    editHeader(path, header)
    writeAt(join(path, '0.zr'), header.tailOffset, noise(500, 2))
    editHeader(path, { length: 61, tailOffset: header.tailOffset + 500 })
    const again = await Zrecord.open(path, { codec: 'raw' })
    expect(Buffer.compare(await again.get(60), noise(500, 2))).toBe(0)
    expect(again.stats().unsealed).toBe(1)
    await again.append([noise(10, 3)])
    expect(again.stats().unsealed).toBe(1)
    expect(Buffer.compare(await again.get(60), noise(500, 2))).toBe(0)
    await again.close()
    const last = await Zrecord.open(path)
    expect(Buffer.compare(await last.get(60), noise(500, 2))).toBe(0)
    await last.close()
  })

  it('do not count after a delete, when other bytes come to the same place', async () => {
    const path = join(tempDir(), 'store')
    const store = await Zrecord.open(path, { create: true, codec: 'raw' })
    await store.append(noise(300, 1), 100)
    await store.delete([1])
    await store.close()
    // The original compacts (record 1 moves to byte 100) and appends where record 2 of old was.
    writeAt(join(path, '0.zr'), 100, readAt(join(path, '0.zr'), 200, 100))
    writeAt(join(path, '0.zr'), 200, noise(100, 9))
    const entry = { chunk: 0, offset: 100, phys: 100, logic: 100, codec: 0 }
    writeEntries(path, 1, [entry, { ...entry, offset: 200 }])
    editHeader(path, { length: 3, tailOffset: 300 })
    const again = await Zrecord.open(path, { verify: 'always' })
    expect(Buffer.compare(await again.get(2), noise(100, 9))).toBe(0)
    expect(Buffer.compare(await again.get(1), noise(300, 1).subarray(200))).toBe(0)
    expect(again.stats().unsealed).toBe(2)
    await again.append([noise(100, 4)])
    expect(again.stats().unsealed).toBe(2)
    for (let i = 0; i < 4; i++) await again.get(i)
    await again.close()
  })

  it('a mapped reader lives on while the sums are brought up to date after another program', async () => {
    const path = await makeStore()
    const reader = await Zrecord.open(path, { residency: 'mapped', verify: 'always' })
    await reader.get(3)
    // The original deletes the last record.
    editHeader(path, { length: 59 })
    const writer = await Zrecord.open(path, { codec: 'raw' })
    expect(writer.stats().unsealed).toBe(59)
    await writer.append([noise(70, 7)])
    expect(writer.stats().unsealed).toBe(59)
    for (let i = 0; i < 59; i++) expect(Buffer.compare(await reader.get(i), records[i]!)).toBe(0)
    expect(Buffer.compare(await reader.get(59), noise(70, 7))).toBe(0)
    flip(join(path, '0.zr'), readEntry(path, 59).offset)
    await expect(reader.get(59)).rejects.toThrow('is damaged')
    await Promise.all([reader.close(), writer.close()])
    expect(readdirSync(path).sort()).toEqual(['0.zr', 'meta.zr', 'sums.zr'])
  })
})

function stampOf(path: string): Uint8Array {
  return readAt(join(path, 'sums.zr'), 0, 32)
}
