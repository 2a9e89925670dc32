// Suite: the golden and broken stores, read by one variant.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { isLoaderxError, type Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import {
  broken,
  brokenBase,
  brokenCases,
  brokenRecordLength,
  golden,
  goldenCases,
  restoreStore,
  tempDir,
} from '../../support/stores.ts'
import { fingerprint } from '../../support/table.ts'
import { coded, type Variant } from './variants.ts'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const storeCases = brokenCases.filter((name) => broken(name).expected.kind === 'store')

/** What each of the records 0 … n - 1 gives: its sha256, or the code of the error. */
async function outcomes(store: Zrecord, n: number): Promise<string[]> {
  const seen: string[] = []
  for (let i = 0; i < n; i++) {
    const area = new Uint8Array(brokenRecordLength + 20).fill(0xee)
    const inside = area.subarray(10, 10 + brokenRecordLength)
    const results: string[] = []
    for (const gather of [
      () => store.gather([i], inside, brokenRecordLength),
      async () => store.gatherSync([i], inside, brokenRecordLength),
    ]) {
      inside.fill(0)
      try {
        await gather()
        results.push(sha256(inside))
      } catch (error) {
        expect(isLoaderxError(error)).toBe(true)
        const { code, details } = error as { code: string; details: { index?: number } }
        expect(details.index).toBe(i)
        results.push(code)
      }
    }
    expect(results[1]).toBe(results[0])
    expect([...area.subarray(0, 10), ...area.subarray(-10)]).toEqual(new Array(20).fill(0xee))
    seen.push(results[0]!)
  }
  return seen
}

/** What a careful reader sees of a broken store's records. */
function expectCareful(name: string, seen: readonly string[]): void {
  const { fail_records: fail, may_differ_from_base: differ } = broken(name).expected.careful
  for (const [i, one] of seen.entries()) {
    if (fail.includes(i) || i >= brokenBase.length) expect(one, `record ${i}`).toMatch(/^LOADERX_/)
    else if (differ.includes(i)) expect(one, `record ${i}`).toMatch(/^[0-9a-f]{64}$|^LOADERX_CORRUPT_RECORD$/)
    else expect(one, `record ${i}`).toBe(brokenBase[i])
  }
}

/** Runs the suite over `variant`. */
export function vectorSuite(variant: Variant): void {
  describe('the golden stores', () => {
    it.each(goldenCases)('%s: every record is right, and nothing on disk changes', async (name) => {
      const { dir, expected } = golden(name)
      const path = restoreStore(dir, join(tempDir(), name))
      const before = fingerprint(path)
      const store = await variant.open(path)
      expect(store.residency).toBe(variant.residency)
      expect(store.length).toBe(expected.count)
      const all = expected.records.map((_, i) => i)
      const lengths = expected.records.map(({ length }) => length)
      expect([...store.lengths(all)]).toEqual(lengths)
      const offsets = lengths.map((_, i) => lengths.slice(0, i).reduce((sum, length) => sum + length, 0))
      const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0))
      await store.gather(all, bytes, { offsets })
      for (const [i, { sha256: sum }] of expected.records.entries()) {
        expect(sha256(bytes.subarray(offsets[i], offsets[i]! + lengths[i]!)), `record ${i}`).toBe(sum)
        expect(sha256(await store.get(i)), `record ${i} by get`).toBe(sum)
      }
      await store.close()
      expect(fingerprint(path)).toEqual(before)
    })
  })

  describe('the broken stores', () => {
    it.each(storeCases)('%s: as a careful reader', async (name) => {
      const { dir, expected } = broken(name)
      const path = restoreStore(dir, join(tempDir(), name))
      const before = fingerprint(path)
      if (expected.careful.open === 'fail') {
        const code = name.startsWith('version_') && name !== 'version_0' ? 'LOADERX_NEWER_VERSION' : 'LOADERX_'
        await expect(variant.open(path)).rejects.toMatchObject({ code: expect.stringContaining(code) })
        await expect(variant.open(path, { create: true })).rejects.toMatchObject({
          code: expect.stringContaining(code),
        })
        expect(fingerprint(path)).toEqual(before)
        return
      }
      const store = await variant.open(path)
      const count = Math.min(store.length, 7)
      const seen = await outcomes(store, count)
      expectCareful(name, seen)
      expect(fingerprint(path)).toEqual(before)

      const record = new Uint8Array(300).fill(77)
      if (expected.careful.append === 'fail') {
        await expect(store.append([record], { codec: 'raw' })).rejects.toThrow(coded('LOADERX_CORRUPT_STORE'))
        expect(fingerprint(path)).toEqual(before)
        return
      }
      const length = store.length
      try {
        expect(await store.append([record], { codec: 'raw' })).toBe(length)
        expect(Buffer.compare(await store.get(length), record)).toBe(0)
      } catch (error) {
        expect(expected.careful.append).toBe('any')
        expect(isLoaderxError(error)).toBe(true)
        expect(fingerprint(path)).toEqual(before)
      }
      // An append must not turn a damaged record into one that reads without an error.
      expect(await outcomes(store, count)).toEqual(seen)
      expect(await outcomes(await variant.open(path), count)).toEqual(seen)
    })
  })
}
