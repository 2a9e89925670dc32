// storage/: hands out pieces of a shared memory above a fixed address, growing the memory as needed. One thread owns
// an arena; others may use the pieces that it gave them.

import { LoaderxError } from '../errors.ts'
import { MAX_PAGES, WASM_PAGE } from '../kernel/kernel.ts'

interface Piece {
  readonly address: number
  readonly bytes: number
}

const ALIGNMENT = 64

/** First-fit allocation in `memory` from `start` up to the 4 GiB that a memory can have. */
export class Arena {
  readonly memory: WebAssembly.Memory
  #end: number
  #free: Piece[] = []
  readonly #used = new Map<number, number>()

  constructor(memory: WebAssembly.Memory, start: number) {
    this.memory = memory
    this.#end = start
  }

  /**
   * The address of `bytes` new bytes, aligned to 64.
   * @throws LOADERX_BATCH_TOO_LARGE when the memory cannot grow that far
   */
  allocate(bytes: number): number {
    const size = Math.max(ALIGNMENT, Math.ceil(bytes / ALIGNMENT) * ALIGNMENT)
    const fit = this.#free.findIndex((piece) => piece.bytes >= size)
    const piece = this.#free[fit]
    let address: number
    if (piece !== undefined) {
      address = piece.address
      const rest = { address: address + size, bytes: piece.bytes - size }
      this.#free.splice(fit, 1, ...(rest.bytes > 0 ? [rest] : []))
    } else {
      address = this.#end
      this.#growTo(address + size, bytes)
      this.#end = address + size
    }
    this.#used.set(address, size)
    return address
  }

  /** Takes back a piece that `allocate` gave. */
  release(address: number): void {
    const bytes = this.#used.get(address)
    if (bytes === undefined) return
    this.#used.delete(address)
    const pieces = [...this.#free, { address, bytes }].sort((a, b) => a.address - b.address)
    this.#free = []
    for (const piece of pieces) {
      const last = this.#free.at(-1)
      if (last !== undefined && last.address + last.bytes === piece.address) {
        this.#free[this.#free.length - 1] = { address: last.address, bytes: last.bytes + piece.bytes }
      } else this.#free.push(piece)
    }
    const top = this.#free.at(-1)
    if (top !== undefined && top.address + top.bytes === this.#end) {
      this.#end = top.address
      this.#free.pop()
    }
  }

  #growTo(end: number, wanted: number): void {
    const have = this.memory.buffer.byteLength / WASM_PAGE
    const need = Math.ceil(end / WASM_PAGE)
    if (need <= have) return
    const message = `${wanted} bytes for a batch do not fit beside the store in a 4 GiB memory; use a smaller batch or fewer batches in flight`
    if (need > MAX_PAGES) {
      throw new LoaderxError('LOADERX_BATCH_TOO_LARGE', message, { expected: MAX_PAGES * WASM_PAGE, actual: end })
    }
    try {
      this.memory.grow(need - have)
    } catch (cause) {
      throw new LoaderxError('LOADERX_BATCH_TOO_LARGE', message, { actual: end }, { cause })
    }
  }
}
