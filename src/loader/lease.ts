// loader/: memory of the stores that an engine has for its batches and scratch.

import type { Arena } from '../storage/arena.ts'

/** Gives memory back when the engine has stopped and no shared batch lies in it any more. */
export class Lease {
  readonly #pieces: { readonly arena: Arena; readonly address: number }[] = []
  #held = 0
  #stopped = false

  /** The address of `bytes` bytes in the memory of `arena`. @throws LOADERX_BATCH_TOO_LARGE */
  allocate(arena: Arena, bytes: number): number {
    const address = arena.allocate(bytes)
    this.#pieces.push({ arena, address })
    return address
  }

  /** A batch lies in the memory; the function that it returns says, once, that it no longer does. */
  hold(): () => void {
    this.#held++
    return () => {
      this.#held--
      this.#settle()
    }
  }

  /** The engine no longer uses the memory. */
  stop(): void {
    this.#stopped = true
    this.#settle()
  }

  #settle(): void {
    if (!this.#stopped || this.#held > 0) return
    for (const { arena, address } of this.#pieces.splice(0)) arena.release(address)
  }
}
