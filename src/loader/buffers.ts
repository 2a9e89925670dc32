// loader/: the memory of owned batches, used again when a batch is released.

/** Most released buffers that are kept for each size. */
const KEPT = 16

/** Buffers by size. */
export class BufferPool {
  readonly #free = new Map<number, ArrayBuffer[]>()

  /** A buffer of exactly `bytes` bytes; its contents are whatever was there. */
  get(bytes: number): ArrayBuffer {
    const kept = this.#free.get(bytes)?.pop()
    if (kept !== undefined) return kept
    // Skips the zeroing that `new ArrayBuffer` does: every byte is written before anybody sees it.
    return Buffer.allocUnsafeSlow(bytes).buffer
  }

  /** Takes a buffer away from whoever has it (it is detached) and keeps its memory. */
  reclaim(buffer: ArrayBuffer): void {
    const bytes = buffer.byteLength
    if (bytes === 0) return
    const mine = structuredClone(buffer, { transfer: [buffer] })
    let free = this.#free.get(bytes)
    if (free === undefined) {
      free = []
      this.#free.set(bytes, free)
    }
    if (free.length < KEPT) free.push(mine)
  }
}
