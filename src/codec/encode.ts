// codec/: encodes a run of records into one block of stored bytes. This is the unit of work that goes to a worker.

import { CODEC_FLATE, CODEC_RAW } from '../format/entry.ts'
import type { Deflater } from './deflate.ts'

/** Encoded records, one behind the other, in the order given. */
export interface EncodedBlock {
  readonly bytes: Uint8Array
  /** Stored length of each record. */
  readonly phys: Uint32Array
  /** Codec of each record: 0 raw, 1 flate. */
  readonly codecs: Uint8Array
}

/** Records of `lengths[i]` bytes that lie one behind the other in `source`. */
export interface RecordBlock {
  readonly source: Uint8Array
  readonly lengths: Uint32Array
}

/** Records of a block that are tried with each deflater, and the saving that makes a slower one worth its time. */
const SAMPLES = 8
const WORTH = 0.97

/** The deflater that suits the block: the fastest, unless a slower one stores a sample in clearly fewer bytes. */
function suitable(block: RecordBlock, deflaters: readonly Deflater[], scratch: Uint8Array): Deflater {
  const { source, lengths } = block
  const every = Math.max(1, Math.floor(lengths.length / SAMPLES))
  let best = { deflater: deflaters[0]!, bytes: Number.POSITIVE_INFINITY }
  for (const deflater of deflaters) {
    let bytes = 0
    let from = 0
    for (let i = 0; i < lengths.length; i++) {
      const length = lengths[i]!
      if (i % every === 0) bytes += deflater.deflate(source, from, length, scratch, 0) || length
      from += length
    }
    if (bytes < best.bytes * WORTH) best = { deflater, bytes }
  }
  return best.deflater
}

/** Deflates every record of `block` that becomes smaller by it. */
export function encodeBlock(block: RecordBlock, deflaters: readonly Deflater[]): EncodedBlock {
  const { source, lengths } = block
  const bytes = new Uint8Array(source.length)
  const phys = new Uint32Array(lengths.length)
  const codecs = new Uint8Array(lengths.length)
  const deflater = suitable(block, deflaters, bytes)
  let from = 0
  let to = 0
  for (let i = 0; i < lengths.length; i++) {
    const length = lengths[i]!
    const stored = deflater.deflate(source, from, length, bytes, to)
    if (stored === 0) bytes.set(source.subarray(from, from + length), to)
    phys[i] = stored === 0 ? length : stored
    codecs[i] = stored === 0 ? CODEC_RAW : CODEC_FLATE
    to += phys[i]!
    from += length
  }
  return { bytes: bytes.subarray(0, to), phys, codecs }
}
