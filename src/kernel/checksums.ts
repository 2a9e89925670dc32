// kernel/: CRC-32 of bytes that lie anywhere in JavaScript's memory, brought through a small memory of the kernel's.

import { createMemory, instantiateKernel, type KernelExports, RESERVED_BYTES, WASM_PAGE } from './kernel.ts'
import { CRC_TABLE_BYTES } from './layout.ts'

const TABLES = RESERVED_BYTES
const BYTES = TABLES + CRC_TABLE_BYTES

/** Computes checksums. Not to be shared between threads. */
export class Checksums {
  readonly #memory: WebAssembly.Memory
  readonly #kernel: KernelExports

  constructor() {
    this.#memory = createMemory(4)
    this.#kernel = instantiateKernel(this.#memory)
    this.#kernel.crcTables(TABLES)
  }

  #bring(bytes: Uint8Array, extra: number): number {
    const end = BYTES + bytes.length + 64 + extra
    const pages = Math.ceil(end / WASM_PAGE) - this.#memory.buffer.byteLength / WASM_PAGE
    if (pages > 0) this.#memory.grow(pages)
    new Uint8Array(this.#memory.buffer, BYTES, bytes.length).set(bytes)
    return BYTES + Math.ceil(bytes.length / 64) * 64
  }

  /** The CRC-32 of `bytes`, going on from `seed`: 0, or the CRC-32 of the bytes before. */
  crc32(bytes: Uint8Array, seed = 0): number {
    this.#bring(bytes, 0)
    return this.#kernel.crc32(TABLES, BYTES, bytes.length, seed) >>> 0
  }

  /** Writes the CRC-32 of each record, back to back in `bytes`, to every second element of `into`, from the first. */
  records(bytes: Uint8Array, lengths: Uint32Array, into: Uint32Array): void {
    const n = lengths.length
    const list = this.#bring(bytes, 12 * n)
    new Uint32Array(this.#memory.buffer, list, n).set(lengths)
    const out = list + 4 * n + ((4 * n) % 8)
    this.#kernel.sumRecords(TABLES, BYTES, list, n, out)
    const sums = new Uint32Array(this.#memory.buffer, out, 2 * n)
    for (let i = 0; i < n; i++) into[2 * i] = sums[2 * i]!
  }

  /** Writes the CRC-32 of each 16-byte entry in `bytes` to every second element of `into`, from the second. */
  entries(bytes: Uint8Array, into: Uint32Array): void {
    const n = bytes.length / 16
    const out = this.#bring(bytes, 8 * n)
    this.#kernel.sumEntries(TABLES, BYTES, n, out)
    const sums = new Uint32Array(this.#memory.buffer, out, 2 * n)
    for (let i = 0; i < n; i++) into[2 * i + 1] = sums[2 * i + 1]!
  }
}

let shared: Checksums | undefined

/** The thread's checksums. */
export function checksums(): Checksums {
  shared ??= new Checksums()
  return shared
}
