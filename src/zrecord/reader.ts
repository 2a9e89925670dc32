// zrecord/: batched random reads. A batch is resolved by the kernel into a plan (every entry checked, nothing copied)
// and then brought by whichever way is fastest: one kernel call, record by record from memory, or reads of the files.
// A reader works on a plain state that can be sent to another thread.

import { createInflater, type Inflater } from '../codec/inflate.ts'
import { LoaderxError } from '../errors.ts'
import { decodeEntry, entryPosition } from '../format/entry.ts'
import { ENTRY_BYTES, HEADER_BYTES, MAX_RECORD_BYTES } from '../format/limits.ts'
import { SUM_BYTES, SUMS_HEADER_BYTES } from '../format/sums.ts'
import { instantiateKernel, type KernelExports } from '../kernel/kernel.ts'
import { copyBytes } from '../storage/copy.ts'
import { NodeDirectory } from '../storage/files.ts'
import { entryError, outOfRange } from './fault.ts'
import { loadPages, readGroup, readGroupSync } from './file-reads.ts'
import { StoreFiles } from './files.ts'
import { countIndices, type Indices, indexAt, writeIndices } from './indices.ts'
import { checkRoom, denseEnd, type Layout, Plan, planReads, type ReadGroup, settleLayout } from './plan.ts'
import {
  type Allocate,
  type GatherBounds,
  LIMITS_BYTES,
  type ReaderState,
  readerScratch,
  SCRATCH_BYTES,
  SMALL_BYTES,
} from './reader-state.ts'
import { bringRecord, type Transfer } from './scatter.ts'
import { checkInMemory, checkRecord, type SealState } from './seals.ts'
import { mapWindow } from './window-mapping.ts'
import { type ByteSource, type WindowState, Windows } from './windows.ts'

/** Reads batches from one store. Not to be shared between threads. */
export class RecordReader {
  state: ReaderState
  readonly #kernel: KernelExports
  readonly #allocate: Allocate
  readonly #release: (address: number) => void
  readonly #windows: Windows
  #files: StoreFiles | undefined
  #inflater: Inflater | undefined
  #scratch = { address: 0, records: -1 }
  #bulk = { address: 0, bytes: 0 }
  #data: Uint8Array | undefined
  /** Addresses of the batch's indices and plan. */
  #list = 0
  #plan = 0

  /**
   * @param allocate gives scratch in the state's memory, `release` takes it back
   * @param files the store's files, when the thread has them open already
   */
  constructor(
    state: ReaderState,
    allocate: Allocate,
    release: (address: number) => void = () => {},
    files?: StoreFiles,
  ) {
    this.state = state
    this.#kernel = instantiateKernel(state.memory)
    this.#allocate = allocate
    this.#release = release
    this.#files = files
    this.#windows = new Windows(state.windowBytes, state.windows, (chunk, start) =>
      mapWindow(this.state, this.#ownFiles(), chunk, start),
    )
  }

  get windows(): WindowState[] {
    return this.#windows.states
  }

  /** Takes note that the store has other records or limits now; the memory and its addresses stay. */
  advance(length: number, limits: Uint32Array, seals: SealState | undefined): void {
    this.state = { ...this.state, length, limits, seals }
    if (this.#scratch.records >= 0) this.#writeLimits()
  }

  #writeLimits(): void {
    const { memory, limits } = this.state
    new Uint32Array(memory.buffer, this.#scratch.address, limits.length).set(limits)
  }

  #ownFiles = (): StoreFiles => {
    this.#files ??= new StoreFiles(new NodeDirectory(this.state.path))
    return this.#files
  }

  #decoder = (): Inflater => {
    this.#inflater ??= createInflater()
    return this.#inflater
  }

  /**
   * Gathers from memory. Not for `file`, whose reads can wait: see {@link gatherFile}.
   * @throws as Zrecord.gather
   */
  gather(indices: Indices, into: Uint8Array, layout: Layout, bounds: GatherBounds = {}): void {
    const transfer = this.#prepare(indices, into, layout, bounds)
    if (transfer === undefined) return
    const { plan } = transfer
    if (this.state.kind === 'file') {
      for (const group of planReads(plan)) this.#bringGroup(transfer, group, readGroupSync(this.#ownFiles(), group))
      return
    }
    if (this.state.dataAddress === undefined) {
      for (let i = 0; i < plan.length; i++) bringRecord(transfer, i, this.#windows, this.#decoder)
      return
    }
    this.#bringFromMemory(transfer, this.state.dataAddress)
  }

  /** As {@link gather}, with reads that leave the event loop free when the bytes are in the files. */
  async gatherAsync(indices: Indices, into: Uint8Array, layout: Layout, bounds: GatherBounds = {}): Promise<void> {
    if (this.state.kind !== 'file') return this.gather(indices, into, layout, bounds)
    const room = into.length
    const transfer = this.#prepare(indices, into, layout, bounds)
    if (transfer === undefined) return
    for (const group of planReads(transfer.plan)) {
      const bytes = await readGroup(this.#ownFiles(), group)
      checkStillThere(into, room)
      this.#bringGroup(transfer, group, bytes)
    }
  }

  /** Logical length of each record. */
  lengths(indices: Indices): Uint32Array {
    const plan = this.#resolve(indices, 1, MAX_RECORD_BYTES)
    return Uint32Array.from({ length: plan.length }, (_, i) => plan.logic(i))
  }

  #prepare(indices: Indices, into: Uint8Array, layout: Layout, bounds: GatherBounds): Transfer | undefined {
    const { exactly } = bounds
    const longest = typeof layout === 'number' ? Math.min(layout, MAX_RECORD_BYTES) : MAX_RECORD_BYTES
    const resolved = this.#resolve(indices, exactly ?? 1, exactly ?? longest)
    if (resolved.length === 0) return undefined
    // The plan lies in scratch that another gather may use while one that reads files waits.
    const plan = this.state.kind === 'file' ? resolved.copy() : resolved
    const settled = settleLayout(layout, plan.length)
    checkRoom(plan, settled, into.length)
    const kept = this.state.kind === 'file' ? Array.from(indices as readonly number[]) : indices
    const { path, seals, memory } = this.state
    const transfer: Transfer = { plan, into, layout: settled, path, indexAt: (i) => Number(kept[i]) }
    if (seals === undefined) return transfer
    if (seals.pages !== undefined) this.#loadSums(seals, seals.pages, plan.length)
    if (this.state.dataAddress === undefined || this.state.kind === 'file') {
      return { ...transfer, check: (i, bytes, at) => checkRecord(memory, seals, transfer, i, bytes, at) }
    }
    const at = { list: this.#list, plan: this.#plan, base: this.state.dataAddress }
    checkInMemory(this.#kernel, memory, seals, transfer, at)
    return transfer
  }

  #loadSums(seals: SealState, pages: number, n: number): void {
    const { memory } = this.state
    const address = seals.sums - SUMS_HEADER_BYTES
    const items = { headerBytes: SUMS_HEADER_BYTES, itemBytes: SUM_BYTES, count: seals.summed }
    loadPages({ memory, address, pages, ...items }, () => this.#ownFiles().sums, this.#list, n)
  }

  #resolve(indices: Indices, shortest: number, longest: number): Plan {
    const n = countIndices(indices)
    const { state } = this
    if (n > this.#scratch.records) this.#growScratch(n)
    const limits = this.#scratch.address
    let list = limits + LIMITS_BYTES
    const plan = list + 8 * this.#scratch.records
    if (indices instanceof BigUint64Array && indices.buffer === state.memory.buffer) list = indices.byteOffset
    else writeIndices(indices, new Uint32Array(state.memory.buffer, list, 2 * n))
    this.#list = list
    this.#plan = plan
    const { memory, metaAddress: address, pagesAddress: pages } = state
    if (pages !== undefined) {
      const items = { headerBytes: HEADER_BYTES, itemBytes: ENTRY_BYTES, count: state.length }
      loadPages({ memory, address, pages, ...items }, () => this.#ownFiles().meta, list, n)
    }
    const table = state.metaAddress + HEADER_BYTES
    const { length } = state
    const chunks = state.limits.length
    const bad = this.#kernel.resolve(list, n, table, length, limits, chunks, shortest, longest, plan)
    if (bad >= 0) {
      const context = { ...state, shortest, longest }
      const index = indexAt(indices, new Uint32Array(state.memory.buffer, list, 2 * n), bad)
      if (!(index >= 0 && index < length)) throw outOfRange(context, index, bad)
      const entry = decodeEntry(new DataView(state.memory.buffer, state.metaAddress), entryPosition(index))
      throw entryError(context, index, bad, entry)
    }
    return new Plan(new Uint32Array(state.memory.buffer, plan, 4 * n))
  }

  #growScratch(n: number): void {
    if (this.#scratch.records >= 0) this.#release(this.#scratch.address)
    this.#scratch = { address: 0, records: -1 }
    const records = Math.max(256, 2 ** Math.ceil(Math.log2(Math.max(1, n))))
    const address = this.#allocate(readerScratch(records))
    if (address === undefined) {
      const message = `${n} records are more than this reader was made for; use a smaller batch`
      throw new LoaderxError('LOADERX_BATCH_TOO_LARGE', message, { path: this.state.path, actual: n })
    }
    this.#scratch = { address, records }
    this.#writeLimits()
  }

  #bringFromMemory(transfer: Transfer, dataAddress: number): void {
    const { plan, into, layout } = transfer
    const { memory } = this.state
    const n = plan.length
    const data = this.#dataSource(dataAddress)
    let deflated: number
    if (into.buffer === memory.buffer && typeof layout === 'number') {
      deflated = this.#kernel.copyFixed(this.#plan, n, dataAddress, into.byteOffset, layout)
    } else {
      const end = plan.logic(0) < SMALL_BYTES ? denseEnd(plan, layout) : -1
      if (end < 0 || end > SCRATCH_BYTES || !this.#reserveBulk(end + 64 + 4 * n)) {
        for (let i = 0; i < n; i++) bringRecord(transfer, i, data, this.#decoder)
        return
      }
      deflated = this.#copyDense(this.#plan, transfer, dataAddress, end)
    }
    if (deflated === 0) return
    for (let i = 0; i < n; i++) if (!plan.isRaw(i)) bringRecord(transfer, i, data, this.#decoder)
  }

  /** Copies the raw records of a batch without gaps with one kernel call and one copy. Returns how many are deflated. */
  #copyDense(plan: number, transfer: Transfer, dataAddress: number, end: number): number {
    const { into, layout } = transfer
    const n = transfer.plan.length
    const fixed = typeof layout === 'number'
    const first = fixed ? 0 : layout.offsets[0]!
    const bytes = end - first
    const { address } = this.#bulk
    const { memory } = this.state
    let deflated: number
    if (fixed) deflated = this.#kernel.copyFixed(plan, n, dataAddress, address, layout)
    else {
      const table = address + Math.ceil(bytes / 64) * 64
      const offsets = new Uint32Array(memory.buffer, table, n)
      for (let i = 0; i < n; i++) offsets[i] = layout.offsets[i]! - first
      deflated = this.#kernel.copyOffsets(plan, n, dataAddress, address, table)
    }
    if (deflated < n) copyBytes(new Uint8Array(memory.buffer, address, bytes), into, first)
    return deflated
  }

  /** Makes sure of `bytes` bytes to copy a batch through. Returns false where there is no room for them. */
  #reserveBulk(bytes: number): boolean {
    if (bytes <= this.#bulk.bytes) return true
    if (this.#bulk.bytes > 0) this.#release(this.#bulk.address)
    const address = this.#allocate(2 * bytes)
    this.#bulk = address === undefined ? { address: 0, bytes: 0 } : { address, bytes: 2 * bytes }
    return address !== undefined
  }

  #dataSource(dataAddress: number): ByteSource {
    if (this.#data === undefined)
      this.#data = new Uint8Array(this.state.memory.buffer, dataAddress, this.state.dataBytes)
    return { bytes: this.#data, seek: (_chunk, offset) => offset }
  }

  #bringGroup(transfer: Transfer, group: ReadGroup, bytes: Uint8Array): void {
    for (const { position, at } of group.records) {
      bringRecord(transfer, position, { bytes, seek: () => at }, this.#decoder)
    }
  }

  /** Closes files that this reader opened itself. */
  close(): void {
    this.#files?.close()
  }
}

function checkStillThere(into: Uint8Array, room: number): void {
  if (into.length === room) return
  const message =
    'the destination was resized or transferred while records were read; keep it until the gather has ended'
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { expected: room, actual: into.length })
}
