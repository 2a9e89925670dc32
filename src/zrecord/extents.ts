// zrecord/: which stretches of the chunks hold live records, from the record table. Pure.

import { decodeEntry, entryFault, entryPosition } from '../format/entry.ts'

/** Live bytes `from` … `to` of one window of a chunk. */
export interface Extent {
  readonly chunk: number
  readonly from: number
  to: number
}

/** Bytes between two records that are read along rather than left out. */
const MAX_GAP = 65536

/**
 * The stretches in which records `first` … `last - 1` lie, by chunk and offset, neighbours merged. Entries that may not
 * be followed are left out: reading them fails later, by their index.
 * @param meta the bytes of meta.zr, header included
 */
export function liveExtents(meta: DataView, first: number, last: number, limits: ArrayLike<number>): Extent[] {
  const spans: Extent[] = []
  for (let index = first; index < last; index++) {
    const entry = decodeEntry(meta, entryPosition(index))
    if (entryFault(entry, limits) !== undefined) continue
    const end = entry.offset + entry.phys
    const previous = spans.at(-1)
    if (previous?.chunk === entry.chunk && previous.to === entry.offset) previous.to = end
    else spans.push({ chunk: entry.chunk, from: entry.offset, to: end })
  }
  spans.sort((a, b) => a.chunk - b.chunk || a.from - b.from)
  const merged: Extent[] = []
  for (const span of spans) {
    const last = merged.at(-1)
    if (last?.chunk === span.chunk && span.from - last.to <= MAX_GAP) last.to = Math.max(last.to, span.to)
    else merged.push(span)
  }
  return merged
}

/** The first record whose entry lies past the frontier, or -1: an append would overwrite it. */
export function firstPastFrontier(meta: DataView, length: number, tailChunk: number, tailOffset: number): number {
  for (let index = 0; index < length; index++) {
    const at = entryPosition(index)
    const chunk = meta.getUint16(at + 12, true)
    if (chunk < tailChunk) continue
    const end = meta.getUint32(at, true) + meta.getUint32(at + 4, true)
    if (chunk > tailChunk || end > tailOffset) return index
  }
  return -1
}
