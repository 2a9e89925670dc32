// codec/: encodes one record as a raw deflate stream (RFC 1951), or says that it does not shrink.

import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import { MAX_UNCOMPRESSED_BYTES } from '../format/limits.ts'
import { rawHandle, type Tuning, type ZlibHandle } from './handle.ts'

/** Encodes records; not to be shared between threads. */
export interface Deflater {
  /** Which zlib interface is behind it. */
  readonly via: 'handle' | 'public'
  /**
   * Encodes `from[at … at + length]` to `into[position …]`, which needs room for `length` bytes. Returns the stream's
   * length, or 0 when the record is too short or would not become smaller and is to be stored raw.
   */
  deflate(from: Uint8Array, at: number, length: number, into: Uint8Array, position: number): number
}

// Run-length matches are fastest and, on images, also smallest; text and tables need full matching (docs/decisions.md).
// One finishing call at these levels never ends in an empty stored block, which the original cannot read.
const STRATEGIES: readonly Tuning[] = [{ level: 6, strategy: constants.Z_RLE }, { level: 4 }]

/** A deflater over the raw handle. */
export function handleDeflater(handle: ZlibHandle): Deflater {
  return {
    via: 'handle',
    deflate(from, at, length, into, position) {
      if (length <= MAX_UNCOMPRESSED_BYTES) return 0
      const whole = handle.run(from, at, length, into, position, length)
      return whole && handle.availableOut > 0 && handle.availableIn === 0 ? length - handle.availableOut : 0
    },
  }
}

/** A deflater over `zlib.deflateRawSync`. */
export function publicDeflater(options: Tuning): Deflater {
  return {
    via: 'public',
    deflate(from, at, length, into, position) {
      if (length <= MAX_UNCOMPRESSED_BYTES) return 0
      const stream = deflateRawSync(from.subarray(at, at + length), options)
      if (stream.length >= length) return 0
      into.set(stream, position)
      return stream.length
    },
  }
}

/** Whether `deflater` gives streams that decode to their source, twice in a row, and refuses what does not shrink. */
export function deflaterWorks(deflater: Deflater): boolean {
  try {
    return passesTest(deflater)
  } catch {
    return false
  }
}

function passesTest(deflater: Deflater): boolean {
  const bytes = Uint8Array.from({ length: 1000 }, (_, i) => (i % 100 < 60 ? 0 : i % 7))
  const noise = Uint8Array.from({ length: 40 }, (_, i) => (i * 73 + i * i * 31) & 255)
  const out = new Uint8Array(1002).fill(9)
  const round = () => {
    const length = deflater.deflate(bytes, 0, 1000, out, 1)
    return length > 0 && inflateRawSync(out.subarray(1, 1 + length)).equals(bytes)
  }
  return round() && deflater.deflate(noise, 0, 40, out, 1) === 0 && round() && out[0] === 9 && out[1001] === 9
}

/**
 * The deflaters to choose from by data, fastest first. Each is the raw handle after a self-test, else the public call.
 */
export function createDeflaters(): readonly Deflater[] {
  return STRATEGIES.map((options) => {
    const handle = rawHandle('deflate', options)
    if (handle !== undefined) {
      const deflater = handleDeflater(handle)
      if (deflaterWorks(deflater)) return deflater
    }
    return publicDeflater(options)
  })
}
