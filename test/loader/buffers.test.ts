// The memory of released batches is used again, and not kept without bound.
import { expect, test } from 'vitest'
import { BufferPool } from '#dist/loader/buffers.js'
import { failure } from '../support/loading.ts'

test('a reclaimed buffer is detached and its memory is given out again, by size', () => {
  const pool = new BufferPool()
  const first = pool.get(1000)
  new Uint8Array(first).fill(77)
  pool.reclaim(first)
  expect(first.byteLength).toBe(0)
  expect(pool.get(1001).byteLength).toBe(1001)
  const again = new Uint8Array(pool.get(1000))
  expect([again.length, again.every((byte) => byte === 77)]).toEqual([1000, true])
  // Somebody else has it now: nothing to take.
  pool.reclaim(first)
  expect(pool.get(0).byteLength).toBe(0)
})

test('at most sixteen of a size are kept', () => {
  const pool = new BufferPool()
  for (let i = 0; i < 40; i++) pool.keep(new Uint8Array(64).fill(100 + i).buffer)
  const marks = Array.from({ length: 40 }, () => new Uint8Array(pool.get(64))[0]!)
  expect(marks.slice(0, 16).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, i) => 100 + i))
})

test('a batch that no array can hold', async () => {
  const refused = await failure(() => new BufferPool().get(2 ** 52))
  expect(refused).toMatchObject({ code: 'LOADERX_BATCH_TOO_LARGE', details: { actual: 2 ** 52 } })
})
