// kernel/: the hot loops, compiled from AssemblyScript to WebAssembly. This file: one instance of the module over one
// shared memory. Addresses are byte positions in that memory; nothing here knows files or stores.

import { KERNEL_BASE, KERNEL_SIMD } from './generated/kernel.ts'

/**
 * The module's functions. Addresses, counts and element types (`CAST_TYPES`) are unsigned 32-bit numbers, bigints are
 * u64; areas need no alignment and must not overlap. An address outside the memory throws.
 */
export interface KernelExports {
  /**
   * Checks the table entries of `n` indices (u64 each) and copies them, 16 bytes each, to `plan`. `limits` holds one
   * u32 a chunk: the first byte that may not be read.
   * @returns -1, or the position of the first index that may not be followed
   */
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
  /**
   * Copies the raw records of a resolved plan to `dst + i * stride`; `base` is the address of the chunk's byte 0.
   * @returns how many records are deflated; they are left to the caller
   */
  copyFixed(plan: number, n: number, base: number, dst: number, stride: number): number
  /** As copyFixed, to `dst + offsets[i]` (u32 each). */
  copyOffsets(plan: number, n: number, base: number, dst: number, offsets: number): number
  /** Writes the tables of crc32 (CRC_TABLE_BYTES) to `tables`. */
  crcTables(tables: number): void
  /**
   * The CRC-32 of zlib of `n` bytes, going on from `seed`: 0, or the CRC-32 of the bytes before.
   * @returns it as a signed number: `>>> 0` makes it the usual one
   */
  crc32(tables: number, bytes: number, n: number, seed: number): number
  /** Writes the CRC-32 of each of `n` records (lengths u32 each, back to back from `bytes`) to `out + 8 * i`. */
  sumRecords(tables: number, bytes: number, lengths: number, n: number, out: number): void
  /** Writes the CRC-32 of each of `n` table entries (16 bytes each from `entries`) to `out + 8 * i + 4`. */
  sumEntries(tables: number, entries: number, n: number, out: number): void
  /**
   * Checks the stored bytes of a resolved plan, found at `base + offset`, against the sums of their records: 8 bytes an
   * index (CRC-32 of the stored bytes, CRC-32 of the entry) at `sums`, for the first `summed` indices. A record whose
   * entry has another sum is left alone. `seen` holds a bit an index: set ones are skipped, checked ones get it; 0
   * checks all.
   * @returns -1, or the position of the first record whose bytes are not those that were summed
   */
  checkSums(
    tables: number,
    indices: number,
    plan: number,
    n: number,
    base: number,
    sums: number,
    summed: number,
    seen: number,
  ): number
  /**
   * Converts `n` (below 2^31) elements of type `from` to type `to`. Integers are checked for range; floats become
   * integers by cutting toward zero, NaN refused; float targets are rounded once, ties to even, and become infinite
   * beyond the largest. Every NaN written has the same bits, except when `from` is `to`. `scratch` is
   * CAST_SCRATCH_BYTES.
   * @returns -1, or the position of the first element that `to` cannot hold: those before it are written
   */
  cast(source: number, from: number, target: number, to: number, n: number, scratch: number): number
  /**
   * As cast, of `value * scale + offset`. Computed in float32 (scale and offset rounded to it first) for int8, uint8,
   * int16 and uint16 to float32, else in float64.
   */
  castScaled(
    source: number,
    from: number,
    target: number,
    to: number,
    n: number,
    scale: number,
    offset: number,
    scratch: number,
  ): number
  /** Writes the `n` indices (position + i) mod length, u64 each. Of all streams `length` is at least 1. */
  sequential(out: number, n: number, position: bigint, length: bigint): void
  /** Writes the state (RANDOM_STATE_BYTES) of the random stream at its start. */
  randomSeed(state: number, seed: bigint): void
  /** Advances the random stream by `n` indices without writing them. */
  randomSkip(state: number, n: bigint): void
  /** Writes the next `n` indices of the random stream, u64 each: the original's for the same seed and length. */
  random(state: number, out: number, n: number, length: bigint): void
  /**
   * Writes `n` indices, u64 each, from `position` (below `length`) of pass number `pass` of the shuffled stream, going
   * on into the next passes. `keys` is SHUFFLE_KEY_BYTES of scratch.
   */
  shuffle(out: number, n: number, pass: bigint, position: bigint, length: bigint, seed: bigint, keys: number): void
}

/** Bytes of a WebAssembly page. */
export const WASM_PAGE = 65536
/** The most pages a 32-bit memory may have: 4 GiB. */
export const MAX_PAGES = 65536
/** Addresses below this hold nothing: no table, no data, no result. Kept free so that address 0 is never valid. */
export const RESERVED_BYTES = 65536

let compiled: WebAssembly.Module | undefined

function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
}

/**
 * The module, compiled anew: with SIMD or without, whatever the engine has. {@link kernelModule} is the one to use;
 * this is for comparing the two.
 */
export function compileKernel(simd: boolean): WebAssembly.Module {
  return new WebAssembly.Module(decodeBase64(simd ? KERNEL_SIMD : KERNEL_BASE))
}

/** The compiled module: with SIMD where the engine has it. Compiled once a thread. */
function kernelModule(): WebAssembly.Module {
  compiled ??= compileKernel(WebAssembly.validate(decodeBase64(KERNEL_SIMD)))
  return compiled
}

/** A shared memory of `pages` 64 KiB pages that can grow to `most` (4 GiB). Untouched pages cost address space only. */
export function createMemory(pages: number, most: number = MAX_PAGES): WebAssembly.Memory {
  return new WebAssembly.Memory({ initial: pages, maximum: most, shared: true })
}

/** Instantiates the kernel over `memory`. Instances over one memory do not disturb each other. */
export function instantiateKernel(
  memory: WebAssembly.Memory,
  module: WebAssembly.Module = kernelModule(),
): KernelExports {
  return new WebAssembly.Instance(module, { env: { memory } }).exports as unknown as KernelExports
}
