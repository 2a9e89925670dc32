// zrecord/: handles that follow what other processes and other handles do to the store.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { noise, runs } from '../support/bytes.ts'
import { golden, nearlyFullStore, restoreStore, tempDir } from '../support/stores.ts'
import { editHeader, readEntry, readHeader, writeEntries } from '../support/table.ts'
import { closeAfterEach, variants } from './suites/variants.ts'

closeAfterEach()

/** Record `i` of the writing process: its index again and again. */
const record = (i: number): Uint8Array => new Uint8Array(Uint32Array.from({ length: 50 + (i % 100) }, () => i).buffer)

/** Starts a process that appends `count` such records, a few at a time, with both codecs. */
function startWriter(path: string, count: number) {
  const code = `
    import { Zrecord } from ${JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)))}
    const record = (i) => new Uint8Array(Uint32Array.from({ length: 50 + (i % 100) }, () => i).buffer)
    const store = await Zrecord.open(${JSON.stringify(path)}, { residency: 'file' })
    for (let i = 0; i < ${count}; ) {
      const list = Array.from({ length: Math.min(${count} - i, 1 + (i % 7)) }, (_, k) => record(i + k))
      await store.append(list, { codec: i % 2 === 0 ? 'raw' : 'flate' })
      i += list.length
    }
    await store.close()`
  return spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'inherit', 'inherit'] })
}

it.each([
  ['in one chunk', 2 ** 31],
  ['over the end of a chunk', 100_000],
])('another process appends %s: every handle sees whole records only', async (_, left) => {
  const path =
    left === 2 ** 31
      ? restoreStore(golden('empty').dir, join(tempDir(), 'store'))
      : nearlyFullStore(join(tempDir(), 'store'), left)
  const stores = await Promise.all(variants.map((variant) => variant.open(path)))
  const count = 1500
  const writer = startWriter(path, count)
  const exit = once(writer, 'exit')
  const lengths = stores.map(() => new Set<number>())
  const seen = stores.map(() => 0)
  while (seen.some((length) => length < count)) {
    if (writer.exitCode !== null && writer.exitCode !== 0) break
    for (const [k, store] of stores.entries()) {
      const { length } = store
      expect(length).toBeGreaterThanOrEqual(seen[k]!)
      lengths[k]!.add(length)
      const indices = [0, seen[k]!, length >> 1, length - 1].filter((i) => i >= 0 && i < length)
      const into = Buffer.alloc(600 * indices.length)
      await store.gather(indices, into, 600)
      for (const [at, i] of indices.entries()) {
        expect(Buffer.compare(into.subarray(at * 600, at * 600 + record(i).length), record(i))).toBe(0)
      }
      seen[k] = length
    }
    await new Promise((done) => setTimeout(done, 1))
  }
  expect((await exit)[0]).toBe(0)
  for (const set of lengths) expect(set.size).toBeGreaterThan(2)
  expect(readHeader(path).tailChunk).toBe(left === 2 ** 31 ? 0 : 1)
})

describe.each(variants)('$name', (variant) => {
  it('an index that is new since the last look is found, also without asking for the length', async () => {
    const path = join(tempDir(), 'store')
    const writer = await Zrecord.open(path, { create: true })
    const store = await variant.open(path)
    for (let i = 0; i < 5; i++) {
      await writer.append([noise(100, i)])
      const into = new Uint8Array(100)
      if (i % 2 === 0) await store.gather([i], into, 100)
      else store.gatherSync([i], into, 100)
      expect(Buffer.compare(into, noise(100, i))).toBe(0)
      expect([...store.lengths([i])]).toEqual([100])
    }
    await writer.close()
  })

  it('a handle that another of the process outgrew', async () => {
    const path = join(tempDir(), 'store')
    const writer = await variant.open(path, { create: true, codec: 'raw' })
    const store = await variant.open(path)
    await writer.append([noise(10, 1)])
    expect(Buffer.compare(await store.get(0), noise(10, 1))).toBe(0)
    const big = Buffer.alloc(20 * 2 ** 20, noise(2 ** 20, 2))
    await writer.append(big, 2 ** 20)
    await writer.append(runs(70_000, 3), 1)
    expect(store.length).toBe(70_021)
    expect(Buffer.compare(await store.get(20), noise(2 ** 20, 2))).toBe(0)
    expect(Buffer.compare(await store.get(0), noise(10, 1))).toBe(0)
    expect((await store.get(70_020))[0]).toBe(runs(70_000, 3).at(-1))
  })

  it('what was deleted and replaced behind a handle before it appends', async () => {
    // As the original deletes: the last entry takes the hole; then others are appended until the length is as before.
    const path = restoreStore(golden('raw_u8').dir, join(tempDir(), 'store'))
    const store = await variant.open(path)
    const last = await store.get(39)
    writeEntries(path, 3, [readEntry(path, 39)])
    editHeader(path, { length: 39 })
    const other = await Zrecord.open(path)
    await other.append([noise(100, 1)], { codec: 'raw' })
    await other.close()
    expect(await store.append([noise(100, 2)], { codec: 'raw' })).toBe(40)
    expect(Buffer.compare(await store.get(3), last)).toBe(0)
    expect(Buffer.compare(await store.get(39), noise(100, 1))).toBe(0)
    expect(Buffer.compare(await store.get(40), noise(100, 2))).toBe(0)
  })

  it('a store that shrank', async () => {
    const path = restoreStore(golden('raw_u8').dir, join(tempDir(), 'store'))
    const store = await variant.open(path)
    await store.get(39)
    editHeader(path, { length: 10 })
    expect(store.length).toBe(10)
    await expect(store.get(10)).rejects.toMatchObject({ code: 'LOADERX_INDEX_OUT_OF_RANGE' })
    expect((await store.get(9)).length).toBe(100)
  })
})
