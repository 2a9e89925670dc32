// format/: journal.zr (ours; the original ignores the file): writes that belong together and must all happen or none.
// Little endian. A header of 64 bytes: magic "ZJNL", version u16, number of the operation u16, count of writes u32,
// bytes of the group's JSON u32, then the store's header (length, tail_chunk, tail_offset, u32 each) before and after,
// payload bytes u64 at 40, CRC-32 of everything behind the header u32 at 48, and CRC-32 of the first 60 bytes at 60.
// Then the JSON, then 16 bytes a write (file u32: 0 meta.zr, 1 sums.zr, 2 + n chunk n; offset u64; bytes u32), then
// their bytes in the same order.

import { LoaderxError } from '../errors.ts'
import type { Header } from './header.ts'
import { chunkName, MAX_CHUNK, META_NAME } from './limits.ts'
import { type Crc32, SUMS_NAME } from './sums.ts'

/** Name of the journal, and of one that is being written. */
export const JOURNAL_NAME = 'journal.zr'
export const JOURNAL_NEW_NAME = 'journal.zr.new'

/** Bytes that go to one place. */
export interface PlannedWrite {
  /** A name of the store's: meta.zr, sums.zr or a chunk. */
  readonly file: string
  readonly offset: number
  readonly bytes: Uint8Array
}

/** What the journal's writes are part of. */
const JOURNAL_OPERATIONS = ['delete', 'compact', 'repair', 'deleteAligned'] as const
/** One of {@link JOURNAL_OPERATIONS}. */
type JournalOperation = (typeof JOURNAL_OPERATIONS)[number]

/** Stores that change together: all of them or none. */
export interface JournalGroup {
  readonly id: string
  /** Absolute paths of the stores. */
  readonly members: readonly string[]
}

/** A set of writes to one store. */
export interface Journal {
  readonly operation: JournalOperation
  readonly group?: JournalGroup | undefined
  /** The store's header when the journal was made, and when its writes are done. */
  readonly before: Header
  readonly after: Header
  readonly writes: readonly PlannedWrite[]
}

const HEADER_BYTES = 64
const WRITE_BYTES = 16
const MAGIC = 0x4c4e4a5a
const VERSION = 1
const MAX_GROUP_BYTES = 2 ** 20

function fileNumber(name: string): number {
  if (name === META_NAME) return 0
  if (name === SUMS_NAME) return 1
  return 2 + Number.parseInt(name, 10)
}

function fileName(number: number): string | undefined {
  if (number === 0) return META_NAME
  if (number === 1) return SUMS_NAME
  return number - 2 <= MAX_CHUNK ? chunkName(number - 2) : undefined
}

function putHeader(view: DataView, at: number, header: Header): void {
  view.setUint32(at, header.length, true)
  view.setUint32(at + 4, header.tailChunk, true)
  view.setUint32(at + 8, header.tailOffset, true)
}

function getHeader(view: DataView, at: number): Header {
  return {
    length: view.getUint32(at, true),
    tailChunk: view.getUint32(at + 4, true),
    tailOffset: view.getUint32(at + 8, true),
  }
}

/** The journal as the bytes of its file. */
export function encodeJournal(journal: Journal, crc32: Crc32): Uint8Array {
  const group =
    journal.group === undefined ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(journal.group))
  const payload = journal.writes.reduce((sum, write) => sum + write.bytes.length, 0)
  const tableAt = HEADER_BYTES + group.length
  const bytes = new Uint8Array(tableAt + journal.writes.length * WRITE_BYTES + payload)
  const view = new DataView(bytes.buffer)
  bytes.set(group, HEADER_BYTES)
  let entry = tableAt
  let at = tableAt + journal.writes.length * WRITE_BYTES
  for (const write of journal.writes) {
    view.setUint32(entry, fileNumber(write.file), true)
    view.setBigUint64(entry + 4, BigInt(write.offset), true)
    view.setUint32(entry + 12, write.bytes.length, true)
    bytes.set(write.bytes, at)
    entry += WRITE_BYTES
    at += write.bytes.length
  }
  view.setUint32(0, MAGIC, true)
  view.setUint16(4, VERSION, true)
  view.setUint16(6, JOURNAL_OPERATIONS.indexOf(journal.operation), true)
  view.setUint32(8, journal.writes.length, true)
  view.setUint32(12, group.length, true)
  putHeader(view, 16, journal.before)
  putHeader(view, 28, journal.after)
  view.setBigUint64(40, BigInt(payload), true)
  view.setUint32(48, crc32(bytes.subarray(HEADER_BYTES)), true)
  view.setUint32(60, crc32(bytes.subarray(0, 60)), true)
  return bytes
}

/**
 * Reads a journal; nothing of it is believed before its sums are right.
 * @throws LOADERX_CORRUPT_STORE
 */
export function decodeJournal(bytes: Uint8Array, path: string, crc32: Crc32): Journal {
  const refuse = (fault: string): LoaderxError =>
    new LoaderxError(
      'LOADERX_CORRUPT_STORE',
      `${path} is not a sound journal: ${fault}; run repair, which says what it would do before it does it`,
      { path },
    )
  if (bytes.length < HEADER_BYTES) throw refuse(`it has ${bytes.length} bytes`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (view.getUint32(0, true) !== MAGIC) throw refuse('it does not start with "ZJNL"')
  if (view.getUint32(60, true) !== crc32(bytes.subarray(0, 60))) throw refuse('the checksum of its header is wrong')
  if (view.getUint16(4, true) !== VERSION) throw refuse(`its version is ${view.getUint16(4, true)}`)
  const operation = JOURNAL_OPERATIONS[view.getUint16(6, true)]
  const count = view.getUint32(8, true)
  const groupBytes = view.getUint32(12, true)
  const payload = Number(view.getBigUint64(40, true))
  if (operation === undefined) throw refuse('its operation is unknown')
  const tableAt = HEADER_BYTES + groupBytes
  const expected = tableAt + count * WRITE_BYTES + payload
  if (groupBytes > MAX_GROUP_BYTES || expected !== bytes.length) {
    throw refuse(`it has ${bytes.length} bytes, not ${expected}`)
  }
  if (view.getUint32(48, true) !== crc32(bytes.subarray(HEADER_BYTES))) throw refuse('its checksum is wrong')
  const writes: PlannedWrite[] = []
  let at = tableAt + count * WRITE_BYTES
  for (let i = 0; i < count; i++) {
    const entry = tableAt + i * WRITE_BYTES
    const file = fileName(view.getUint32(entry, true))
    const length = view.getUint32(entry + 12, true)
    if (file === undefined || at + length > bytes.length) throw refuse(`write ${i} is out of bounds`)
    const offset = Number(view.getBigUint64(entry + 4, true))
    writes.push({ file, offset, bytes: bytes.subarray(at, at + length) })
    at += length
  }
  const group =
    groupBytes === 0
      ? undefined
      : (JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_BYTES, tableAt))) as JournalGroup)
  return { operation, group, before: getHeader(view, 16), after: getHeader(view, 28), writes }
}
