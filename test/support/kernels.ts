// Test support: the kernel three times over one memory: with SIMD, without, and the twin in TypeScript.
import { expect } from 'vitest'
import { compileKernel, createMemory, instantiateKernel, type KernelExports, WASM_PAGE } from '#dist/kernel/kernel.js'
import { twinKernel } from '#dist/kernel/twins/kernel.js'

const REGION_BYTES = 8 * WASM_PAGE

/** Where a test's areas may begin: the first address used, unaligned ones, and far above 2^31. */
export const ORIGINS: readonly number[] = [WASM_PAGE, WASM_PAGE + 13, 2 ** 31 - 4096 + 5, 2 ** 31 + WASM_PAGE + 7]

// Untouched pages cost address space only.
const memory = createMemory(2 ** 15 + 16)

/** The three kernels by name. */
export const kernels: Readonly<Record<'simd' | 'base' | 'twin', KernelExports>> = {
  simd: instantiateKernel(memory, compileKernel(true)),
  base: instantiateKernel(memory, compileKernel(false)),
  twin: twinKernel(memory),
}

/** `bytes` bytes of the kernels' memory from address `at`. */
export function bytesAt(at: number, bytes: number): Uint8Array {
  return new Uint8Array(memory.buffer, at, bytes)
}

/** The view of the kernels' memory from address `at`. */
export function viewAt(at: number): DataView {
  return new DataView(memory.buffer, at)
}

/** What a kernel returned and what it left in the region. */
export interface Outcome<T> {
  readonly result: T
  readonly bytes: Buffer
}

/**
 * Runs the same work in all three kernels and checks that they agree in what they return and leave: each time over a region of `size` bytes from `origin` that is cleared to
 * 0xa5 and then filled by `prepare`.
 */
export function runAll<T>(
  origin: number,
  size: number,
  prepare: (region: Uint8Array) => void,
  work: (kernel: KernelExports) => T,
): Outcome<T> {
  if (size > REGION_BYTES) throw new RangeError(`a region of ${size} bytes`)
  const region = bytesAt(origin, size)
  const run = (kernel: KernelExports): Outcome<T> => {
    region.fill(0xa5)
    prepare(region)
    const result = work(kernel)
    return { result, bytes: Buffer.from(region) }
  }
  const twin = run(kernels.twin)
  for (const name of ['base', 'simd'] as const) {
    const outcome = run(kernels[name])
    expect(outcome.result, `result, ${name} and twin`).toEqual(twin.result)
    if (!outcome.bytes.equals(twin.bytes)) {
      const at = outcome.bytes.findIndex((byte, i) => byte !== twin.bytes[i])
      expect.fail(`byte ${at} of the region is ${outcome.bytes[at]} in ${name}, ${twin.bytes[at]} in the twin`)
    }
  }
  return twin
}
