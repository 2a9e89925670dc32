// zrecord/: the store as its users see it: a directory of records, opened to append, to read at random, or both.

import { realpathSync } from 'node:fs'
import { resolve as absolute } from 'node:path'
import { isLoaderxError, LoaderxError } from '../errors.ts'
import { MAX_RECORD_BYTES } from '../format/limits.ts'
import type { Arena } from '../storage/arena.ts'
import { NodeDirectory, type StoreDirectory } from '../storage/files.ts'
import { chooseResidency, type Residency } from '../storage/residency.ts'
import { createStore } from './create.ts'
import { checkIsStore, StoreFiles } from './files.ts'
import { type Frontier, readFrontier } from './frontier.ts'
import { Home } from './home.ts'
import type { Indices } from './indices.ts'
import type { Layout } from './plan.ts'
import type { GatherBounds, ReaderState } from './reader.ts'
import {
  asBytes,
  type Bytes,
  equalRecords,
  listedRecords,
  type RaggedLayout,
  type RecordSource,
  raggedRecords,
} from './source.ts'
import { takeTurn } from './turns.ts'
import { MAX_WINDOW_BYTES, roundWindow } from './windows.ts'
import { type Codec, RecordWriter } from './writer.ts'

/** How a store is opened. */
export interface ZrecordOptions {
  /** Codec of appended records unless an append names another. Default `'flate'`. */
  readonly codec?: Codec
  /** Make an empty store when there is none at the path, with missing parent directories. Default false. */
  readonly create?: boolean
  /** Refuse appends. Default false. Opening never writes, so a store on a read-only disk opens either way. */
  readonly readOnly?: boolean
  /** Where the bytes live while the store is open. Default `'auto'`. */
  readonly residency?: Residency
}

/** Options of one append. */
export interface AppendOptions {
  /** Codec of these records. Default: the store's. */
  readonly codec?: Codec
  /** Gives the append up, unless it has been committed; nothing of it is then visible. */
  readonly signal?: AbortSignal
}

/** A store's bytes as the loader uses them: kept in place until released. */
export interface HeldStore {
  readonly state: ReaderState
  readonly arena: Arena
  release(): void
}

/** Internal: keeps a store's bytes in place for a loader. */
export let holdStore: (store: Zrecord) => HeldStore
/** Internal: as Zrecord.gather and gatherSync, for records of exactly `bytes` bytes. */
export let gatherExactly: (...args: ExactGather) => Promise<void>
export let gatherExactlySync: (...args: ExactGather) => void
type ExactGather = [store: Zrecord, indices: Indices, into: Uint8Array, layout: Layout, bytes: number]

/** Internal: opens a store in any directory, with windows of another size. */
export async function openStore(
  directory: StoreDirectory,
  options: ZrecordOptions & { readonly windowBytes?: number } = {},
): Promise<Zrecord> {
  const {
    codec = 'flate',
    create = false,
    readOnly = false,
    residency = 'auto',
    windowBytes = MAX_WINDOW_BYTES,
  } = options
  checkCodec(codec)
  // Misuse is refused before anything is made.
  chooseResidency(residency, 0, directory.path)
  if (create && readOnly) {
    const message = 'create and readOnly exclude each other; leave one out'
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { path: directory.path })
  }
  if (create && directory.look('meta.zr') === undefined) await createStore(directory)
  checkIsStore(directory)
  const files = new StoreFiles(directory)
  try {
    return new Zrecord(files, { codec, readOnly, residency, windowBytes: roundWindow(windowBytes) })
  } catch (error) {
    files.close()
    throw error
  }
}

function checkCodec(codec: Codec): void {
  if (codec === 'raw' || codec === 'flate') return
  const message = `codec is ${JSON.stringify(codec)}; use 'raw' or 'flate'`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: codec })
}

interface Opened {
  readonly codec: Codec
  readonly readOnly: boolean
  readonly residency: Residency
  readonly windowBytes: number
}

/**
 * A store of up to 2^24 records, each 1 … 2^20 bytes, addressed by index. Every method may be called while others run;
 * appends of this process to one store take turns.
 */
export class Zrecord {
  /** Directory of the store, absolute. */
  readonly path: string
  /** Codec of appended records unless an append names another. */
  readonly codec: Codec
  /** Whether appends are refused. */
  readonly readOnly: boolean
  readonly #directory: StoreDirectory
  readonly #files: StoreFiles
  readonly #opened: Opened
  #home: Home
  #writer: RecordWriter | undefined
  #closed = false
  #busy = new Set<Promise<unknown>>()

  static {
    holdStore = (store) => {
      store.#checkOpen()
      store.#refresh()
      const home = store.#home
      return { state: home.state, arena: home.arena, release: home.hold() }
    }
    gatherExactly = (store, indices, into, layout, bytes) => store.#gather(indices, into, layout, { exactly: bytes })
    gatherExactlySync = (store, indices, into, layout, bytes) =>
      store.#gatherSync(indices, into, layout, { exactly: bytes })
  }

  /** @internal Use {@link Zrecord.open}. */
  constructor(files: StoreFiles, opened: Opened) {
    this.#files = files
    this.#directory = files.directory
    this.#opened = opened
    this.path = files.directory.path
    this.codec = opened.codec
    this.readOnly = opened.readOnly
    this.#home = this.#newHome(readFrontier(this.#directory, files.meta))
  }

  /**
   * Opens the store at `path`. Nothing on disk changes, unless `create` is given and there is no store yet.
   * @throws LOADERX_NOT_FOUND, LOADERX_NOT_A_DIRECTORY, LOADERX_NOT_A_STORE, LOADERX_NEWER_VERSION,
   * LOADERX_CORRUPT_STORE, LOADERX_TRUNCATED, LOADERX_RESIDENCY_UNAVAILABLE, LOADERX_INVALID_ARGUMENT, LOADERX_IO
   */
  static async open(path: string, options: ZrecordOptions = {}): Promise<Zrecord> {
    if (typeof path !== 'string' || path === '' || path.includes('\0')) {
      const message = `the path of a store is ${JSON.stringify(path) ?? String(path)}; give the name of a directory`
      throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: path })
    }
    return openStore(new NodeDirectory(absolute(path)), options)
  }

  /** Records in the store now, those that other processes appended included. */
  get length(): number {
    this.#checkOpen()
    this.#refresh()
    return this.#home.frontier.header.length
  }

  /** Where the store's bytes live. */
  get residency(): 'memory' | 'mapped' | 'file' {
    return this.#home.state.kind
  }

  /** Appends equal records of `recordBytes` bytes each, one behind the other in `source`. See the last form. */
  append(source: Bytes, recordBytes: number, options?: AppendOptions): Promise<number>
  /** Appends ragged records: record i is `lengths[i]` bytes from `offsets[i]` of `source`. See the last form. */
  append(source: Bytes, layout: RaggedLayout, options?: AppendOptions): Promise<number>
  /**
   * Appends a list of records. All are appended or none; a process that is killed leaves none.
   * @returns the index of the first record
   * @throws LOADERX_EMPTY_RECORD, LOADERX_RECORD_TOO_LARGE, LOADERX_BUFFER_TOO_SMALL, LOADERX_STORE_FULL,
   * LOADERX_READ_ONLY, LOADERX_CORRUPT_STORE, LOADERX_ALREADY_CLOSED, LOADERX_IO; the signal's reason
   */
  append(records: readonly Bytes[], options?: AppendOptions): Promise<number>
  async append(
    input: Bytes | readonly Bytes[],
    layout?: number | RaggedLayout | AppendOptions,
    last?: AppendOptions,
  ): Promise<number> {
    this.#checkOpen()
    if (this.readOnly) {
      const message = `${this.path} was opened with readOnly, so nothing can be appended; open it without`
      throw new LoaderxError('LOADERX_READ_ONLY', message, { path: this.path })
    }
    const { source, options } = appendArguments(input, layout, last)
    const codec = options.codec ?? this.codec
    checkCodec(codec)
    options.signal?.throwIfAborted()
    const work = takeTurn(realpathSync(this.path), async () => {
      if (source.count === 0) return this.#home.frontier.header.length
      this.#writer ??= new RecordWriter(this.#directory)
      const frontier = await this.#writer.append(source, codec, options.signal)
      const first = frontier.header.length - source.count
      this.#follow(frontier, first === this.#home.frontier.header.length)
      return first
    })
    return this.#track(work)
  }

  /**
   * Reads records into the caller's memory, in the order asked; duplicates are fine. Record i of the batch goes to byte
   * `i * stride` of `into`, or to byte `offsets[i]`; a record shorter than its place leaves the rest of it as it was.
   * When an index or the geometry is refused, nothing has been written.
   * @param indices 0 … length - 1
   * @param layout the stride in bytes, or `{ offsets }`
   * @throws LOADERX_INDEX_OUT_OF_RANGE, LOADERX_INVALID_INDEX, LOADERX_BUFFER_TOO_SMALL, LOADERX_CORRUPT_RECORD,
   * LOADERX_TRUNCATED, LOADERX_ALREADY_CLOSED, LOADERX_IO
   */
  gather(indices: Indices, into: Bytes, layout: Layout): Promise<void> {
    return this.#gather(indices, asBytes(into), layout, {})
  }

  /** As {@link gather}, at once; with residency `'file'` it blocks while the disk reads. */
  gatherSync(indices: Indices, into: Bytes, layout: Layout): void {
    this.#gatherSync(indices, asBytes(into), layout, {})
  }

  /** The bytes of one record, in memory of their own. @throws as {@link gather} */
  async get(index: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(this.lengths([index])[0]!)
    await this.#gather([index], bytes, bytes.length, {})
    return bytes
  }

  /** Bytes of each record. @throws as {@link gather} */
  lengths(indices: Indices): Uint32Array {
    this.#checkOpen()
    return this.#retrying(() => this.#home.reader.lengths(indices))
  }

  /** Flushes what this handle appended to the disk. */
  async sync(): Promise<void> {
    this.#checkOpen()
    await takeTurn(realpathSync(this.path), async () => this.#writer?.sync())
  }

  /** Waits for running calls and closes. A second close does nothing. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.allSettled([...this.#busy])
    await this.#writer?.close()
    this.#home.retire()
    this.#files.close()
  }

  /** {@link close}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #gather(indices: Indices, into: Uint8Array, layout: Layout, bounds: GatherBounds): Promise<void> {
    this.#checkOpen()
    checkLayout(layout)
    if (this.#home.state.kind !== 'file') return this.#gatherSync(indices, into, layout, bounds)
    const run = () => this.#home.reader.gatherAsync(indices, into, layout, bounds)
    const work = run().catch((error) => {
      if (this.#mayBeStale(error) && this.#refresh()) return run()
      throw error
    })
    return this.#track(work)
  }

  #gatherSync(indices: Indices, into: Uint8Array, layout: Layout, bounds: GatherBounds): void {
    this.#checkOpen()
    checkLayout(layout)
    this.#retrying(() => this.#home.reader.gather(indices, into, layout, bounds))
  }

  /** Runs a read; when it fails on what may be out of date, follows the store and tries once more. */
  #retrying<T>(read: () => T): T {
    if (this.#home.state.kind === 'mapped') this.#refresh()
    try {
      return read()
    } catch (error) {
      if (this.#mayBeStale(error) && this.#refresh()) return read()
      throw error
    }
  }

  #mayBeStale(error: unknown): boolean {
    return isLoaderxError(error, 'LOADERX_INDEX_OUT_OF_RANGE') || isLoaderxError(error, 'LOADERX_CORRUPT_RECORD')
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#busy.add(work)
    const done = () => this.#busy.delete(work)
    work.then(done, done)
    return work
  }

  #checkOpen(): void {
    if (!this.#closed) return
    throw new LoaderxError('LOADERX_ALREADY_CLOSED', `${this.path} has been closed; open it again`, { path: this.path })
  }

  /** Looks whether the header changed on disk and follows it. Returns whether it did. */
  #refresh(): boolean {
    if (!this.#home.moved()) return false
    this.#follow(readFrontier(this.#directory, this.#files.meta), false)
    return true
  }

  #follow(frontier: Frontier, appended: boolean): void {
    if (this.#home.advance(frontier, appended)) return
    const before = this.#home
    this.#home = this.#newHome(frontier)
    before.retire()
  }

  #newHome(frontier: Frontier): Home {
    const { length } = frontier.header
    const bytes = frontier.limits.reduce((sum, limit) => sum + limit, 0) + length * 16
    const choice = chooseResidency(this.#opened.residency, bytes, this.path)
    try {
      return new Home(this.#files, frontier, choice, this.#opened.windowBytes)
    } catch (error) {
      if (this.#opened.residency !== 'auto' || !isLoaderxError(error, 'LOADERX_RESIDENCY_UNAVAILABLE')) throw error
      return new Home(this.#files, frontier, { kind: 'file' }, this.#opened.windowBytes)
    }
  }
}

function checkLayout(layout: Layout): void {
  if (typeof layout === 'number') {
    if (Number.isSafeInteger(layout) && layout >= 1 && layout <= 2 ** 32 - 1) return
    const message = `the stride is ${layout}; give the bytes from one record to the next, at least 1`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: layout })
  }
  if (layout !== null && typeof layout === 'object' && layout.offsets !== undefined) return
  const message = `the layout of a gather is ${String(layout)}; give a stride in bytes, or { offsets }`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: layout })
}

function appendArguments(
  input: Bytes | readonly Bytes[],
  layout: number | RaggedLayout | AppendOptions | undefined,
  last: AppendOptions | undefined,
): { source: RecordSource; options: AppendOptions } {
  if (Array.isArray(input)) return { source: listedRecords(input), options: (layout as AppendOptions) ?? {} }
  const options = last ?? {}
  if (ArrayBuffer.isView(input) || input instanceof ArrayBuffer || input instanceof SharedArrayBuffer) {
    const bytes = asBytes(input)
    if (typeof layout === 'number') return { source: equalRecords(bytes, layout), options }
    if (layout !== undefined && 'offsets' in layout && 'lengths' in layout) {
      return { source: raggedRecords(bytes, layout), options }
    }
    const message = `an append of one buffer needs the bytes of each record (1 … ${MAX_RECORD_BYTES}), or { offsets, lengths }`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: layout })
  }
  const message = `records to append are ${typeof input}; give a list of byte arrays, or a buffer and the bytes of each record`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message)
}
