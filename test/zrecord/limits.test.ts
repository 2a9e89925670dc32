// zrecord/: the limits of the format, and stores larger than one memory.
import { execFileSync } from 'node:child_process'
import { existsSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { noise } from '../support/bytes.ts'
import { golden, nearlyFullStore, restoreStore, tempDir } from '../support/stores.ts'
import { editHeader, fingerprint, readHeader, writeAt, writeEntries } from '../support/table.ts'
import { closeAfterEach, coded, variants } from './suites/variants.ts'

closeAfterEach()

it('a table that is full: an append fits whole or fails whole', async () => {
  const path = join(tempDir(), 'store')
  const made = await Zrecord.open(path, { create: true, codec: 'raw' })
  await made.append([noise(10, 1)])
  await made.close()
  editHeader(path, { length: 2 ** 24 - 2 })
  const store = await Zrecord.open(path, { residency: 'file' })
  const before = fingerprint(path)
  await expect(store.append(noise(300, 1), 100)).rejects.toThrow(coded('LOADERX_STORE_FULL', '16777214'))
  expect(fingerprint(path)).toEqual(before)
  expect(store.length).toBe(2 ** 24 - 2)
  expect(await store.append(noise(200, 1), 100, { codec: 'raw' })).toBe(2 ** 24 - 2)
  expect(store.length).toBe(2 ** 24)
  expect(Buffer.compare(await store.get(2 ** 24 - 1), noise(200, 1).subarray(100))).toBe(0)
  await expect(store.append([noise(1, 1)])).rejects.toThrow(coded('LOADERX_STORE_FULL'))
  await store.close()
})

it('a last chunk that is full', async () => {
  const path = nearlyFullStore(join(tempDir(), 'store'), 101)
  for (let chunk = 1; chunk <= 4095; chunk++) {
    writeFileSync(join(path, `${chunk}.zr`), '')
    truncateSync(join(path, `${chunk}.zr`), 2 ** 32)
  }
  editHeader(path, { tailChunk: 4095 })
  for (const residency of ['memory', 'mapped', 'file'] as const) {
    const store = await Zrecord.open(path, { residency, codec: 'raw' })
    const length = store.length
    const before = fingerprint(path)
    await expect(store.append([noise(102, 1)])).rejects.toThrow(coded('LOADERX_STORE_FULL', '4095'))
    expect(fingerprint(path)).toEqual(before)
    expect(store.length).toBe(length)
    if (length === 0) await store.append([noise(100, 1)])
    expect(Buffer.compare(await store.get(0), noise(100, 1))).toBe(0)
    await expect(store.append([noise(1, 1)])).rejects.toThrow(coded('LOADERX_STORE_FULL'))
    await store.close()
  }
  expect(readHeader(path)).toEqual({ tailChunk: 4095, tailOffset: 2 ** 32 - 1, length: 1 })
  expect(existsSync(join(path, '4096.zr'))).toBe(false)
})

describe('a store of four chunks of 4 GiB', () => {
  const CHUNK = 2 ** 32
  const places = [0, 4096, 3 * 2 ** 30 - 500, 3 * 2 ** 30 + 500, 3 * 2 ** 30 + 2 ** 20 - 3, CHUNK - 1001]

  /** 24 records of 1000 bytes at the start, in the middle (over the seam of two windows) and at the end of each chunk. */
  const makeSparse = (): string => {
    const path = restoreStore(golden('empty').dir, join(tempDir(), 'store'))
    const entries = []
    for (let chunk = 0; chunk < 4; chunk++) {
      const file = join(path, `${chunk}.zr`)
      if (chunk > 0) writeFileSync(file, '')
      truncateSync(file, CHUNK)
      for (const [i, offset] of places.entries()) {
        writeAt(file, offset, noise(1000, chunk * 6 + i))
        entries.push({ offset, phys: 1000, logic: 1000, chunk, codec: 0 })
      }
    }
    writeEntries(path, 0, entries)
    editHeader(path, { tailChunk: 3, tailOffset: CHUNK - 1, length: 24 })
    return path
  }

  it.each(['memory', 'mapped', 'file'] as const)('%s: every record, and little memory', (residency) => {
    const path = makeSparse()
    const code = `
      import { Zrecord } from ${JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)))}
      const store = await Zrecord.open(${JSON.stringify(path)}, { residency: '${residency}' })
      const indices = Array.from({ length: 48 }, (_, i) => (i * 29) % 24)
      const into = Buffer.alloc(48000)
      await store.gather(indices, into, 1000)
      const again = Buffer.alloc(48000)
      store.gatherSync(indices, again, 1000)
      if (!into.equals(again)) throw new Error('not the same')
      const first = await store.append([Buffer.alloc(300, 7)], { codec: 'raw' })
      const last = await store.get(first)
      await store.close()
      const { maxRSS } = process.resourceUsage()
      console.log(JSON.stringify({ kind: store.residency, bytes: into.toString('base64'), first, last: [...last], maxRSS }))`
    const args = ['--input-type=module', '-e', code]
    const { kind, bytes, first, last, maxRSS } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }))
    expect(kind).toBe(residency)
    const wanted = Buffer.concat(Array.from({ length: 48 }, (_, i) => noise(1000, (i * 29) % 24)))
    expect(Buffer.compare(Buffer.from(bytes, 'base64'), wanted)).toBe(0)
    expect(first).toBe(24)
    expect(last).toEqual(new Array(300).fill(7))
    expect(readHeader(path)).toEqual({ tailChunk: 4, tailOffset: 300, length: 25 })
    expect(maxRSS).toBeLessThan(2 ** 20)
  })
})

it.each(variants)('$name: an old handle follows a store into its second chunk', async (variant) => {
  const path = nearlyFullStore(join(tempDir(), 'store'), 5000)
  const old = await variant.open(path)
  const writer = await Zrecord.open(path, { codec: 'raw' })
  for (let i = 0; i < 12; i++) {
    await writer.append([noise(1000, i)])
    expect(old.length).toBe(i + 1)
    expect(Buffer.compare(await old.get(i), noise(1000, i))).toBe(0)
    expect(Buffer.compare(await old.get(0), noise(1000, 0))).toBe(0)
  }
  expect(readHeader(path)).toMatchObject({ tailChunk: 1 })
  await writer.close()
})
