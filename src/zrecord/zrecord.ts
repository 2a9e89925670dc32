// zrecord/: the store as its users see it: a directory of records, opened to append, to read at random, or both.

import { realpathSync } from 'node:fs'
import { resolve as absolute } from 'node:path'
import { LoaderxError } from '../errors.ts'
import { META_NAME } from '../format/limits.ts'
import { NodeDirectory, type StoreDirectory } from '../storage/files.ts'
import { ioError } from '../storage/io-error.ts'
import { chooseResidency, type Residency } from '../storage/residency.ts'
import {
  type AppendOptions,
  appendArguments,
  checkCodec,
  checkLayout,
  checkPath,
  type ZrecordOptions,
} from './arguments.ts'
import { createStore } from './create.ts'
import { checkIsStore, StoreFiles } from './files.ts'
import type { HeldStore } from './home.ts'
import type { Indices } from './indices.ts'
import { LiveStore } from './live.ts'
import type { Layout } from './plan.ts'
import type { GatherBounds } from './reader-state.ts'
import { asBytes, type Bytes, type RaggedLayout } from './source.ts'
import { takeTurn } from './turns.ts'
import { MAX_WINDOW_BYTES, roundWindow } from './windows.ts'
import { type Codec, RecordWriter } from './writer.ts'

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
  const isMissing = create && directory.look(META_NAME) === undefined
  const unmake = isMissing ? await createStore(directory) : undefined
  const files = new StoreFiles(directory)
  try {
    checkIsStore(directory)
    return new Zrecord(files, { codec, readOnly, residency, windowBytes: roundWindow(windowBytes) })
  } catch (error) {
    files.close()
    await unmake?.()
    throw error
  }
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
  readonly #live: LiveStore
  #writer: RecordWriter | undefined
  #closing: Promise<void> | undefined
  #busy = new Set<Promise<unknown>>()

  static {
    holdStore = (store) => {
      store.#checkOpen()
      store.#live.refresh()
      return store.#live.home.hold()
    }
    gatherExactly = (store, indices, into, layout, bytes) => store.#gather(indices, into, layout, { exactly: bytes })
    gatherExactlySync = (store, indices, into, layout, bytes) =>
      store.#gatherSync(indices, into, layout, { exactly: bytes })
  }

  /** @internal Use {@link Zrecord.open}. */
  constructor(files: StoreFiles, opened: Opened) {
    this.#files = files
    this.#directory = files.directory
    this.path = files.directory.path
    this.codec = opened.codec
    this.readOnly = opened.readOnly
    this.#live = new LiveStore(files, opened.residency, opened.windowBytes)
  }

  /**
   * Opens the store at `path`. Nothing on disk changes, unless `create` is given and there is no store yet.
   * @throws LOADERX_NOT_FOUND, LOADERX_NOT_A_DIRECTORY, LOADERX_NOT_A_STORE, LOADERX_NEWER_VERSION,
   * LOADERX_CORRUPT_STORE, LOADERX_TRUNCATED, LOADERX_RESIDENCY_UNAVAILABLE, LOADERX_INVALID_ARGUMENT, LOADERX_IO
   */
  static async open(path: string, options: ZrecordOptions = {}): Promise<Zrecord> {
    checkPath(path)
    return openStore(new NodeDirectory(absolute(path)), options)
  }

  /** Records in the store now, those that other processes appended included. */
  get length(): number {
    this.#checkOpen()
    this.#live.refresh()
    return this.#live.length
  }

  /** Where the store's bytes live. */
  get residency(): 'memory' | 'mapped' | 'file' {
    return this.#live.home.kind
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
    if (source.count === 0) return this.length
    return this.#inTurn(async () => {
      this.#writer ??= new RecordWriter(this.#directory)
      const appended = await this.#writer.append(source, codec, options.signal)
      try {
        this.#live.followAppend(appended)
      } catch {
        // The records are in the store whatever happens now; the next read meets the same failure and reports it.
      }
      return appended.before.length
    })
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
    return this.#gather(indices, into, layout, {})
  }

  /** As {@link gather}, at once; with residency `'file'` it blocks while the disk reads. */
  gatherSync(indices: Indices, into: Bytes, layout: Layout): void {
    this.#gatherSync(indices, into, layout, {})
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
    return this.#live.read(({ reader }) => reader.lengths(indices))
  }

  /** Flushes what this handle appended to the disk. */
  async sync(): Promise<void> {
    this.#checkOpen()
    await this.#inTurn(async () => this.#writer?.sync())
  }

  /** Waits for running calls and closes. A second close waits for the first. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.allSettled([...this.#busy])
    await this.#writer?.close()
    this.#live.retire()
    this.#files.close()
  }

  /** {@link close}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #gather(indices: Indices, into: Bytes, layout: Layout, bounds: GatherBounds): Promise<void> {
    this.#checkOpen()
    checkLayout(layout)
    const target = asBytes(into, 'the destination')
    if (this.#live.home.kind !== 'file') return this.#gatherSync(indices, into, layout, bounds)
    return this.#track(this.#live.readAsync(({ reader }) => reader.gatherAsync(indices, target, layout, bounds)))
  }

  #gatherSync(indices: Indices, into: Bytes, layout: Layout, bounds: GatherBounds): void {
    this.#checkOpen()
    checkLayout(layout)
    const target = asBytes(into, 'the destination')
    this.#live.read(({ reader }) => reader.gather(indices, target, layout, bounds))
  }

  /** Runs `work` when all earlier writing to the store, through whichever handle of this process, has ended. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    let key: string
    try {
      key = realpathSync(this.path)
    } catch (cause) {
      throw ioError('write to', this.path, cause)
    }
    return this.#track(takeTurn(key, work))
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#busy.add(work)
    const done = () => this.#busy.delete(work)
    work.then(done, done)
    return work
  }

  #checkOpen(): void {
    if (this.#closing === undefined) return
    throw new LoaderxError('LOADERX_ALREADY_CLOSED', `${this.path} has been closed; open it again`, { path: this.path })
  }
}
