// loader/: fills memory with the samples of one field. Runs in the loader's thread or in a worker, from a plan that is
// plain data.

import { swapBytes } from '../dataset/bytes.ts'
import { isLoaderxError } from '../errors.ts'
import type { Indices } from '../zrecord/indices.ts'
import { RecordReader } from '../zrecord/reader.ts'
import {
  type Allocate,
  bulkScratch,
  type GatherBounds,
  type ReaderState,
  readerScratch,
} from '../zrecord/reader-state.ts'
import { inField } from './faults.ts'

/** One store of a field, and scratch in its memory for one reader. */
export interface FieldPart {
  readonly state: ReaderState
  /** Unit whose bytes are swapped after the copy; 1 when nothing is. */
  readonly swapWidth: number
  readonly scratch: number
  readonly scratchBytes: number
}

/** What is to be known to fill one field; can be sent to a worker. */
export interface FieldPlan {
  readonly name: string
  readonly sampleBytes: number
  readonly parts: readonly FieldPart[]
  /** First sample of each part, and the number of samples as the last element. */
  readonly starts: readonly number[]
}

/**
 * Bytes of scratch that a filler of `batchSize` samples needs in each part.
 * @param outside whether the samples go, without a gap, to memory that is not the part's
 */
export function fillerScratch(batchSize: number, sampleBytes: number, outside: boolean): number {
  const records = readerScratch(Math.max(256, 2 ** Math.ceil(Math.log2(batchSize))))
  return records + (outside ? bulkScratch(batchSize, sampleBytes) : 0) + 128
}

/** Fills batches of one field. Not to be shared between threads. */
export class FieldFiller {
  readonly plan: FieldPlan
  readonly #readers: RecordReader[]
  readonly #bounds: GatherBounds

  constructor(plan: FieldPlan) {
    this.plan = plan
    this.#bounds = { exactly: plan.sampleBytes }
    this.#readers = plan.parts.map((part) => new RecordReader(part.state, fixedAllocator(part)))
  }

  /** Fills `into` with the samples of `indices`, back to back. @throws as Zrecord.gather */
  fill(indices: BigUint64Array, into: Uint8Array): void {
    const { sampleBytes } = this.plan
    for (const { part, local, offsets } of this.#split(indices)) {
      try {
        this.#readers[part]!.gather(local, into, offsets === undefined ? sampleBytes : { offsets }, this.#bounds)
      } catch (error) {
        throw this.#fault(error, offsets)
      }
      this.#swap(part, into, offsets)
    }
  }

  /** As {@link fill}; reads of files leave the event loop free. */
  async fillAsync(indices: BigUint64Array, into: Uint8Array): Promise<void> {
    const { sampleBytes } = this.plan
    for (const { part, local, offsets } of this.#split(indices)) {
      const layout = offsets === undefined ? sampleBytes : { offsets }
      try {
        await this.#readers[part]!.gatherAsync(local, into, layout, this.#bounds)
      } catch (error) {
        throw this.#fault(error, offsets)
      }
      this.#swap(part, into, offsets)
    }
  }

  #split(indices: BigUint64Array): readonly PartIndices[] {
    return this.#readers.length === 1 ? [{ part: 0, local: indices }] : splitByPart(indices, this.plan)
  }

  #fault(error: unknown, offsets: Float64Array | undefined): unknown {
    const { name, sampleBytes } = this.plan
    const position = isLoaderxError(error) ? error.details.position : undefined
    if (position === undefined || offsets === undefined) return inField(error, name)
    return inField(error, name, offsets[position]! / sampleBytes)
  }

  #swap(part: number, into: Uint8Array, offsets: Float64Array | undefined): void {
    const { sampleBytes, parts } = this.plan
    const { swapWidth } = parts[part]!
    if (swapWidth === 1) return
    if (offsets === undefined) swapBytes(into, swapWidth)
    else for (const at of offsets) swapBytes(into.subarray(at, at + sampleBytes), swapWidth)
  }

  /** Whether a fill waits for reads of files. */
  get readsFiles(): boolean {
    return this.plan.parts.some((part) => part.state.kind === 'file')
  }

  close(): void {
    for (const reader of this.#readers) reader.close()
  }
}

interface PartIndices {
  readonly part: number
  readonly local: Indices
  /** Place of each in the batch, in bytes; without, they are the whole batch in its order. */
  readonly offsets?: Float64Array
}

/** Sorts the indices of a batch by part; each keeps its place in the batch as a byte offset. */
function splitByPart(indices: BigUint64Array, plan: Pick<FieldPlan, 'starts' | 'sampleBytes'>): PartIndices[] {
  const { starts, sampleBytes } = plan
  const lists: { local: number[]; offsets: number[] }[] = starts.slice(1).map(() => ({ local: [], offsets: [] }))
  for (let i = 0; i < indices.length; i++) {
    const index = Number(indices[i])
    const part = partOf(index, starts)
    lists[part]!.local.push(index - starts[part]!)
    lists[part]!.offsets.push(i * sampleBytes)
  }
  return lists.flatMap(({ local, offsets }, part) =>
    local.length === 0 ? [] : [{ part, local: Float64Array.from(local), offsets: Float64Array.from(offsets) }],
  )
}

/** The part that holds sample `index`: the last one that starts at or before it. */
function partOf(index: number, starts: readonly number[]): number {
  let low = 0
  let high = starts.length - 2
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (starts[middle]! <= index) low = middle
    else high = middle - 1
  }
  return low
}

/** Gives pieces of the part's scratch in turn; a reader asks once for each purpose. */
function fixedAllocator(part: FieldPart): Allocate {
  let used = 0
  return (bytes) => {
    const address = part.scratch + used
    const end = used + Math.ceil(bytes / 64) * 64
    if (end > part.scratchBytes) return undefined
    used = end
    return address
  }
}
