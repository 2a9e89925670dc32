// loader/: the memory of owned batches, used again when a batch is released.

import { LoaderxError } from '../errors.ts'

/** Most buffers that are kept for each size. */
const KEPT = 16

/** Buffers by size. */
export class BufferPool {
  readonly #free = new Map<number, ArrayBuffer[]>()

  /**
   * A buffer of exactly `bytes` bytes; its contents are whatever was there.
   * @throws LOADERX_BATCH_TOO_LARGE when the engine gives no such buffer
   */
  get(bytes: number): ArrayBuffer {
    const kept = this.#free.get(bytes)?.pop()
    if (kept !== undefined) return kept
    try {
      // Skips the zeroing that `new ArrayBuffer` does: every byte is written before anybody sees it.
      return Buffer.allocUnsafeSlow(bytes).buffer
    } catch (cause) {
      const message = `a batch of ${bytes} bytes is more than one array can have here; use a smaller batch`
      throw new LoaderxError('LOADERX_BATCH_TOO_LARGE', message, { actual: bytes }, { cause })
    }
  }

  /** Takes a buffer away from whoever has it (it is detached) and keeps its memory. */
  reclaim(buffer: ArrayBuffer): void {
    if (buffer.byteLength > 0) this.keep(structuredClone(buffer, { transfer: [buffer] }))
  }

  /** Keeps the memory of a buffer that nobody else has. */
  keep(buffer: ArrayBuffer): void {
    let free = this.#free.get(buffer.byteLength)
    if (free === undefined) {
      free = []
      this.#free.set(buffer.byteLength, free)
    }
    if (free.length < KEPT) free.push(buffer)
  }
}
