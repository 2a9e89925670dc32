// zrecord/: carries out appends. The order makes a killed process harmless: stored bytes and sums, then table entries,
// then the header; until the header is written nothing of the append is visible.

import { createDeflaters } from '../codec/deflate.ts'
import { type EncodedBlock, encodeBlock } from '../codec/encode.ts'
import { ENCODE_WIDTH, encodeInPool, useEncodePool } from '../codec/encode-pool.ts'
import { LoaderxError } from '../errors.ts'
import { encodeEntry, entryPosition } from '../format/entry.ts'
import { encodeHeader, type Header } from '../format/header.ts'
import { chunkName, ENTRY_BYTES, MAX_RECORDS, META_NAME } from '../format/limits.ts'
import { SUMS_NAME } from '../format/sums.ts'
import { checksums } from '../kernel/checksums.ts'
import type { StoreDirectory, StoreFile } from '../storage/files.ts'
import { firstPastFrontier } from './extents.ts'
import { type Frontier, readFrontier } from './frontier.ts'
import type { Durability } from './journal.ts'
import { type Placement, placeRecords } from './placement.ts'
import { type RecordSource, type SourceSlice, sliceBlock, sliceSource } from './source.ts'
import { readSumsState, settleSums, stampSums, writeSums } from './sums.ts'
import type { WriteFiles } from './write-files.ts'

/** How records are stored: as they are, or deflated where that makes them smaller. */
export type Codec = 'raw' | 'flate'

/** Source bytes that are encoded and written together. */
const BLOCK_BYTES = 2 * 2 ** 20
/** Appends up to this size are encoded at once, in the calling thread. */
const INLINE_BYTES = 128 * 1024

/** What an append did. */
export interface Appended {
  readonly before: Header
  readonly after: Header
}

/** The writing side of one open store. Calls must not overlap. */
export class RecordWriter {
  readonly #directory: StoreDirectory
  readonly #files: WriteFiles
  readonly #durability: Durability
  readonly #leavePool: () => Promise<void> = useEncodePool()
  #deflaters: ReturnType<typeof createDeflaters> | undefined
  #tableChecked = false

  constructor(files: WriteFiles, durability: Durability) {
    this.#files = files
    this.#directory = files.directory
    this.#durability = durability
  }

  /**
   * Appends all records or none. Returns the header before and after.
   * @throws LOADERX_STORE_FULL, LOADERX_CORRUPT_STORE, LOADERX_TRUNCATED, LOADERX_IO; the signal's reason
   */
  async append(source: RecordSource, codec: Codec, signal: AbortSignal | undefined): Promise<Appended> {
    signal?.throwIfAborted()
    const meta = await this.#files.meta
    await this.#files.settleHeader()
    const { header } = await this.#checkedFrontier(meta)
    checkTableRoom(this.#directory.path, header.length, source.count)
    const entries = new DataView(new ArrayBuffer(source.count * ENTRY_BYTES))
    const sums = new Uint32Array(2 * source.count)
    const written = new Set<string>([SUMS_NAME])
    let place = { chunk: header.tailChunk, offset: header.tailOffset }
    let first = 0
    for await (const block of this.#encoded(source, codec)) {
      signal?.throwIfAborted()
      const placement = placeRecords(place, block.phys, this.#directory.path)
      await this.#writeRuns(placement, block, written)
      checksums().records(block.bytes, block.phys, sums.subarray(2 * first))
      for (let i = 0; i < block.phys.length; i++) {
        encodeEntry(entries, (first + i) * ENTRY_BYTES, {
          offset: placement.offsets[i]!,
          phys: block.phys[i]!,
          logic: source.length(first + i),
          chunk: placement.chunks[i]!,
          codec: block.codecs[i]!,
        })
      }
      first += block.phys.length
      place = placement.next
    }
    signal?.throwIfAborted()
    const next: Header = { tailChunk: place.chunk, tailOffset: place.offset, length: header.length + source.count }
    const table = new Uint8Array(entries.buffer)
    checksums().entries(table, sums)
    await settleSums(this.#files, header, readSumsState(this.#directory, header))
    await writeSums(this.#files, header.length, sums)
    await this.#flush(written)
    await meta.write(table, entryPosition(header.length))
    await this.#flush([META_NAME])
    try {
      await meta.write(encodeHeader(next), 0)
      await this.#flush([META_NAME])
    } catch (error) {
      // An append that is reported as failed must not be there for all who look.
      this.#files.headerTakenBack()
      await meta.write(encodeHeader(header), 0).catch(() => {})
      throw error
    }
    // The records are in the store whatever happens now, and an earlier stamp covers them too.
    await stampSums(this.#files, next).catch(() => {})
    return { before: header, after: next }
  }

  async #flush(names: Iterable<string>): Promise<void> {
    if (this.#durability === 'power') await this.#files.sync(names)
  }

  /** The frontier, when it is safe to append behind it and the store has room for the records. */
  async #checkedFrontier(meta: StoreFile): Promise<Frontier> {
    const frontier = readFrontier(this.#directory, meta)
    const { tailChunk, tailOffset, length } = frontier.header
    // Growing a file that was cut before its last record would turn lost bytes into zeros that read without an error.
    const end = Math.min(tailOffset, frontier.limits[tailChunk]!)
    if (this.#tableChecked && !frontier.frontierDamaged && end === tailOffset) return frontier
    const table = new Uint8Array(entryPosition(length))
    await meta.read(table, 0)
    const past = firstPastFrontier(new DataView(table.buffer), length, tailChunk, end)
    if (past >= 0) {
      const { path } = this.#directory
      if (end < tailOffset) {
        throw new LoaderxError(
          'LOADERX_TRUNCATED',
          `${path} cannot be appended to: ${chunkName(tailChunk)} ends at byte ${end}, before record ${past} does: the file was cut; restore it from a copy`,
          { path, index: past, chunk: tailChunk, offset: end },
        )
      }
      throw new LoaderxError(
        'LOADERX_CORRUPT_STORE',
        `${path} cannot be appended to: record ${past} lies past the end that its header gives (chunk ${tailChunk}, byte ${tailOffset}), so new records would overwrite it; restore the store from a copy`,
        { path, index: past, chunk: tailChunk, offset: tailOffset },
      )
    }
    this.#tableChecked = true
    return frontier
  }

  async *#encoded(source: RecordSource, codec: Codec): AsyncGenerator<EncodedBlock> {
    const slices = sliceSource(source, BLOCK_BYTES)
    if (codec === 'raw') {
      for (const slice of slices) yield rawBlock(source, slice)
      return
    }
    if (slices.length === 1 && slices[0]!.bytes <= INLINE_BYTES) {
      this.#deflaters ??= createDeflaters()
      yield encodeBlock(sliceBlock(source, slices[0]!, false), this.#deflaters)
      return
    }
    const underway: Promise<EncodedBlock>[] = []
    let next = 0
    const start = () => {
      const slice = slices[next++]
      if (slice === undefined) return
      const block = encodeInPool(sliceBlock(source, slice, true))
      // Awaited in turn; until then a failure must not count as unhandled.
      block.catch(() => {})
      underway.push(block)
    }
    while (underway.length < ENCODE_WIDTH && next < slices.length) start()
    for (let block = underway.shift(); block !== undefined; block = underway.shift()) {
      const encoded = await block
      start()
      yield encoded
    }
  }

  async #writeRuns(placement: Placement, block: EncodedBlock, written: Set<string>): Promise<void> {
    for (const { chunk, offset, from, bytes } of placement.runs) {
      written.add(chunkName(chunk))
      await (await this.#files.chunk(chunk)).write(block.bytes.subarray(from, from + bytes), offset)
    }
  }

  /** The table may have been changed by other means: it is checked again before the next append. */
  forgetTable(): void {
    this.#tableChecked = false
  }

  close(): Promise<void> {
    return this.#leavePool()
  }
}

function rawBlock(source: RecordSource, slice: SourceSlice): EncodedBlock {
  const { source: bytes, lengths } = sliceBlock(source, slice, false)
  return { bytes, phys: lengths, codecs: new Uint8Array(lengths.length) }
}

function checkTableRoom(path: string, length: number, count: number): void {
  if (length + count <= MAX_RECORDS) return
  throw new LoaderxError(
    'LOADERX_STORE_FULL',
    `${path} holds ${length} records; ${count} more exceed the limit of ${MAX_RECORDS}: begin another store (Dataset.concat reads several as one)`,
    { path, expected: MAX_RECORDS, actual: length + count },
  )
}
