// zrecord/: closing the gaps that removed records left. Pure plan: records keep their physical order and move to the
// lowest free place; the table's order does not change, so every index keeps its record.

import { LoaderxError } from '../errors.ts'
import { decodeEntry, entryFault, entryPosition } from '../format/entry.ts'
import { CHUNK_BYTES } from '../format/limits.ts'
import type { Place } from './placement.ts'

/** Consecutive bytes that are read from one place. */
interface MoveSource {
  readonly chunk: number
  readonly offset: number
  bytes: number
}

/** Records that move together: from any number of places to one contiguous place. */
export interface MoveStep {
  readonly toChunk: number
  readonly toOffset: number
  readonly bytes: number
  readonly sources: readonly MoveSource[]
  /** Indices of the records, and where each goes in chunk `toChunk`. */
  readonly indices: Uint32Array
  readonly offsets: Uint32Array
  /** Whether the place overlaps a place that is read: then the bytes must be saved before they are written. */
  readonly overlaps: boolean
}

/** Bytes that move in one step, unless a single record has more. */
const MOVE_BYTES: number = 4 * 2 ** 20

/** The live records by place. */
export interface PhysicalOrder {
  readonly order: Uint32Array
  /** Stored bytes of all records. */
  readonly liveBytes: number
}

/**
 * Sorts the records by chunk and offset, and makes sure that each lies inside its file and no two share a byte.
 * @param meta the bytes of meta.zr, header included
 * @throws LOADERX_CORRUPT_STORE naming the records
 */
export function physicalOrder(
  meta: DataView,
  length: number,
  limits: ArrayLike<number>,
  path: string,
  action: string,
): PhysicalOrder {
  const refuse = (index: number, fault: string): LoaderxError =>
    new LoaderxError(
      'LOADERX_CORRUPT_STORE',
      `${path} cannot be ${action}: record ${index} ${fault}; verify the store, and restore it from a copy`,
      { path, index },
    )
  const places = new Float64Array(length)
  const order = new Uint32Array(length)
  let liveBytes = 0
  for (let index = 0; index < length; index++) {
    const entry = decodeEntry(meta, entryPosition(index))
    const fault = entryFault(entry, limits)
    if (fault !== undefined) throw refuse(index, `has a damaged table entry (${fault})`)
    places[index] = entry.chunk * CHUNK_BYTES + entry.offset
    order[index] = index
    liveBytes += entry.phys
  }
  let sorted = true
  for (let i = 1; i < length && sorted; i++) sorted = places[i - 1]! <= places[i]!
  if (!sorted) order.sort((a, b) => places[a]! - places[b]! || a - b)
  for (let i = 1; i < length; i++) {
    const before = order[i - 1]!
    const end = places[before]! + meta.getUint32(entryPosition(before) + 4, true)
    if (end > places[order[i]!]!) throw refuse(order[i]!, `shares bytes with record ${before}`)
  }
  return { order, liveBytes }
}

/** Plans the moves of a compact, one step after the other; records that are in place are skipped. */
export function* planMoves(
  meta: DataView,
  order: Uint32Array,
  moveBytes: number = MOVE_BYTES,
): Generator<MoveStep, Place> {
  let place = { chunk: 0, offset: 0 }
  let open: StepBuilder | undefined
  for (const index of order) {
    const { chunk, offset, phys } = decodeEntry(meta, entryPosition(index))
    const to = place.offset + phys >= CHUNK_BYTES ? { chunk: place.chunk + 1, offset: 0 } : place
    place = { chunk: to.chunk, offset: to.offset + phys }
    if (to.chunk === chunk && to.offset === offset) {
      if (open !== undefined) yield open.finish()
      open = undefined
      continue
    }
    if (open !== undefined && !open.takes(to, phys, moveBytes)) {
      yield open.finish()
      open = undefined
    }
    open ??= new StepBuilder(to)
    open.add(index, { chunk, offset, bytes: phys }, to.offset)
  }
  if (open !== undefined) yield open.finish()
  return place
}

class StepBuilder {
  readonly #to: Place
  readonly #sources: MoveSource[] = []
  readonly #indices: number[] = []
  readonly #offsets: number[] = []
  #bytes = 0

  constructor(to: Place) {
    this.#to = to
  }

  takes(to: Place, bytes: number, moveBytes: number): boolean {
    return to.chunk === this.#to.chunk && this.#bytes + bytes <= moveBytes
  }

  add(index: number, source: MoveSource, offset: number): void {
    const last = this.#sources.at(-1)
    if (last?.chunk === source.chunk && last.offset + last.bytes === source.offset) last.bytes += source.bytes
    else this.#sources.push(source)
    this.#indices.push(index)
    this.#offsets.push(offset)
    this.#bytes += source.bytes
  }

  finish(): MoveStep {
    const end = this.#to.offset + this.#bytes
    // Places only move down, so what is read lies at or behind what is written.
    const overlaps = this.#sources.some(({ chunk, offset }) => chunk === this.#to.chunk && offset < end)
    return {
      toChunk: this.#to.chunk,
      toOffset: this.#to.offset,
      bytes: this.#bytes,
      sources: this.#sources,
      indices: Uint32Array.from(this.#indices),
      offsets: Uint32Array.from(this.#offsets),
      overlaps,
    }
  }
}
