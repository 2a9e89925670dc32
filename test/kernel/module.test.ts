// The module: built from the sources as they are, small, without static data, the same functions in all three kernels.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { KERNEL_BASE, KERNEL_SIMD } from '#dist/kernel/generated/kernel.js'
import { compileKernel, createMemory, instantiateKernel } from '#dist/kernel/kernel.js'
import { twinKernel } from '#dist/kernel/twins/kernel.js'
import { kernels } from '../support/kernels.ts'
import { tempDir } from '../support/stores.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The numbers of the sections of a WebAssembly module, custom sections left out. */
function sections(module: Buffer): number[] {
  const found: number[] = []
  let at = 8
  while (at < module.length) {
    const section = module[at++]!
    let size = 0
    for (let shift = 0; ; shift += 7) {
      const byte = module[at++]!
      size |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    if (section !== 0) found.push(section)
    at += size
  }
  return found
}

it('is what the committed file holds, byte for byte', () => {
  const built = join(tempDir(), 'kernel.ts')
  execFileSync(process.execPath, [join(root, 'scripts/build-kernel.mjs'), built])
  expect(readFileSync(built).equals(readFileSync(join(root, 'src/kernel/generated/kernel.ts')))).toBe(true)
})

it.each([
  ['with SIMD', KERNEL_SIMD],
  ['without SIMD', KERNEL_BASE],
])('%s has types, an import, functions, exports and code, and is below 12 KB', (_, text) => {
  const module = Buffer.from(text, 'base64')
  expect(module.length).toBeLessThan(12_000)
  // No table (4), memory (5), global (6), start (8), element (9) or data (11, 12): many instances share one memory.
  expect(sections(module)).toEqual([1, 2, 3, 7, 10])
})

it('uses SIMD in one of the two only', () => {
  expect(KERNEL_SIMD).not.toBe(KERNEL_BASE)
  const opcode = Buffer.from([0xfd, 0xfa, 0x01]) // f32x4.convert_i32x4_s
  expect(Buffer.from(KERNEL_SIMD, 'base64').includes(opcode)).toBe(true)
  expect(Buffer.from(KERNEL_BASE, 'base64').includes(opcode)).toBe(false)
})

it('imports nothing but the memory', () => {
  for (const simd of [true, false]) {
    const imports = WebAssembly.Module.imports(compileKernel(simd))
    expect(imports.map(({ module, name, kind }) => `${module}.${name} ${kind}`)).toEqual(['env.memory memory'])
  }
})

it('has the same functions as the twin', () => {
  const names = Object.keys(kernels.twin).sort()
  expect(names.length).toBeGreaterThan(10)
  expect(Object.keys(kernels.simd).sort()).toEqual(names)
  expect(Object.keys(kernels.base).sort()).toEqual(names)
})

it('refuses an address outside the memory, in the twin too', () => {
  const memory = createMemory(2)
  for (const kernel of [instantiateKernel(memory), twinKernel(memory)]) {
    const end = memory.buffer.byteLength
    expect(() => kernel.sequential(end - 8, 2, 0n, 5n)).toThrow(/bounds/i)
    expect(() => kernel.cast(65536, 1, end - 8, 1, 9, 65536)).toThrow(/bounds/i)
    expect(() => kernel.crc32(65536, end - 8, 9, 0)).toThrow(/bounds/i)
    memory.grow(1)
    kernel.sequential(end - 8, 2, 0n, 5n)
    expect(new DataView(memory.buffer).getBigUint64(end, true)).toBe(1n)
  }
})
