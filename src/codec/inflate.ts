// codec/: decodes one record's raw deflate stream (RFC 1951) of known decoded length.

import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { rawHandle, type ZlibHandle } from './handle.ts'

/** Decodes records; not to be shared between threads. */
export interface Inflater {
  /** Which zlib interface is behind it. */
  readonly via: 'handle' | 'public'
  /**
   * Decodes the stream in `from[at … at + bytes]` to exactly `length` bytes at `into[position]`. Bytes behind the end
   * of the stream are tolerated, as the original does. Returns what is wrong, or undefined. Nothing outside the
   * `length` bytes is changed.
   */
  inflate(
    from: Uint8Array,
    at: number,
    bytes: number,
    into: Uint8Array,
    position: number,
    length: number,
  ): string | undefined
}

/** The handle takes positions of 32 bits and would wrap a larger one. */
const MAX_POSITION = 2 ** 32 - 1

const CUT = 'the deflate stream is damaged or cut'

function tooShort(length: number, got: number): string {
  return `the deflate stream decodes to ${got} bytes, not ${length}`
}

function tooLong(length: number): string {
  return `the deflate stream decodes to more than ${length} bytes`
}

/**
 * An inflater over the raw handle. The handle does not say whether a stream ended when its output is full, so each
 * stream is given one byte more than it may fill: a whole stream leaves it free.
 */
export function handleInflater(handle: ZlibHandle): Inflater {
  let spare = new Uint8Array(0)
  return {
    via: 'handle',
    inflate(from, at, bytes, into, position, length) {
      const roomy = position + length < Math.min(into.length, MAX_POSITION)
      if (!roomy && spare.length <= length) spare = new Uint8Array(length + 1)
      const target = roomy ? into : spare
      const start = roomy ? position : 0
      const neighbour = target[start + length]!
      const whole = handle.run(from, at, bytes, target, start, length + 1)
      const left = handle.availableOut
      if (target[start + length] !== neighbour) target[start + length] = neighbour
      if (!whole) return CUT
      if (left === 0) return tooLong(length)
      if (left > 1) return tooShort(length, length + 1 - left)
      if (!roomy) into.set(spare.subarray(0, length), position)
      return undefined
    },
  }
}

/** An inflater over `zlib.inflateRawSync`. */
export function publicInflater(): Inflater {
  return {
    via: 'public',
    inflate(from, at, bytes, into, position, length) {
      let decoded: Uint8Array
      try {
        decoded = inflateRawSync(from.subarray(at, at + bytes), { maxOutputLength: length })
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLong(length) : CUT
      }
      if (decoded.length !== length) return tooShort(length, decoded.length)
      into.set(decoded, position)
      return undefined
    },
  }
}

/** Whether `inflater` gives the right bytes for a good stream and refuses cut, unfinished, short and long ones. */
export function inflaterWorks(inflater: Inflater): boolean {
  try {
    return passesTest(inflater)
  } catch {
    return false
  }
}

function passesTest(inflater: Inflater): boolean {
  const bytes = Uint8Array.from({ length: 300 }, (_, i) => (i * i) % 61)
  const stream = deflateRawSync(bytes)
  const unfinished = deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH })
  const trailing = new Uint8Array([...stream, 1, 2, 3])
  const out = new Uint8Array(303)
  const good = (source: Uint8Array) => {
    out.fill(9)
    const fault = inflater.inflate(source, 0, source.length, out, 1, 300)
    return fault === undefined && out[0] === 9 && out[301] === 9 && bytes.every((byte, i) => out[i + 1] === byte)
  }
  const bad = (source: Uint8Array, length: number) => {
    out.fill(9)
    return inflater.inflate(source, 0, source.length, out, 1, length) !== undefined && out[length + 1] === 9
  }
  const refuses = bad(stream, 299) && bad(stream, 301) && bad(stream.subarray(0, -1), 300) && bad(unfinished, 300)
  return good(stream) && good(trailing) && refuses && good(stream)
}

/** The best inflater that works here: the raw handle after a self-test, else the public call. */
export function createInflater(): Inflater {
  const handle = rawHandle('inflate')
  if (handle !== undefined) {
    const inflater = handleInflater(handle)
    if (inflaterWorks(inflater)) return inflater
  }
  return publicInflater()
}
