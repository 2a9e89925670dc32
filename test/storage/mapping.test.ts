// storage/: files mapped over a memory, and the choice of where a store's bytes live.
import { spawnSync } from 'node:child_process'
import { closeSync, ftruncateSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createMemory, WASM_PAGE } from '#dist/kernel/kernel.js'
import { fileMapper, isRemote } from '#dist/storage/mapping.js'
import { createResidence, mapBytes, SharedView } from '#dist/storage/residence.js'
import { AUTO_MEMORY_BYTES, chooseResidency, type Residency } from '#dist/storage/residency.js'
import { noise } from '../support/bytes.ts'
import { tempDir } from '../support/stores.ts'

const mapper = fileMapper()

it('passes the self-test on this machine', () => {
  expect(mapper).not.toBeNull()
})

describe('a mapping', () => {
  const setUp = () => {
    const path = join(tempDir(), 'mapped')
    writeFileSync(path, noise(3 * WASM_PAGE, 1))
    const fd = openSync(path, 'r+')
    const memory = createMemory(8)
    const bytes = new Uint8Array(memory.buffer)
    bytes.fill(7)
    return { path, fd, memory, bytes }
  }
  const mappings = (path: string): number => readFileSync('/proc/self/maps', 'utf8').split(path).length - 1

  it('shows the file where it was put and nothing else, follows it, and goes', () => {
    const { path, fd, memory, bytes } = setUp()
    expect(mapper!.map(memory, 2 * WASM_PAGE, fd, WASM_PAGE, 2 * WASM_PAGE)).toBe(true)
    expect(mappings(path)).toBe(1)
    const part = bytes.subarray(2 * WASM_PAGE, 4 * WASM_PAGE)
    expect(Buffer.compare(part, noise(3 * WASM_PAGE, 1).subarray(WASM_PAGE))).toBe(0)
    expect(bytes[2 * WASM_PAGE - 1]).toBe(7)
    expect(bytes[4 * WASM_PAGE]).toBe(7)
    writeSync(fd, Uint8Array.of(1, 2, 3), 0, 3, WASM_PAGE + 10)
    expect([...part.subarray(10, 13)]).toEqual([1, 2, 3])
    mapper!.unmap(memory, 2 * WASM_PAGE, 2 * WASM_PAGE)
    expect(mappings(path)).toBe(0)
    expect(part.every((byte) => byte === 0)).toBe(true)
    expect(bytes[4 * WASM_PAGE]).toBe(7)
    closeSync(fd)
  })

  it('shows what the file grows by', () => {
    const { fd, memory, bytes } = setUp()
    expect(mapper!.map(memory, WASM_PAGE, fd, 0, 6 * WASM_PAGE)).toBe(true)
    ftruncateSync(fd, 5 * WASM_PAGE)
    writeSync(fd, Uint8Array.of(9), 0, 1, 5 * WASM_PAGE - 1)
    closeSync(fd)
    expect(bytes[6 * WASM_PAGE - 1]).toBe(9)
    expect(bytes[4 * WASM_PAGE]).toBe(0)
    mapper!.unmap(memory, WASM_PAGE, 6 * WASM_PAGE)
  })

  it('that the system refuses is a coded error', () => {
    const { memory } = setUp()
    const file = { path: 'gone', fd: 1_000_000 } as Parameters<typeof mapBytes>[3]
    expect(() => mapBytes(mapper!, memory, WASM_PAGE, file, 0, 10)).toThrow(
      expect.objectContaining({ code: 'LOADERX_RESIDENCY_UNAVAILABLE', message: expect.stringContaining('gone') }),
    )
  })
})

describe('where a store lives', () => {
  const choose = (asked: Residency, bytes: number): string => chooseResidency(asked, bytes, tempDir()).kind

  it('is what was asked for', () => {
    for (const asked of ['memory', 'mapped', 'file'] as const) {
      expect(choose(asked, 0)).toBe(asked)
      expect(choose(asked, 2 ** 40)).toBe(asked)
    }
  })

  it('is memory for small stores and mapped for others, unless told', () => {
    expect(AUTO_MEMORY_BYTES).toBe(256 * 2 ** 20)
    expect(choose('auto', AUTO_MEMORY_BYTES)).toBe('memory')
    expect(choose('auto', AUTO_MEMORY_BYTES + 1)).toBe('mapped')
  })

  it('is the file on a file system that may fail to deliver, and where that is not known', () => {
    expect(isRemote(tempDir())).toBe(false)
    expect(isRemote(join(tempDir(), 'missing'))).toBe(true)
    expect(chooseResidency('auto', 2 ** 40, join(tempDir(), 'missing')).kind).toBe('file')
    expect(chooseResidency('auto', 1, join(tempDir(), 'missing')).kind).toBe('memory')
  })

  it('is not what nobody knows', () => {
    for (const asked of ['mmap', '', null, 5]) {
      expect(() => choose(asked as Residency, 0)).toThrow(expect.objectContaining({ code: 'LOADERX_INVALID_ARGUMENT' }))
    }
  })

  it('is memory or file without the mapping package', () => {
    const module = fileURLToPath(new URL('../../dist/storage/residency.js', import.meta.url))
    const code = `
      import { chooseResidency } from ${JSON.stringify(module)}
      const kinds = [1, 2 ** 40].map((bytes) => chooseResidency('auto', bytes, '.').kind)
      let refused
      try { chooseResidency('mapped', 1, '.') } catch (error) { refused = error.code }
      console.log(...kinds, refused)`
    const env = { ...process.env, LOADERX_NO_KOFFI: '1' }
    const done = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', env })
    expect(done).toMatchObject({ stdout: 'memory file LOADERX_RESIDENCY_UNAVAILABLE\n', status: 0 })
  })
})

it('lays stretches side by side on page boundaries', () => {
  const { memory, addresses, end } = createResidence([10, 0, WASM_PAGE + 1], 'x', false)
  expect(addresses).toEqual([WASM_PAGE, 2 * WASM_PAGE, 2 * WASM_PAGE])
  expect(end).toBe(4 * WASM_PAGE)
  expect(memory.buffer.byteLength).toBe(end)
  expect(() => createResidence([2 ** 33], 'x', false)).toThrow(
    expect.objectContaining({ code: 'LOADERX_RESIDENCY_UNAVAILABLE' }),
  )
})

it('keeps a view of a memory that grows recognisable', () => {
  const memory = createMemory(2)
  const view = new SharedView(memory, WASM_PAGE, 16)
  view.bytes[3] = 5
  memory.grow(1)
  expect(view.bytes.buffer).toBe(memory.buffer)
  expect(view.bytes.length).toBe(16)
  expect(view.words[0]).toBe(5n << 24n)
})
