// kernel/: the hot loops, compiled from AssemblyScript to WebAssembly. This file: one instance of the module over one
// shared memory. Addresses are byte positions in that memory; nothing here knows files or stores.

import { KERNEL_BASE, KERNEL_SIMD } from './generated/kernel.ts'

/** The module's functions; addresses and counts are unsigned 32-bit numbers. See src/kernel/assembly. */
export interface KernelExports {
  resolve(
    indices: number,
    n: number,
    table: number,
    length: number,
    limits: number,
    chunks: number,
    minLogic: number,
    maxLogic: number,
    plan: number,
  ): number
  copyFixed(plan: number, n: number, base: number, dst: number, stride: number): number
  copyOffsets(plan: number, n: number, base: number, dst: number, offsets: number): number
}

/** Bytes of a WebAssembly page. */
export const WASM_PAGE = 65536
/** The most pages a 32-bit memory may have: 4 GiB. */
export const MAX_PAGES = 65536
/** Addresses below this hold nothing: no table, no data, no result. Kept free so that address 0 is never valid. */
export const RESERVED_BYTES: number = WASM_PAGE

let compiled: WebAssembly.Module | undefined

function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}

/** The compiled module: with SIMD where the engine has it. Compiled once a thread. */
export function kernelModule(): WebAssembly.Module {
  if (compiled === undefined) {
    const simd = decodeBase64(KERNEL_SIMD)
    compiled = new WebAssembly.Module(WebAssembly.validate(simd) ? simd : decodeBase64(KERNEL_BASE))
  }
  return compiled
}

/** A shared memory of `pages` 64 KiB pages that can grow to 4 GiB. Untouched pages cost address space only. */
export function createMemory(pages: number): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: pages, maximum: MAX_PAGES, shared: true })
}

/** Instantiates the kernel over `memory`. Instances over one memory do not disturb each other. */
export function instantiateKernel(
  memory: WebAssembly.Memory,
  module: WebAssembly.Module = kernelModule(),
): KernelExports {
  return new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as KernelExports
}
