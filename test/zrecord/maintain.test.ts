// zrecord/: delete, compact and stats: what they leave, what they refuse, and what a failure or an abort in the middle
// leaves.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { NodeDirectory } from '#dist/storage/files.js'
import { openStore } from '#dist/zrecord/zrecord.js'
import { noise, runs } from '../support/bytes.ts'
import { RecordedDirectory } from '../support/recorded.ts'
import { broken, golden, goldenCases, nearlyFullStore, restoreStore, tempDir } from '../support/stores.ts'
import { editHeader, fingerprint, readEntry, readHeader, writeAt, writeEntries } from '../support/table.ts'
import { closeAfterEach, variants } from './suites/variants.ts'

closeAfterEach()

const sizes = (count: number, seed: number): Uint8Array[] =>
  Array.from({ length: count }, (_, i) => (i % 3 === 0 ? runs : noise)(50 + ((i * 7919 + seed) % 900), i))

/** The records that a delete leaves: from the highest index down, the last one fills the hole. */
function without(records: readonly Uint8Array[], indices: readonly number[]): Uint8Array[] {
  const left = [...records]
  for (const index of [...new Set(indices)].sort((a, b) => b - a)) {
    const last = left.pop()!
    if (index < left.length) left[index] = last
  }
  return left
}

async function expectRecords(store: Zrecord, records: readonly Uint8Array[]): Promise<void> {
  expect(store.length).toBe(records.length)
  for (const [i, record] of records.entries()) expect(Buffer.compare(await store.get(i), record), `record ${i}`).toBe(0)
}

describe.each(variants)('$name', (variant) => {
  it('removes records, says what moved, and compacts; all handles after it see the same', async () => {
    const path = join(tempDir(), 'store')
    const store = await variant.open(path, { create: true })
    const records = sizes(300, 1)
    await store.append(records)
    await store.get(299)
    const indices = [5, 299, 100, 5, 298, 0, 150]
    const result = await store.delete(indices)
    const left = without(records, indices)
    expect(result).toMatchObject({ length: 294, removed: 6 })
    for (const [from, to] of result.moves) expect(left[to]).toBe(records[from])
    const moved = new Set(result.moves.map(([, to]) => to))
    for (let i = 0; i < 294; i++) if (!moved.has(i)) expect(left[i]).toBe(records[i])
    await expectRecords(store, left)
    const before = store.stats()
    expect(before).toMatchObject({ records: 294, unsealed: 0, unknown: 0 })
    expect(before.reclaimable).toBeGreaterThan(0)
    expect(before.logicalBytes).toBe(left.reduce((sum, one) => sum + one.length, 0))
    await store.compact()
    expect(store.stats()).toMatchObject({ liveBytes: before.liveBytes, chunkBytes: before.liveBytes, reclaimable: 0 })
    expect(store.stats().unsealed).toBe(0)
    await expectRecords(store, left)
    expect(await store.append([noise(9, 9)])).toBe(294)
    await store.close()
    const again = await variant.open(path, { verify: 'always' })
    await expectRecords(again, [...left, noise(9, 9)])
    expect(readdirSync(path).sort()).toEqual(['0.zr', 'meta.zr', 'sums.zr'])
  })

  it('a compact over a rollover keeps every record and removes the chunk that it empties', async () => {
    const path = nearlyFullStore(join(tempDir(), 'store'), 20_000)
    const store = await variant.open(path, { codec: 'raw' })
    const records = sizes(100, 4)
    await store.append(records)
    expect(readHeader(path).tailChunk).toBe(1)
    await store.delete([3, 50])
    await store.compact()
    expect(readHeader(path)).toMatchObject({ tailChunk: 0, tailOffset: store.stats().liveBytes })
    expect(existsSync(join(path, '1.zr'))).toBe(false)
    expect(statSync(join(path, '0.zr')).size).toBe(2 ** 32)
    await expectRecords(store, without(records, [3, 50]))
    await store.close()
    await expectRecords(await variant.open(path, { verify: 'always' }), without(records, [3, 50]))
  })
})

describe('a delete', () => {
  it('of nothing, of all, and of all but one', async () => {
    const store = await Zrecord.open(join(tempDir(), 'store'), { create: true, codec: 'raw' })
    expect(await store.delete([])).toEqual({ length: 0, removed: 0, moves: [] })
    await store.append(noise(500, 1), 100)
    expect(await store.delete([])).toEqual({ length: 5, removed: 0, moves: [] })
    expect(await store.delete(Uint8Array.of(3, 1, 2, 0))).toEqual({ length: 1, removed: 4, moves: [[4, 0]] })
    expect(await store.get(0)).toEqual(noise(500, 1).subarray(400))
    expect(await store.delete([0])).toEqual({ length: 0, removed: 1, moves: [] })
    await store.compact()
    expect(store.stats()).toMatchObject({ records: 0, chunkBytes: 0, reclaimable: 0 })
    expect(await store.append([noise(3, 3)])).toBe(0)
    await store.close()
  })

  it('that is refused changes nothing', async () => {
    const path = join(tempDir(), 'store')
    const store = await Zrecord.open(path, { create: true, codec: 'raw' })
    await store.append(noise(500, 1), 100)
    const before = fingerprint(path)
    const cases = [
      [[1, 5], 'LOADERX_INDEX_OUT_OF_RANGE', 'index 5 at position 1'],
      [[2, -1], 'LOADERX_INDEX_OUT_OF_RANGE', 'index -1 at position 1'],
      [[2 ** 40], 'LOADERX_INDEX_OUT_OF_RANGE', `index ${2 ** 40} at position 0`],
      [[0, 1.5], 'LOADERX_INVALID_INDEX', 'index 1.5 at position 1'],
      [7, 'LOADERX_INVALID_INDEX', 'number'],
    ] as const
    for (const [indices, code, message] of cases) {
      const refused = { code, message: expect.stringContaining(message) }
      await expect(store.delete(indices as unknown as number[])).rejects.toMatchObject(refused)
    }
    await store.close()
    expect(fingerprint(path)).toEqual(before)
  })

  it('counts what it removed, also when appends and deletes of the same handle wait for each other', async () => {
    const store = await Zrecord.open(join(tempDir(), 'store'), { create: true, codec: 'raw' })
    await store.append(noise(500, 1), 100)
    const results = await Promise.all([
      store.append(noise(300, 2), 100),
      store.delete([0]),
      store.append(noise(200, 3), 100),
      store.delete([1, 1]),
    ])
    expect(results[0]).toBe(5)
    expect(results[1]).toEqual({ length: 7, removed: 1, moves: [[7, 0]] })
    expect(results[2]).toBe(7)
    expect(results[3]).toEqual({ length: 8, removed: 1, moves: [[8, 1]] })
    await store.close()
  })

  it('of a damaged table entry leaves it as damaged as it was', async () => {
    const path = join(tempDir(), 'store')
    const store = await Zrecord.open(path, { create: true, codec: 'raw' })
    await store.append(noise(500, 1), 100)
    writeEntries(path, 4, [{ ...readEntry(path, 4), offset: 399 }])
    await store.delete([1])
    await expect(store.get(1)).rejects.toMatchObject({ code: 'LOADERX_CORRUPT_RECORD', details: { offset: 399 } })
    await store.close()
  })
})

describe('a compact', () => {
  it('keeps the physical order, whatever the order of the table', async () => {
    const path = join(tempDir(), 'store')
    const store = await Zrecord.open(path, { create: true, codec: 'raw' })
    await store.append(noise(1000, 1), 100)
    await store.delete([1, 4])
    expect([1, 4].map((i) => readEntry(path, i).offset)).toEqual([800, 900])
    await store.compact()
    expect([0, 2, 3, 5, 6, 7, 1, 4].map((i) => readEntry(path, i).offset)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7].map((i) => 100 * i),
    )
    await store.close()
  })

  it('that finds all in place writes no record, and one that was done is done', async () => {
    const directory = new RecordedDirectory(join(tempDir(), 'store'))
    const store = await openStore(directory, { create: true, codec: 'raw', residency: 'file' })
    await store.append(noise(1000, 1), 100)
    directory.takeChanges()
    await store.compact()
    await store.delete([9])
    directory.takeChanges()
    await store.compact()
    const changes = directory.takeChanges()
    expect(changes.filter((one) => one.startsWith('write 0.zr'))).toEqual([])
    expect(readHeader(directory.path).tailOffset).toBe(900)
    await store.close()
  })

  it('gives the blocks of the file system back', async () => {
    const path = join(tempDir(), 'store')
    const store = await Zrecord.open(path, { create: true, codec: 'raw' })
    for (let i = 0; i < 8; i++) await store.append(noise(2 ** 20, i), 2 ** 16)
    const blocks = () => statSync(join(path, '0.zr')).blocks * 512
    expect(blocks()).toBeGreaterThanOrEqual(8 * 2 ** 20)
    const allocated = store.stats().allocatedBytes
    await store.delete(Array.from({ length: 96 }, (_, i) => i))
    expect(blocks()).toBeGreaterThanOrEqual(8 * 2 ** 20)
    await store.compact()
    expect(blocks()).toBeLessThanOrEqual(2 * 2 ** 20 + 65536)
    expect(statSync(join(path, '0.zr')).size).toBe(2 ** 32)
    expect(store.stats().allocatedBytes).toBeLessThanOrEqual(allocated - 6 * 2 ** 20 + 65536)
    await store.close()
  })

  it('refuses records that share bytes, and damaged entries, by their index and without a change', async () => {
    const make = async (): Promise<string> => {
      const path = join(tempDir(), 'store')
      const store = await Zrecord.open(path, { create: true, codec: 'raw' })
      await store.append(noise(1000, 1), 100)
      await store.close()
      return path
    }
    const cases: [string, RegExp, (path: string) => void][] = [
      [
        'overlap',
        /record 7 shares bytes with record 3/,
        (path) => writeEntries(path, 7, [{ ...readEntry(path, 7), offset: 350 }]),
      ],
      [
        'past the end',
        /record 9 has a damaged table entry .*reach past/,
        (path) => editHeader(path, { tailOffset: 999 }),
      ],
      [
        'codec',
        /record 2 has a damaged table entry .*codec 7/,
        (path) => writeEntries(path, 2, [{ ...readEntry(path, 2), codec: 7 }]),
      ],
      [
        'too short',
        /record 3 has a damaged table entry .*logical length 0/,
        (path) => writeEntries(path, 3, [{ ...readEntry(path, 3), logic: 0 }]),
      ],
      // An entry that could be followed, but is not the one that was written.
      [
        'shorter',
        /record 5 is not the one that was written/,
        (path) => writeEntries(path, 5, [{ ...readEntry(path, 5), phys: 90, logic: 90 }]),
      ],
    ]
    for (const [name, message, damage] of cases) {
      const path = await make()
      damage(path)
      const before = fingerprint(path)
      const store = await Zrecord.open(path)
      const refused = {
        code: 'LOADERX_CORRUPT_STORE',
        message: expect.stringMatching(name === 'past the end' ? /run repair/ : message),
      }
      await expect(store.compact(), name).rejects.toMatchObject(refused)
      await store.close()
      expect(fingerprint(path), name).toEqual(before)
    }
    const overlapping = restoreStore(broken('overlap').dir, join(tempDir(), 'overlap'))
    const store = await Zrecord.open(overlapping)
    await expect(store.compact()).rejects.toThrow('shares bytes')
    await store.close()
  })

  it('that is given up keeps a whole store, and the next one goes on', async () => {
    const path = join(tempDir(), 'store')
    const store = await Zrecord.open(path, { create: true, codec: 'raw' })
    const records = Array.from({ length: 40 }, (_, i) => noise(2 ** 19, i))
    for (let i = 0; i < 40; i += 10) await store.append(records.slice(i, i + 10))
    await store.delete([0])
    const left = without(records, [0])
    const abort = new AbortController()
    const seen: number[] = []
    const given = store.compact({
      signal: abort.signal,
      onProgress: ({ doneBytes, totalBytes }) => {
        expect(totalBytes).toBe(39 * 2 ** 19)
        seen.push(doneBytes)
        if (seen.length === 2) abort.abort()
      },
    })
    await expect(given).rejects.toMatchObject({ name: 'AbortError' })
    expect(seen).toHaveLength(2)
    expect(readHeader(path).tailOffset).toBe(40 * 2 ** 19)
    await expectRecords(store, left)
    expect(store.stats()).toMatchObject({ unsealed: 0, reclaimable: 2 ** 19 })
    let moved = 0
    await store.compact({
      onProgress: ({ doneBytes }) => {
        moved = moved === 0 ? doneBytes : moved
      },
    })
    expect(moved).toBeGreaterThan(0)
    expect(store.stats().reclaimable).toBe(0)
    await expectRecords(store, left)
    await store.close()
    const aborted = await Zrecord.open(path)
    await expect(aborted.compact({ signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    await aborted.close()
  })
})

describe('a delete or a compact that fails at any of its operations', () => {
  const noSpace = (): Error => Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
  const records = sizes(60, 2)
  const deleted = without(records, [2, 30, 59])
  it.each(['delete', 'compact'] as const)('%s: is done or not done after the next open, never half', async (what) => {
    for (let failing = 0; ; failing++) {
      const directory = new RecordedDirectory(join(tempDir(), 'store'))
      const store = await openStore(directory, { create: true, residency: 'file' })
      await store.append(records)
      if (what === 'compact') await store.delete([2, 30, 59])
      let count = 0
      let failed = ''
      directory.fail = (operation) => {
        if (!/^(write|truncate|rename|remove|open \S+ create)/.test(operation)) return undefined
        if (count++ !== failing) return undefined
        failed = operation
        return noSpace()
      }
      const outcome = await (what === 'delete' ? store.delete([2, 30, 59]) : store.compact()).then(
        () => 'done',
        (error) => (error as Error).message,
      )
      directory.fail = () => undefined
      if (outcome === 'done') {
        expect(failing).toBeGreaterThan(5)
        await store.close()
        break
      }
      expect(outcome).toContain('ENOSPC')
      const pending = existsSync(join(directory.path, 'journal.zr'))
      // The handle itself does not read what is half done.
      if (pending) {
        await expect(store.get(0), failed).rejects.toMatchObject({ code: 'LOADERX_NEEDS_REPAIR' })
      }
      await store.close()
      if (pending) {
        const readOnly = openStore(new NodeDirectory(directory.path), { readOnly: true })
        await expect(readOnly).rejects.toMatchObject({ code: 'LOADERX_NEEDS_REPAIR' })
      }
      const again = await openStore(new NodeDirectory(directory.path), { verify: 'always' })
      expect(existsSync(join(directory.path, 'journal.zr'))).toBe(false)
      const wanted = what === 'compact' || pending || again.length === 57 ? deleted : records
      await expectRecords(again, wanted)
      expect(again.stats().unsealed, failed).toBe(0)
      if (what === 'delete' && again.length === 60) await again.delete([2, 30, 59])
      await again.compact()
      expect(again.stats()).toMatchObject({ reclaimable: 0, unsealed: 0 })
      await expectRecords(again, deleted)
      await again.close()
    }
  })

  it('is finished by the same handle before its next delete', async () => {
    const directory = new RecordedDirectory(join(tempDir(), 'store'))
    const store = await openStore(directory, { create: true, residency: 'file' })
    await store.append(records)
    directory.fail = (operation) => (operation.startsWith('write meta.zr') ? noSpace() : undefined)
    await expect(store.delete([2, 30, 59])).rejects.toThrow('ENOSPC')
    directory.fail = () => undefined
    expect(await store.delete([0])).toMatchObject({ length: 56, removed: 1 })
    await expectRecords(store, without(deleted, [0]))
    await store.close()
  })
})

it('with durability power each stage is flushed before the next', async () => {
  const directory = new RecordedDirectory(join(tempDir(), 'store'))
  const store = await openStore(directory, { create: true, codec: 'raw', residency: 'file', durability: 'power' })
  await store.append(noise(1000, 1), 100)
  directory.takeChanges()
  await store.append([noise(50, 2)])
  expect(directory.takeChanges()).toEqual([
    'write 0.zr 1000+50',
    'write sums.zr 112+8',
    'sync sums.zr',
    'sync 0.zr',
    'write meta.zr 176+16',
    'sync meta.zr',
    'write meta.zr 0+16',
    'sync meta.zr',
    'write sums.zr 0+32',
  ])
  await store.delete([0])
  expect(directory.takeChanges().map((one) => one.replace(/new 0\+\d+/, 'new'))).toEqual([
    'open journal.zr.new create',
    'write journal.zr.new',
    'sync journal.zr.new',
    'rename journal.zr.new journal.zr',
    'sync',
    'write meta.zr 16+16',
    'write sums.zr 32+8',
    'write meta.zr 0+16',
    'write sums.zr 0+32',
    'sync sums.zr',
    'sync meta.zr',
    'remove journal.zr',
    'sync',
  ])
  await store.close()
})

it('stats of the golden stores are those of the original', async () => {
  for (const name of goldenCases) {
    const { dir, expected } = golden(name)
    const path = restoreStore(dir, join(tempDir(), name))
    const store = await Zrecord.open(path)
    const { live_bytes: liveBytes, chunk_bytes: chunkBytes, records, reclaimable } = expected.stats
    expect(store.stats(), name).toMatchObject({ records, liveBytes, chunkBytes, reclaimable, unsealed: records })
    await store.close()
    writeAt(join(path, 'meta.zr'), 16 + 14, Uint8Array.of(9))
    const other = await Zrecord.open(path)
    expect(other.stats().unknown).toBe(records > 0 ? 1 : 0)
    await other.close()
  }
})
