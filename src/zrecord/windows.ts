// zrecord/: the bytes of a store that is larger than one memory, as windows over its chunks. Each window reaches one
// record's length into the next, so no record straddles two.

import { MAX_RECORD_BYTES } from '../format/limits.ts'
import { WASM_PAGE } from '../kernel/kernel.ts'

/** Most bytes of a chunk that one window begins with: what a 4 GiB memory has beside a full record table. */
export const MAX_WINDOW_BYTES: number = 3 * 2 ** 30
/** How far a window reaches into the next. */
export const WINDOW_OVERLAP: number = MAX_RECORD_BYTES

/** One window: bytes `start` … of `chunk` at `address` of `memory`. */
export interface WindowState {
  readonly chunk: number
  readonly start: number
  readonly memory: WebAssembly.Memory
  readonly address: number
}

/** Where record bytes are found: sets `bytes` and tells where in it the record starts. */
export interface ByteSource {
  readonly bytes: Uint8Array
  /** Finds the bytes from `offset` of `chunk`, those of position `i` of the batch; returns their start in `bytes`. */
  seek(chunk: number, offset: number, i: number): number
}

/** The smallest allowed size of a window that is at least `bytes`: mappings begin on 64 KiB boundaries. */
export function roundWindow(bytes: number): number {
  return Math.min(MAX_WINDOW_BYTES, Math.max(1, Math.ceil(bytes / WASM_PAGE)) * WASM_PAGE)
}

/** Windows, opened by `open` when a record in them is first wanted. */
export class Windows implements ByteSource {
  bytes: Uint8Array = new Uint8Array(0)
  readonly #windowBytes: number
  readonly #open: (chunk: number, start: number) => WindowState
  readonly #windows = new Map<number, { state: WindowState; bytes: Uint8Array }>()
  #current = -1
  #start = 0

  constructor(windowBytes: number, known: readonly WindowState[], open: (chunk: number, start: number) => WindowState) {
    this.#windowBytes = windowBytes
    this.#open = open
    for (const state of known) this.#add(state)
  }

  /** The windows that are open, to hand to another thread. */
  get states(): WindowState[] {
    return [...this.#windows.values()].map(({ state }) => state)
  }

  seek(chunk: number, offset: number): number {
    const index = Math.floor(offset / this.#windowBytes)
    const key = chunk * 65536 + index
    if (key !== this.#current) {
      const start = index * this.#windowBytes
      const window = this.#windows.get(key) ?? this.#add(this.#open(chunk, start))
      this.bytes = window.bytes
      this.#current = key
      this.#start = start
    }
    return offset - this.#start
  }

  #add(state: WindowState): { state: WindowState; bytes: Uint8Array } {
    const room = state.memory.buffer.byteLength - state.address
    const bytes = new Uint8Array(state.memory.buffer, state.address, Math.min(room, this.#windowBytes + WINDOW_OVERLAP))
    const window = { state, bytes }
    this.#windows.set(state.chunk * 65536 + Math.floor(state.start / this.#windowBytes), window)
    return window
  }
}
