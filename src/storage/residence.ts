// storage/: stretches of files side by side in one shared WebAssembly memory, where the kernel can reach them, either
// read into it or mapped over it.

import { LoaderxError } from '../errors.ts'
import { createMemory, MAX_PAGES, RESERVED_BYTES, WASM_PAGE } from '../kernel/kernel.ts'
import type { StoreFile } from './files.ts'
import type { Mapper } from './mapping.ts'

/** Bytes read with one call. */
const READ_BYTES = 2 ** 24

/** A memory with one address for each stretch, and the first address behind them. */
export interface Residence {
  readonly memory: WebAssembly.Memory
  readonly addresses: readonly number[]
  readonly end: number
}

/**
 * Makes a memory with room for stretches of the given sizes, each on a 64 KiB boundary. Room that is never touched
 * costs address space, not memory. `whole` gives the memory its full 4 GiB at once: a memory with files mapped over it
 * must never grow, because growing makes all of it writable and the engine gives up when that is refused.
 * @throws LOADERX_RESIDENCY_UNAVAILABLE when the system gives no such memory
 */
export function createResidence(capacities: readonly number[], path: string, whole: boolean): Residence {
  let end = RESERVED_BYTES
  const addresses = capacities.map((bytes) => {
    const address = end
    end += Math.ceil(bytes / WASM_PAGE) * WASM_PAGE
    return address
  })
  try {
    return { memory: createMemory(whole ? MAX_PAGES : end / WASM_PAGE), addresses, end }
  } catch (cause) {
    throw new LoaderxError(
      'LOADERX_RESIDENCY_UNAVAILABLE',
      `the system gives no memory of ${end} bytes of address space for ${path}; open it with residency: 'file', or raise the limit (ulimit -v)`,
      { path, actual: end },
      { cause },
    )
  }
}

/** Reads bytes `from` … `to` of `file` to `address`. @throws LOADERX_TRUNCATED, LOADERX_IO */
export function loadBytes(
  memory: WebAssembly.Memory,
  address: number,
  file: StoreFile,
  from: number,
  to: number,
): void {
  for (let at = from; at < to; at += READ_BYTES) {
    const bytes = Math.min(READ_BYTES, to - at)
    file.readSync(new Uint8Array(memory.buffer, address + at - from, bytes), at)
  }
}

/** Maps `bytes` bytes of `file` from `position` to `address`. @throws LOADERX_RESIDENCY_UNAVAILABLE */
export function mapBytes(
  mapper: Mapper,
  memory: WebAssembly.Memory,
  address: number,
  file: StoreFile,
  position: number,
  bytes: number,
): void {
  if (bytes === 0 || mapper.map(memory, address, file.fd, position, bytes)) return
  throw new LoaderxError(
    'LOADERX_RESIDENCY_UNAVAILABLE',
    `${file.path} cannot be mapped on this file system; open the store with residency: 'file'`,
    { path: file.path },
  )
}

/**
 * A stretch of a memory as bytes. A memory that grows gets another buffer object over the same bytes; the view follows,
 * so that it can be recognised as lying in the memory.
 */
export class SharedView {
  readonly #memory: WebAssembly.Memory
  readonly #address: number
  readonly #length: number
  #bytes: Uint8Array<ArrayBufferLike> = new Uint8Array(0)

  constructor(memory: WebAssembly.Memory, address: number, length: number) {
    this.#memory = memory
    this.#address = address
    this.#length = length
  }

  get bytes(): Uint8Array {
    const { buffer } = this.#memory
    if (this.#bytes.buffer !== buffer) this.#bytes = new Uint8Array(buffer, this.#address, this.#length)
    return this.#bytes
  }

  /** The bytes as unsigned 64-bit numbers. */
  get words(): BigUint64Array {
    return new BigUint64Array(this.#memory.buffer, this.#address, this.#length / 8)
  }
}
