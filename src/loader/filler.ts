// loader/: fills memory with the samples of one field. Runs in the loader's thread or in a worker, from a plan that is
// plain data.

import { swapBytes } from '../dataset/bytes.ts'
import { type Allocate, type ReaderState, RecordReader, readerScratch, SMALL_BYTES } from '../zrecord/reader.ts'

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

/** Bytes of scratch that a filler of `batchSize` samples needs in each part. */
export function fillerScratch(batchSize: number, sampleBytes: number, parts: number): number {
  const records = readerScratch(Math.max(256, 2 ** Math.ceil(Math.log2(batchSize))))
  // Samples that go to another memory pass through here, see RecordReader; long ones do not.
  const bulk = parts > 1 && sampleBytes < SMALL_BYTES ? 2 * (batchSize * (sampleBytes + 4) + 64) : 0
  return records + bulk + 128
}

/** Fills batches of one field. Not to be shared between threads. */
export class FieldFiller {
  readonly plan: FieldPlan
  readonly #readers: RecordReader[]

  constructor(plan: FieldPlan) {
    this.plan = plan
    this.#readers = plan.parts.map((part) => new RecordReader(part.state, fixedAllocator(part)))
  }

  /** Fills `into` with the samples of `indices`, back to back. @throws as Zrecord.gather */
  fill(indices: BigUint64Array, into: Uint8Array): void {
    const { sampleBytes, parts } = this.plan
    const bounds = { exactly: sampleBytes }
    if (parts.length === 1) {
      this.#readers[0]!.gather(indices, into, sampleBytes, bounds)
      swapBytes(into, parts[0]!.swapWidth)
      return
    }
    for (const { part, local, offsets } of splitByPart(indices, this.plan)) {
      this.#readers[part]!.gather(local, into, { offsets }, bounds)
      this.#swap(part, into, offsets)
    }
  }

  /** As {@link fill}; reads of files leave the event loop free. */
  async fillAsync(indices: BigUint64Array, into: Uint8Array): Promise<void> {
    const { sampleBytes, parts } = this.plan
    const bounds = { exactly: sampleBytes }
    if (parts.length === 1) {
      await this.#readers[0]!.gatherAsync(indices, into, sampleBytes, bounds)
      swapBytes(into, parts[0]!.swapWidth)
      return
    }
    for (const { part, local, offsets } of splitByPart(indices, this.plan)) {
      await this.#readers[part]!.gatherAsync(local, into, { offsets }, bounds)
      this.#swap(part, into, offsets)
    }
  }

  #swap(part: number, into: Uint8Array, offsets: Float64Array): void {
    const { sampleBytes, parts } = this.plan
    const { swapWidth } = parts[part]!
    if (swapWidth === 1) return
    for (const at of offsets) swapBytes(into.subarray(at, at + sampleBytes), swapWidth)
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
  readonly local: Float64Array
  readonly offsets: Float64Array
}

/** Sorts the indices of a batch by part; each keeps its place in the batch as a byte offset. */
export function splitByPart(indices: BigUint64Array, plan: Pick<FieldPlan, 'starts' | 'sampleBytes'>): PartIndices[] {
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
