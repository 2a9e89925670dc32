// zrecord/: the records that a caller appends, checked and cut into blocks of bounded size. Pure.

import type { RecordBlock } from '../codec/encode.ts'
import { LoaderxError } from '../errors.ts'
import { MAX_RECORD_BYTES } from '../format/limits.ts'

/** Ragged records inside one source: record i is `lengths[i]` bytes from `offsets[i]`. They may overlap. */
export interface RaggedLayout {
  /** Where each record begins in the source, in bytes. */
  readonly offsets: ArrayLike<number>
  /** Bytes of each record. */
  readonly lengths: ArrayLike<number>
}

/** Memory that holds bytes. */
export type Bytes = ArrayBufferView | ArrayBuffer | SharedArrayBuffer

/** Whether `value` is memory that holds bytes. */
export function isBytes(value: unknown): value is Bytes {
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer
}

/** The bytes of `memory`, without a copy. @throws LOADERX_INVALID_ARGUMENT when it is none; `what` is for the message */
export function asBytes(memory: Bytes, what: string): Uint8Array {
  if (memory instanceof Uint8Array) return memory
  if (ArrayBuffer.isView(memory)) return new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength)
  if (isBytes(memory)) return new Uint8Array(memory)
  const message = `${what} is ${typeof memory}, not bytes; give a typed array, Buffer, DataView, ArrayBuffer or SharedArrayBuffer`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message)
}

/** Checked records to append. */
export interface RecordSource {
  readonly count: number
  length(i: number): number
  /** The bytes of record `i`, without a copy. */
  record(i: number): Uint8Array
  /** The source itself when records lie in it one behind the other. */
  readonly dense: Uint8Array | undefined
}

function checkLength(bytes: number, i: number): void {
  const whole = Number.isInteger(bytes)
  if (whole && bytes >= 1 && bytes <= MAX_RECORD_BYTES) return
  if (bytes === 0) {
    const message = `record ${i} has no bytes; a store cannot hold empty records: leave it out, or store a marker`
    throw new LoaderxError('LOADERX_EMPTY_RECORD', message, { position: i, actual: 0 })
  }
  if (whole && bytes > MAX_RECORD_BYTES) {
    const message = `record ${i} has ${bytes} bytes, more than the limit of ${MAX_RECORD_BYTES} (1 MiB); split it or store it encoded`
    throw new LoaderxError('LOADERX_RECORD_TOO_LARGE', message, {
      position: i,
      expected: MAX_RECORD_BYTES,
      actual: bytes,
    })
  }
  const message = `the length of record ${i} is ${String(bytes)}, not a whole number of bytes from 1`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { position: i, actual: bytes })
}

/** Bytes of the caller's memory, which was checked before the append had to wait and may be gone since. */
function part(memory: Uint8Array, from: number, bytes: number): Uint8Array {
  if (from + bytes <= memory.length) return memory.subarray(from, from + bytes)
  const message = 'the memory of the records was resized or transferred while they were appended; keep it until the end'
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { expected: from + bytes, actual: memory.length })
}

/** Records of `recordBytes` bytes, one behind the other in `source`, which they fill. */
export function equalRecords(source: Uint8Array, recordBytes: number): RecordSource {
  if (source.length > 0 || recordBytes !== 0) checkLength(recordBytes, 0)
  const count = source.length === 0 ? 0 : source.length / recordBytes
  if (!Number.isInteger(count)) {
    const message = `the source has ${source.length} bytes, which is not a whole number of records of ${recordBytes} bytes`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { expected: recordBytes, actual: source.length })
  }
  return {
    count,
    length: () => recordBytes,
    record: (i) => part(source, i * recordBytes, recordBytes),
    dense: source,
  }
}

/** Ragged records of `source`. */
export function raggedRecords(source: Uint8Array, layout: RaggedLayout): RecordSource {
  // Copies: the caller may change its lists while the append waits for its turn.
  const lengths = new Uint32Array(layout.lengths.length)
  const offsets = new Float64Array(layout.offsets.length)
  if (offsets.length !== lengths.length) {
    const message = `${offsets.length} offsets and ${lengths.length} lengths are given; give one of each for every record`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { expected: lengths.length, actual: offsets.length })
  }
  let end = 0
  let dense = true
  for (let i = 0; i < lengths.length; i++) {
    const length = layout.lengths[i]!
    const offset = layout.offsets[i]!
    checkLength(length, i)
    if (!Number.isSafeInteger(offset) || offset < 0) {
      const message = `the offset of record ${i} is ${String(offset)}, not a whole number of bytes from 0`
      throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { position: i, actual: offset })
    }
    if (offset + length > source.length) {
      const message = `record ${i} (${length} bytes from ${offset}) does not lie inside the source of ${source.length} bytes`
      const details = { position: i, expected: offset + length, actual: source.length }
      throw new LoaderxError('LOADERX_BUFFER_TOO_SMALL', message, details)
    }
    lengths[i] = length
    offsets[i] = offset
    dense &&= offset === end
    end = offset + length
  }
  return {
    count: lengths.length,
    length: (i) => lengths[i]!,
    record: (i) => part(source, offsets[i]!, lengths[i]!),
    dense: dense ? source : undefined,
  }
}

/** A list of records. */
export function listedRecords(list: readonly Bytes[]): RecordSource {
  const records = Array.from(list, (item, i) => {
    const bytes = asBytes(item, `record ${i}`)
    checkLength(bytes.length, i)
    return bytes
  })
  const lengths = Uint32Array.from(records, (bytes) => bytes.length)
  return {
    count: records.length,
    length: (i) => lengths[i]!,
    record: (i) => part(records[i]!, 0, lengths[i]!),
    dense: undefined,
  }
}

/** Records `first` … of a source. */
export interface SourceSlice {
  readonly first: number
  readonly count: number
  readonly bytes: number
}

/** Cuts a source into slices of about `blockBytes` bytes, at least one record each. */
export function sliceSource(source: RecordSource, blockBytes: number): SourceSlice[] {
  const slices: SourceSlice[] = []
  let first = 0
  let bytes = 0
  for (let i = 0; i < source.count; i++) {
    const length = source.length(i)
    if (i > first && bytes + length > blockBytes) {
      slices.push({ first, count: i - first, bytes })
      first = i
      bytes = 0
    }
    bytes += length
  }
  if (source.count > first) slices.push({ first, count: source.count - first, bytes })
  return slices
}

/**
 * The records of a slice one behind the other. The bytes are the caller's own where they lie so already, unless
 * `fresh` asks for a copy.
 */
export function sliceBlock(source: RecordSource, slice: SourceSlice, fresh: boolean): RecordBlock {
  const lengths = Uint32Array.from({ length: slice.count }, (_, i) => source.length(slice.first + i))
  if (source.dense !== undefined) {
    const start = source.record(slice.first)
    const from = start.byteOffset - source.dense.byteOffset
    const bytes = part(source.dense, from, slice.bytes)
    return { source: fresh ? Uint8Array.from(bytes) : bytes, lengths }
  }
  const bytes = new Uint8Array(slice.bytes)
  let at = 0
  for (let i = 0; i < slice.count; i++) {
    const record = source.record(slice.first + i)
    bytes.set(record, at)
    at += record.length
  }
  return { source: bytes, lengths }
}
