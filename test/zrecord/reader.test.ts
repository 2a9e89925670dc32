// zrecord/: a reader on the plain state of a store that is held in place, as the loader's threads use it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Zrecord } from 'loaderx'
import { expect, it } from 'vitest'
import type { HeldStore } from '#dist/zrecord/home.js'
import { RecordReader } from '#dist/zrecord/reader.js'
import { readerScratch } from '#dist/zrecord/reader-state.js'
import { holdStore } from '#dist/zrecord/zrecord.js'
import { noise, runs } from '../support/bytes.ts'
import { golden, restoreStore, tempDir } from '../support/stores.ts'
import { closeAfterEach, coded, type Variant, variants } from './suites/variants.ts'

closeAfterEach()

const records = Array.from({ length: 50 }, (_, i) => (i % 5 === 0 ? runs(100, i) : noise(100, i)))
const indices = Array.from({ length: 200 }, (_, i) => (i * 7) % 50)
const wanted = Buffer.concat(indices.map((i) => records[i]!))

async function hold(variant: Variant): Promise<{ store: Zrecord; held: HeldStore }> {
  const store = await variant.open(join(tempDir(), 'store'), { create: true })
  await store.append(records)
  return { store, held: holdStore(store) }
}

it.each(variants)('$name: does with less where there is no room beside the store', async (variant) => {
  const { held } = await hold(variant)
  const address = held.arena.allocate(readerScratch(256))
  const asked: number[] = []
  const reader = new RecordReader(held.state, (bytes) => {
    asked.push(bytes)
    return asked.length === 1 ? address : undefined
  })
  const into = Buffer.alloc(20_000)
  reader.gather(indices, into, 100)
  expect(Buffer.compare(into, wanted)).toBe(0)
  expect(() => reader.gather(new Array(257).fill(0), Buffer.alloc(25_700), 100)).toThrow(
    coded('LOADERX_BATCH_TOO_LARGE'),
  )
  reader.close()
  held.release()
})

it.each(variants)('$name: a store goes on after a batch that was too large for it', async (variant) => {
  const { store, held } = await hold(variant)
  const into = Buffer.alloc(20_000)
  await store.gather(indices, into, 100)
  const huge = new Uint32Array(2 ** 28)
  await expect(store.gather(huge, new Uint8Array(0), 100)).rejects.toThrow(coded('LOADERX_BATCH_TOO_LARGE'))
  // What the store gave back to make room belongs to others now.
  const others = new Uint8Array(held.state.memory.buffer, held.arena.allocate(readerScratch(256)), readerScratch(256))
  others.fill(7)
  into.fill(0)
  await store.gather(indices, into, 100)
  expect(Buffer.compare(into, wanted)).toBe(0)
  expect(others.every((byte) => byte === 7)).toBe(true)
  held.release()
})

it.each(variants)('$name: fills memory beside the store, by a list that lies there', async (variant) => {
  const { store, held } = await hold(variant)
  const { state, arena } = held
  const spaces = [arena.allocate(readerScratch(256)), undefined]
  const target = arena.allocate(20_000)
  const list = new BigUint64Array(state.memory.buffer, arena.allocate(1600), 200)
  list.set(indices.map(BigInt))
  const reader = new RecordReader(state, () => spaces.shift())
  const into = new Uint8Array(state.memory.buffer, target, 20_000)
  await reader.gatherAsync(list, into, 100, { exactly: 100 })
  expect(Buffer.compare(into, wanted)).toBe(0)
  into.fill(0)
  // What is held stays in place after the store was closed.
  await store.close()
  reader.gather(list, into, 100, { exactly: 100 })
  expect(Buffer.compare(into, wanted)).toBe(0)
  expect(() => reader.gather(list, into, 100, { exactly: 99 })).toThrow(
    coded('LOADERX_SCHEMA_MISMATCH', 'has 100 bytes'),
  )
  reader.close()
  held.release()
})

it('what is held of a mapped store is let go of with the last holder', async () => {
  const path = restoreStore(golden('raw_u8').dir, join(tempDir(), 'store'))
  const mappings = () => readFileSync('/proc/self/maps', 'utf8').split(path).length - 1
  const store = await variants[2]!.open(path)
  const holders = [holdStore(store), holdStore(store)]
  await store.close()
  expect(mappings()).toBe(2)
  holders[0]!.release()
  holders[0]!.release()
  expect(mappings()).toBe(2)
  holders[1]!.release()
  expect(mappings()).toBe(0)
  expect(() => holdStore(store)).toThrow(coded('LOADERX_ALREADY_CLOSED'))
})
