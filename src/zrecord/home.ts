// zrecord/: brings an open store's bytes to where the kernel reaches them and keeps up with its growth: the record table
// always, the records when they live in memory or are mapped. Belongs to the thread that opened the store.

import { entryPosition } from '../format/entry.ts'
import { ENTRY_BYTES, HEADER_BYTES, MAX_RECORDS, META_BYTES } from '../format/limits.ts'
import { SUM_BYTES, SUMS_BYTES, SUMS_HEADER_BYTES, sumPosition } from '../format/sums.ts'
import { instantiateKernel, WASM_PAGE } from '../kernel/kernel.ts'
import { CRC_TABLE_BYTES } from '../kernel/layout.ts'
import { Arena } from '../storage/arena.ts'
import { createResidence, loadBytes, mapBytes, type Residence } from '../storage/residence.ts'
import type { ChosenResidency } from '../storage/residency.ts'
import { liveExtents } from './extents.ts'
import type { StoreFiles } from './files.ts'
import type { Frontier } from './frontier.ts'
import { RecordReader } from './reader.ts'
import type { ReaderState } from './reader-state.ts'
import type { SealState, VerifyMode } from './seals.ts'
import { readSumsState } from './sums.ts'
import { WINDOW_OVERLAP, type WindowState } from './windows.ts'

/** Room for a store to grow in place: twice what it has, and at least this. */
const ROOM_BYTES = 16 * 2 ** 20
const ROOM_RECORDS = 65536
/** Bytes of a record of which pages of meta.zr, and of sums.zr, were read, one for each. */
const PAGES = Math.ceil(META_BYTES / WASM_PAGE)
const SUM_PAGES = Math.ceil(SUMS_BYTES / WASM_PAGE)

/** A store's bytes as the loader uses them: kept in place until released. */
export interface HeldStore {
  readonly state: ReaderState
  readonly arena: Arena
  release(): void
}

/** What the checks of records need in a store's memory. */
type SealPlaces = Pick<SealState, 'tables' | 'seen' | 'pages'>

/** The bytes of one open store, and the reader over them. */
export class Home {
  readonly arena: Arena
  readonly reader: RecordReader
  readonly #residence: Residence
  readonly #files: StoreFiles
  readonly #choice: ChosenResidency
  readonly #windowBytes: number
  readonly #tableRoom: number
  readonly #dataRoom: number
  readonly #pages: number | undefined
  readonly #verify: VerifyMode
  readonly #sumsRoom: number
  readonly #sealPlaces: SealPlaces
  readonly #memoryWindows = new Map<string, WindowState>()
  /** The header: live where meta.zr is mapped, else as last read. */
  readonly #header: Uint32Array
  readonly #headerBytes: Uint8Array
  #frontier: Frontier
  #seals: SealState | undefined
  /** Records that may have a bit in `seen`. */
  #seenRecords = 0
  #holders = 0
  #retired = false

  constructor(files: StoreFiles, frontier: Frontier, choice: ChosenResidency, windowBytes: number, verify: VerifyMode) {
    this.#files = files
    this.#choice = choice
    this.#windowBytes = windowBytes
    this.#frontier = frontier
    const { length } = frontier.header
    const records = choice.kind === 'memory' ? Math.min(MAX_RECORDS, 2 * length + ROOM_RECORDS) : MAX_RECORDS
    this.#tableRoom = HEADER_BYTES + records * ENTRY_BYTES
    this.#dataRoom = this.#inOneMemory(frontier)
      ? choice.kind === 'mapped'
        ? windowBytes
        : Math.min(windowBytes, 2 * frontier.limits[0]! + ROOM_BYTES)
      : 0
    this.#verify = verify
    const { summed } = readSumsState(files.directory, frontier.header)
    // A file can only be mapped when it is there; where it comes later, so does another home.
    const hasSums = verify !== 'never' && (choice.kind !== 'mapped' || summed > 0)
    this.#sumsRoom = hasSums ? SUMS_HEADER_BYTES + records * SUM_BYTES : 0
    const rooms = [this.#tableRoom, this.#dataRoom, this.#sumsRoom]
    this.#residence = createResidence(rooms, files.directory.path, choice.kind === 'mapped')
    const { memory, addresses, end } = this.#residence
    this.arena = new Arena(memory, end)
    this.#pages = choice.kind === 'file' ? this.arena.allocate(PAGES) : undefined
    this.#sealPlaces = this.#placeSeals()
    if (choice.kind === 'mapped') {
      if (hasSums) mapBytes(choice.mapper, memory, addresses[2]!, files.sums, 0, this.#sumsRoom)
      mapBytes(choice.mapper, memory, addresses[0]!, files.meta, 0, this.#tableRoom)
      if (this.#dataRoom > 0) mapBytes(choice.mapper, memory, addresses[1]!, files.chunk(0), 0, this.#dataRoom)
    }
    this.#header =
      choice.kind === 'mapped' ? new Uint32Array(memory.buffer, addresses[0]!, 4) : new Uint32Array(HEADER_BYTES / 4)
    this.#headerBytes = new Uint8Array(this.#header.buffer, this.#header.byteOffset, HEADER_BYTES)
    this.#load(0, 0, frontier)
    this.#seals = this.#readSeals(0, frontier) ?? undefined
    this.reader = new RecordReader(
      this.state,
      (bytes) => this.#allocate(bytes),
      (address) => this.arena.release(address),
      files,
    )
  }

  /** Where there is no room beside the store, a reader does with less. */
  #allocate(bytes: number): number | undefined {
    try {
      return this.arena.allocate(bytes)
    } catch {
      return undefined
    }
  }

  get kind(): 'memory' | 'mapped' | 'file' {
    return this.#choice.kind
  }

  #inOneMemory(frontier: Frontier): boolean {
    const fits = frontier.limits.length === 1 && frontier.limits[0]! <= this.#windowBytes
    return this.#choice.kind !== 'file' && fits
  }

  /** What another thread needs to read the store as it is now. */
  get state(): ReaderState {
    const { memory, addresses } = this.#residence
    return {
      path: this.#files.directory.path,
      kind: this.#choice.kind,
      length: this.#frontier.header.length,
      limits: this.#frontier.limits,
      memory,
      metaAddress: addresses[0]!,
      dataAddress: this.#dataRoom > 0 ? addresses[1]! : undefined,
      dataBytes: this.#dataRoom,
      pagesAddress: this.#pages,
      seals: this.#seals,
      windowBytes: this.#windowBytes,
      windows: this.#choice.kind === 'mapped' ? (this.reader?.windows ?? []) : [...this.#memoryWindows.values()],
    }
  }

  /**
   * Follows the store to `frontier`. `appended` says that records were only added since; otherwise the table is read
   * anew. Returns false when the store no longer fits its place, and a new home has to be made.
   */
  advance(frontier: Frontier, appended: boolean): boolean {
    const before = this.#frontier
    const { kind } = this.#choice
    if (entryPosition(frontier.header.length) > this.#tableRoom) return false
    if (this.#dataRoom > 0 && (frontier.limits.length > 1 || frontier.limits[0]! > this.#dataRoom)) return false
    if (kind === 'memory') {
      const shrunk =
        frontier.header.tailChunk < before.header.tailChunk ||
        (frontier.header.tailChunk === before.header.tailChunk && frontier.header.tailOffset < before.header.tailOffset)
      if (shrunk || (!appended && this.#dataRoom === 0)) return false
      const windows = this.#memoryWindows.size
      this.#load(appended ? before.header.length : 0, this.#dataRoom > 0 ? before.limits[0]! : 0, frontier)
      if (this.#memoryWindows.size > windows) return false
    } else if (this.#pages !== undefined) {
      const firstStale = appended ? Math.floor(entryPosition(before.header.length) / WASM_PAGE) : 0
      new Uint8Array(this.#residence.memory.buffer, this.#pages, PAGES).fill(0, firstStale)
    }
    const seals = this.#readSeals(appended ? before.header.length : 0, frontier)
    if (seals === null) return false
    this.#seals = seals
    this.#frontier = frontier
    this.reader.advance(frontier.header.length, frontier.limits, seals)
    return true
  }

  #placeSeals(): SealPlaces {
    const { memory } = this.#residence
    const tables = this.arena.allocate(CRC_TABLE_BYTES)
    instantiateKernel(memory).crcTables(tables)
    const seen = this.arena.allocate(MAX_RECORDS / 8 + 8)
    const pages = this.#choice.kind === 'file' ? this.arena.allocate(SUM_PAGES) : undefined
    return { tables, seen, pages }
  }

  /** Reads the sums from record `first` on; null where they need a place that this home does not have. */
  #readSeals(first: number, frontier: Frontier): SealState | undefined | null {
    if (this.#verify === 'never') return undefined
    const { summed, exact } = readSumsState(this.#files.directory, frontier.header)
    if (summed === 0) return undefined
    if (this.#sumsRoom === 0) return null
    const { memory, addresses } = this.#residence
    const { tables, seen, pages } = this.#sealPlaces
    // The whole would be 2 MiB that nobody has touched.
    if (first === 0) new Uint8Array(memory.buffer, seen, Math.ceil(this.#seenRecords / 8)).fill(0)
    this.#seenRecords = Math.max(this.#seenRecords, summed)
    if (this.#choice.kind === 'memory') {
      const from = first === 0 ? 0 : sumPosition(Math.min(first, summed))
      loadBytes(memory, addresses[2]! + from, this.#files.sums, from, sumPosition(summed))
    }
    if (pages !== undefined) {
      const firstStale = first === 0 ? 0 : Math.floor(sumPosition(first) / WASM_PAGE)
      new Uint8Array(memory.buffer, pages, SUM_PAGES).fill(0, firstStale)
    }
    return { mode: this.#verify, tables, sums: addresses[2]! + SUMS_HEADER_BYTES, summed, exact, seen, pages }
  }

  /** Reads the table from record `first` and the records from byte `from` (or, in windows, those records' bytes). */
  #load(first: number, from: number, frontier: Frontier): void {
    if (this.#choice.kind !== 'memory') return
    const { memory, addresses } = this.#residence
    const { length } = frontier.header
    const start = first === 0 ? 0 : entryPosition(first)
    loadBytes(memory, addresses[0]! + start, this.#files.meta, start, entryPosition(length))
    if (this.#dataRoom > 0) {
      loadBytes(memory, addresses[1]! + from, this.#files.chunk(0), from, frontier.limits[0]!)
      return
    }
    const meta = new DataView(memory.buffer, addresses[0]!, this.#tableRoom)
    for (const { chunk, from, to } of liveExtents(meta, first, length, frontier.limits)) {
      const firstWindow = Math.floor(Math.max(0, from - WINDOW_OVERLAP) / this.#windowBytes)
      for (let start = firstWindow * this.#windowBytes; start < to; start += this.#windowBytes) {
        const window = this.#memoryWindow(chunk, start)
        const begin = Math.max(from, start)
        const end = Math.min(to, start + this.#windowBytes + WINDOW_OVERLAP)
        if (begin < end) {
          loadBytes(window.memory, window.address + begin - start, this.#files.chunk(chunk), begin, end)
        }
      }
    }
  }

  #memoryWindow(chunk: number, start: number): WindowState {
    const key = `${chunk}:${start}`
    let window = this.#memoryWindows.get(key)
    if (window === undefined) {
      const room = this.#windowBytes + WINDOW_OVERLAP
      const { memory, addresses } = createResidence([room], this.#files.directory.path, false)
      window = { chunk, start, memory, address: addresses[0]! }
      this.#memoryWindows.set(key, window)
    }
    return window
  }

  /** Whether the header on disk is another than the one that this home follows. */
  moved(): boolean {
    const { tailChunk, tailOffset, length } = this.#frontier.header
    const words = this.#header
    if (this.#choice.kind !== 'mapped') this.#files.meta.readSync(this.#headerBytes, 0)
    return words[3] !== length || words[2] !== tailOffset || words[1]! >>> 16 !== tailChunk
  }

  /** What the store was when this home last followed it. */
  get frontier(): Frontier {
    return this.#frontier
  }

  /**
   * Keeps the bytes in place, also past `retire`, until released. The state that it gives has a record of its own of the
   * table pages that were read: readers that know fewer records read less of the last one, and must not count for others.
   */
  hold(): HeldStore {
    const { arena, state } = this
    const pages = this.#pages === undefined ? undefined : arena.allocate(PAGES + SUM_PAGES)
    if (pages !== undefined) new Uint8Array(state.memory.buffer, pages, PAGES + SUM_PAGES).fill(0)
    const sumPages = pages === undefined ? undefined : pages + PAGES
    const seals = state.seals === undefined ? undefined : { ...state.seals, pages: sumPages }
    this.#holders++
    let held = true
    const release = () => {
      if (!held) return
      held = false
      if (pages !== undefined) arena.release(pages)
      this.#holders--
      if (this.#retired && this.#holders === 0) this.#letGo()
    }
    return { state: { ...state, pagesAddress: pages, seals }, arena, release }
  }

  /** The store is closed or has another home now: lets go of the files as soon as nobody holds them. */
  retire(): void {
    if (this.#retired) return
    this.#retired = true
    if (this.#holders === 0) this.#letGo()
  }

  #letGo(): void {
    const choice = this.#choice
    const { memory, addresses } = this.#residence
    if (choice.kind !== 'mapped') return
    choice.mapper.unmap(memory, addresses[0]!, this.#tableRoom)
    if (this.#dataRoom > 0) choice.mapper.unmap(memory, addresses[1]!, this.#dataRoom)
    if (this.#sumsRoom > 0) choice.mapper.unmap(memory, addresses[2]!, this.#sumsRoom)
    for (const window of this.reader.windows) {
      choice.mapper.unmap(window.memory, window.address, this.#windowBytes + WINDOW_OVERLAP)
    }
  }
}
