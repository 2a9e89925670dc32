// zrecord/: a resolved batch as a value: the checked table entries of its records, in the order asked, and where their
// bytes go. Pure: nothing here reads or writes.

import { LoaderxError } from '../errors.ts'
import { CODEC_RAW } from '../format/entry.ts'

/** Where the records of a batch go: a fixed distance apart, or each at its own byte offset. */
export type Layout = number | { readonly offsets: ArrayLike<number> }

/** The checked entries of a batch, 16 bytes each as in the record table. */
export class Plan {
  readonly length: number
  readonly #words: Uint32Array

  constructor(words: Uint32Array) {
    this.#words = words
    this.length = words.length / 4
  }

  offset(i: number): number {
    return this.#words[4 * i]!
  }
  /** Stored bytes. */
  phys(i: number): number {
    return this.#words[4 * i + 1]!
  }
  /** Bytes after decoding. */
  logic(i: number): number {
    return this.#words[4 * i + 2]!
  }
  chunk(i: number): number {
    return this.#words[4 * i + 3]! & 0xffff
  }
  isRaw(i: number): boolean {
    return ((this.#words[4 * i + 3]! >>> 16) & 0xff) === CODEC_RAW
  }

  /** The plan on its own, for when the memory that it lies in is used for something else. */
  copy(): Plan {
    return new Plan(this.#words.slice())
  }
}

/** First byte of record `i` in the destination. */
export function target(layout: Layout, i: number): number {
  return typeof layout === 'number' ? i * layout : layout.offsets[i]!
}

/**
 * Checks the form of a layout for `n` records and takes its offsets to itself: the caller's list may change while reads
 * are waited for, or through another thread.
 * @throws LOADERX_INVALID_ARGUMENT
 */
export function settleLayout(layout: Layout, n: number): Layout {
  if (typeof layout === 'number') return layout
  const { offsets } = layout
  if (offsets.length !== n) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `${offsets.length} offsets are given for ${n} records; give one for each`,
      { expected: n, actual: offsets.length },
    )
  }
  const own = new Float64Array(n)
  for (let i = 0; i < n; i++) {
    const offset = offsets[i]!
    if (!Number.isSafeInteger(offset) || offset < 0) {
      const message = `the offset at position ${i} is ${String(offset)}, not a whole number of bytes from 0`
      throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { position: i, actual: offset })
    }
    own[i] = offset
  }
  return { offsets: own }
}

/**
 * Checks that every record of `plan` fits its place in a destination of `room` bytes.
 * @throws LOADERX_BUFFER_TOO_SMALL
 */
export function checkRoom(plan: Plan, layout: Layout, room: number): void {
  const n = plan.length
  if (n === 0) return
  if (typeof layout === 'number') {
    const end = (n - 1) * layout + plan.logic(n - 1)
    if (end <= room) return
    throw new LoaderxError(
      'LOADERX_BUFFER_TOO_SMALL',
      `the destination has ${room} bytes, but ${n} records ${layout} bytes apart need ${end}`,
      { expected: end, actual: room },
    )
  }
  for (let i = 0; i < n; i++) {
    const offset = layout.offsets[i]!
    if (offset + plan.logic(i) <= room) continue
    throw new LoaderxError(
      'LOADERX_BUFFER_TOO_SMALL',
      `record at position ${i} has ${plan.logic(i)} bytes and goes to offset ${offset}, outside the destination of ${room} bytes`,
      { position: i, expected: offset + plan.logic(i), actual: room },
    )
  }
}

/** Whether the records lie one behind the other in the destination, without a gap. Returns their end, or -1. */
export function denseEnd(plan: Plan, layout: Layout): number {
  let at = target(layout, 0)
  for (let i = 0; i < plan.length; i++) {
    if (target(layout, i) !== at) return -1
    at += plan.logic(i)
  }
  return at
}

/** Consecutive bytes of one chunk that are read with one call. */
interface ReadRun {
  readonly chunk: number
  readonly offset: number
  bytes: number
  /** Where the run's bytes go in the group's buffer. */
  readonly at: number
}

/** Reads that together fill one buffer, and the records found in it. */
export interface ReadGroup {
  readonly bytes: number
  readonly runs: readonly ReadRun[]
  /** Positions in the batch, and where each record's stored bytes start in the buffer. */
  readonly records: readonly { readonly position: number; readonly at: number }[]
}

/** Bytes between two records that are read along rather than skipped with a second call. */
const MAX_GAP = 4096
/** Bytes that one group reads, unless a single record has more. */
const GROUP_BYTES = 16 * 2 ** 20

/** Plans the reads of a batch by position in the files: neighbours together, groups of bounded size. */
export function planReads(plan: Plan): ReadGroup[] {
  const order = Uint32Array.from({ length: plan.length }, (_, i) => i)
  order.sort((a, b) => plan.chunk(a) - plan.chunk(b) || plan.offset(a) - plan.offset(b))
  const groups: ReadGroup[] = []
  let runs: ReadRun[] = []
  let records: { position: number; at: number }[] = []
  let filled = 0
  const finish = () => {
    if (records.length > 0) groups.push({ bytes: filled, runs, records })
    runs = []
    records = []
    filled = 0
  }
  for (const position of order) {
    const chunk = plan.chunk(position)
    const offset = plan.offset(position)
    const end = offset + plan.phys(position)
    if (filled >= GROUP_BYTES) finish()
    let run = runs.at(-1)
    if (run === undefined || run.chunk !== chunk || offset > run.offset + run.bytes + MAX_GAP) {
      run = { chunk, offset, bytes: 0, at: filled }
      runs.push(run)
    }
    run.bytes = Math.max(run.bytes, end - run.offset)
    filled = run.at + run.bytes
    records.push({ position, at: run.at + offset - run.offset })
  }
  finish()
  return groups
}
