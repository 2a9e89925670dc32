// zrecord/: closing, what runs meanwhile, and what stays behind.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Zrecord } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { noise, runs } from '../support/bytes.ts'
import { golden, nearlyFullStore, restoreStore, tempDir } from '../support/stores.ts'
import { closeAfterEach, coded, variants } from './suites/variants.ts'

closeAfterEach()

describe.each(variants)('$name', (variant) => {
  const open = () => variant.open(join(tempDir(), 'store'), { create: true })

  it('every use after a close is a coded error, and a second close is none', async () => {
    const store = await open()
    await store.append([noise(100, 1)])
    await store.close()
    await store.close()
    const closed = coded('LOADERX_ALREADY_CLOSED', store.path)
    const into = new Uint8Array(100).fill(7)
    expect(() => store.length).toThrow(closed)
    expect(() => store.lengths([0])).toThrow(closed)
    expect(() => store.gatherSync([0], into, 100)).toThrow(closed)
    await expect(store.gather([0], into, 100)).rejects.toThrow(closed)
    await expect(store.get(0)).rejects.toThrow(closed)
    await expect(store.append([into])).rejects.toThrow(closed)
    await expect(store.append([])).rejects.toThrow(closed)
    await expect(store.sync()).rejects.toThrow(closed)
    expect(into.every((byte) => byte === 7)).toBe(true)
    expect(store.residency).toBe(variant.residency)
  })

  it('waits for what runs, and what comes later is refused', async () => {
    const store = await open()
    const source = runs(2 ** 20, 1)
    await store.append(source, 1024)
    const into = new Uint8Array(2 ** 20)
    const indices = Array.from({ length: 1024 }, (_, i) => i)
    const ended: string[] = []
    const running = [
      store.gather(indices, into, 1024).then(() => ended.push('gather')),
      store.append(source, 1024).then(() => ended.push('append')),
      store.append(source, 1024, { codec: 'raw' }).then(() => ended.push('append')),
      store.sync().then(() => ended.push('sync')),
    ]
    const closing = [store.close(), store.close()].map((close) => close.then(() => ended.push('close')))
    await expect(store.append([source])).rejects.toThrow(coded('LOADERX_ALREADY_CLOSED'))
    await Promise.all([...running, ...closing])
    expect(ended.slice(-2)).toEqual(['close', 'close'])
    expect(Buffer.compare(into, source)).toBe(0)
    expect((await variant.open(store.path)).length).toBe(3072)
  })

  it('is disposed of like any resource', async () => {
    const store = await open()
    await store[Symbol.asyncDispose]()
    expect(() => store.length).toThrow(coded('LOADERX_ALREADY_CLOSED'))
  })

  it('a close while an append fails still closes', async () => {
    const store = await open()
    const abort = new AbortController()
    const running = store.append(runs(4 * 2 ** 20, 1), 1024, { signal: abort.signal })
    const closing = store.close()
    abort.abort()
    await expect(running).rejects.toMatchObject({ name: 'AbortError' })
    await closing
  })
})

it('150 stores, one after another: no mapping and no descriptor stays', async () => {
  const path = restoreStore(golden('raw_u8').dir, join(tempDir(), 'store'))
  const several = nearlyFullStore(join(tempDir(), 'several'), 1000)
  const mappings = () =>
    readFileSync('/proc/self/maps', 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('.zr'))
  const descriptors = () => readdirSync('/proc/self/fd').length
  const before = descriptors()
  for (let i = 0; i < 150; i++) {
    const store = await variants[2 + (i % 2)]!.open(i % 10 === 0 ? several : path)
    if (i % 10 === 0) await store.append(noise(900, i), 300, { codec: 'raw' })
    await store.get(store.length - 1)
    if (i === 0) expect(mappings().length).toBeGreaterThan(0)
    await store.close()
  }
  expect(mappings()).toEqual([])
  expect(descriptors()).toBeLessThanOrEqual(before)
})

it('a failing open leaves no descriptor', async () => {
  const path = restoreStore(golden('raw_u8').dir, join(tempDir(), 'store'))
  const descriptors = () => readdirSync('/proc/self/fd').length
  const before = descriptors()
  for (let i = 0; i < 20; i++) {
    await expect(Zrecord.open(join(path, 'meta.zr'))).rejects.toThrow(coded('LOADERX_NOT_A_DIRECTORY'))
    await expect(Zrecord.open(join(path, '..'))).rejects.toThrow(coded('LOADERX_NOT_A_STORE'))
  }
  expect(descriptors()).toBe(before)
})
