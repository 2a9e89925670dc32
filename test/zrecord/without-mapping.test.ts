// zrecord/: the same suites in a process that has no package to map files with.
import { join } from 'node:path'
import { Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { golden, nearlyFullStore, restoreStore, tempDir } from '../support/stores.ts'
import { fingerprint } from '../support/table.ts'
import { appendSuite } from './suites/append.ts'
import { gatherSuite } from './suites/gather.ts'
import { closeAfterEach, coded, variants } from './suites/variants.ts'
import { vectorSuite } from './suites/vectors.ts'

// Read when a file is mapped for the first time; each test file has a process of its own.
process.env['LOADERX_NO_KOFFI'] = '1'
closeAfterEach()

describe.each(variants.filter(({ residency }) => residency !== 'mapped'))('$name', (variant) => {
  describe('reads', () => vectorSuite(variant))
  describe('gathers', () => gatherSuite(variant))
  describe('appends', () => appendSuite(variant))
})

it('mapped is refused by name, and nothing is made for it', async () => {
  const path = restoreStore(golden('raw_u8').dir, join(tempDir(), 'store'))
  const refused = coded('LOADERX_RESIDENCY_UNAVAILABLE', '@koromix/koffi-')
  await expect(Zrecord.open(path, { residency: 'mapped' })).rejects.toThrow(refused)
  const dir = tempDir()
  await expect(Zrecord.open(join(dir, 'a', 'b'), { residency: 'mapped', create: true })).rejects.toThrow(refused)
  expect(fingerprint(dir)).toEqual([])
})

it('auto takes memory for small stores and the files for others', async () => {
  for (const [path, residency] of [
    [restoreStore(golden('raw_u8').dir, join(tempDir(), 'store')), 'memory'],
    [nearlyFullStore(join(tempDir(), 'full'), 1000), 'file'],
  ] as const) {
    const store = await Zrecord.open(path)
    expect(store.residency).toBe(residency)
    await store.close()
  }
})
