// codec/: the pool of workers that encode blocks.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { inflateRawSync } from 'node:zlib'
import { afterEach, expect, it, vi } from 'vitest'
import { ENCODE_WIDTH, encodeInPool, useEncodePool } from '#dist/codec/encode-pool.js'
import { noise, runs } from '../support/bytes.ts'

const leaves: (() => Promise<void>)[] = []
const use = (): (() => Promise<void>) => {
  const leave = useEncodePool()
  leaves.push(leave)
  return leave
}
afterEach(async () => {
  await Promise.all(leaves.splice(0).map((leave) => leave()))
})

const workers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'MessagePort').length
const blockOf = (record: Uint8Array) => ({ source: Uint8Array.from(record), lengths: Uint32Array.of(record.length) })

it('encodes more blocks at a time than it has workers, each its own', async () => {
  use()
  const records = Array.from({ length: 3 * ENCODE_WIDTH + 1 }, (_, i) => (i % 3 === 0 ? noise(900, i) : runs(9000, i)))
  const encoded = await Promise.all(records.map((record) => encodeInPool(blockOf(record))))
  for (const [i, { bytes, phys, codecs }] of encoded.entries()) {
    expect(phys).toEqual(Uint32Array.of(bytes.length))
    expect(codecs[0]).toBe(i % 3 === 0 ? 0 : 1)
    expect(Buffer.compare(codecs[0] === 0 ? bytes : inflateRawSync(bytes), records[i]!)).toBe(0)
  }
})

it('takes over the memory of the block', async () => {
  use()
  const block = blockOf(runs(100, 1))
  await encodeInPool(block)
  expect(block.source.length).toBe(0)
})

it('reports a worker that dies, by a coded error, and goes on with others', async () => {
  use()
  // A worker cannot read this list of lengths and ends with an exception.
  const [failed, ...good] = await Promise.allSettled([
    encodeInPool({ source: new Uint8Array(9), lengths: null as unknown as Uint32Array }),
    ...Array.from({ length: 2 * ENCODE_WIDTH }, (_, i) => encodeInPool(blockOf(runs(500, i)))),
  ])
  expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'LOADERX_WORKER_FAILED' } })
  expect((failed as PromiseRejectedResult).reason.cause).toBeInstanceOf(Error)
  expect(good.map(({ status }) => status)).toEqual(new Array(2 * ENCODE_WIDTH).fill('fulfilled'))
})

it('ends its workers with the last user, also those that are busy with what nobody waits for', async () => {
  const [one, other] = [use(), use()]
  await encodeInPool(blockOf(runs(500, 1)))
  await one()
  await one()
  await encodeInPool(blockOf(runs(500, 2)))
  for (let i = 0; i < 2 * ENCODE_WIDTH; i++) encodeInPool(blockOf(runs(2 ** 20, i))).catch(() => {})
  expect(workers()).toBeGreaterThan(0)
  let started = 0
  const count = (): void => {
    started++
  }
  // The event of a worker comes one turn after its start.
  await new Promise((turn) => setImmediate(turn))
  process.on('worker', count)
  await other()
  await vi.waitFor(() => expect(workers()).toBe(0))
  use()
  expect((await encodeInPool(blockOf(runs(500, 3)))).codecs[0]).toBe(1)
  process.off('worker', count)
  expect(started).toBe(1)
})

it('does not keep the process alive while it is idle', () => {
  const pool = fileURLToPath(new URL('../../dist/codec/encode-pool.js', import.meta.url))
  const code = `
    import { encodeInPool, useEncodePool } from ${JSON.stringify(pool)}
    useEncodePool()
    const { codecs } = await encodeInPool({ source: new Uint8Array(1000), lengths: Uint32Array.of(1000) })
    console.log('encoded', codecs[0])`
  const done = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', timeout: 30_000 })
  expect(done).toMatchObject({ status: 0, stdout: 'encoded 1\n', stderr: '' })
})

it('keeps the process alive until its workers have ended, also when a result is still on its way', () => {
  const pool = fileURLToPath(new URL('../../dist/codec/encode-pool.js', import.meta.url))
  const code = `
    import { encodeInPool, useEncodePool } from ${JSON.stringify(pool)}
    const block = (records) => ({
      source: new Uint8Array(1000 * records).map((_, i) => i * i),
      lengths: new Uint32Array(records).fill(1000),
    })
    // Some of so many leave in the very moment in which a worker has answered and is not heard yet.
    for (let i = 0; i < 60; i++) {
      const leave = useEncodePool()
      await Promise.all([encodeInPool(block(1)), encodeInPool(block(1))])
      for (let k = 0; k < 4; k++) encodeInPool(block([1, 20, 50, 100][i % 4])).catch(() => {})
      const until = performance.now() + (i % 7)
      while (performance.now() < until);
      await leave()
    }
    console.log('left')`
  const done = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', timeout: 30_000 })
  expect(done).toMatchObject({ status: 0, stdout: 'left\n', stderr: '' })
})
