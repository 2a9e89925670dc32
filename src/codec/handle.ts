// codec/: Node's raw zlib handle, used again and again: reset, then one synchronous call from the source straight into
// the destination. It is an internal of Node (the same on 20 to 26), so each user tests it once and falls back to the
// public calls where it does not behave.

import { constants, createDeflateRaw, createInflateRaw } from 'node:zlib'

/** What is set when encoding. Not Node's own type, so that the package's types ask for no @types/node. */
export interface Tuning {
  readonly level?: number
  readonly strategy?: number
}

/** One reusable (de)compressor. */
export interface ZlibHandle {
  /**
   * Runs one whole stream. Returns false on a data error or when a stretch lies outside its memory; afterwards `availableOut` and `availableIn` are the bytes
   * of destination and source that were not used.
   */
  run(from: Uint8Array, at: number, bytes: number, into: Uint8Array, position: number, room: number): boolean
  readonly availableOut: number
  readonly availableIn: number
}

interface RawHandle {
  reset(): void
  writeSync(
    flush: number,
    from: Uint8Array,
    at: number,
    bytes: number,
    into: Uint8Array,
    position: number,
    room: number,
  ): void
  onerror: (message: string, errno: number, code: string) => void
}

interface Internals {
  readonly _handle?: RawHandle
  readonly _writeState?: Uint32Array
}

/** Wraps the raw handle of a new stream, or undefined when this Node has none of the expected shape. */
export function rawHandle(kind: 'inflate' | 'deflate', options: Tuning = {}): ZlibHandle | undefined {
  const stream = kind === 'inflate' ? createInflateRaw(options) : createDeflateRaw(options)
  const { _handle: handle, _writeState: state } = stream as unknown as Internals
  if (typeof handle?.writeSync !== 'function' || typeof handle.reset !== 'function') return undefined
  if (!(state instanceof Uint32Array) || state.length < 2) return undefined
  let failed = false
  handle.onerror = () => {
    failed = true
  }
  return {
    run(from, at, bytes, into, position, room) {
      // Outside of its memories the handle would end the process instead of failing.
      if (at + bytes > from.length || position + room > into.length) return false
      failed = false
      handle.reset()
      if (failed) return false
      handle.writeSync(constants.Z_FINISH, from, at, bytes, into, position, room)
      return !failed
    },
    get availableOut() {
      return state[0]!
    },
    get availableIn() {
      return state[1]!
    },
  }
}
