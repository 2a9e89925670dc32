// zrecord/: the store as its users see it: a directory of records, opened to append, to read at random, or both.

import { resolve as absolute } from 'node:path'
import { LoaderxError } from '../errors.ts'
import { META_NAME } from '../format/limits.ts'
import { NodeDirectory, type StoreDirectory } from '../storage/files.ts'
import { acquireLockSync, type Lock } from '../storage/lock.ts'
import { chooseResidency, type Residency } from '../storage/residency.ts'
import {
  type AppendOptions,
  appendArguments,
  checkChoice,
  checkCodec,
  checkLayout,
  checkPath,
  type ZrecordOptions,
} from './arguments.ts'
import { createStore } from './create.ts'
import { checkIsStore, StoreFiles } from './files.ts'
import type { HeldStore } from './home.ts'
import { type Indices, wholeIndices } from './indices.ts'
import type { Durability } from './journal.ts'
import { LiveStore } from './live.ts'
import type { CompactProgress } from './maintain.ts'
import type { Layout } from './plan.ts'
import type { GatherBounds } from './reader-state.ts'
import { finishInterrupted } from './recover.ts'
import type { VerifyMode } from './seals.ts'
import { asBytes, type Bytes, type RaggedLayout } from './source.ts'
import { readStats, type StoreStats } from './stats.ts'
import { MAX_WINDOW_BYTES, roundWindow } from './windows.ts'
import type { Codec } from './writer.ts'
import { StoreWriting } from './writing.ts'

/** Internal: keeps a store's bytes in place for a loader. */
export let holdStore: (store: Zrecord) => HeldStore
/** Internal: the writing side of a store that is open and not read-only. */
export let writingOf: (store: Zrecord) => StoreWriting
/** Internal: as Zrecord.gather and gatherSync, for records of exactly `bytes` bytes. */
export let gatherExactly: (...args: ExactGather) => Promise<void>
export let gatherExactlySync: (...args: ExactGather) => void
type ExactGather = [store: Zrecord, indices: Indices, into: Uint8Array, layout: Layout, bytes: number]

/** Internal: opens a store in any directory, with windows of another size, or without locks. */
export async function openStore(
  directory: StoreDirectory,
  options: ZrecordOptions & { readonly windowBytes?: number; readonly locking?: boolean } = {},
): Promise<Zrecord> {
  const {
    codec = 'flate',
    create = false,
    readOnly = false,
    residency = 'auto',
    verify = 'first',
    durability = 'process',
    lockTimeout,
    windowBytes = MAX_WINDOW_BYTES,
    locking = true,
  } = options
  checkCodec(codec)
  checkChoice('verify', verify, ['first', 'always', 'never'])
  checkChoice('durability', durability, ['process', 'power'])
  // Misuse is refused before anything is made.
  chooseResidency(residency, 0, directory.path)
  if (create && readOnly) {
    const message = 'create and readOnly exclude each other; leave one out'
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { path: directory.path })
  }
  const isMissing = create && directory.look(META_NAME) === undefined
  const unmake = isMissing ? await createStore(directory, durability) : undefined
  const files = new StoreFiles(directory)
  let lock: Lock | undefined
  try {
    checkIsStore(directory)
    await finishInterrupted(directory, { readOnly, locking })
    if (locking) lock = acquireLockSync(directory.path, 'shared', 'reader')
    const opened = { codec, readOnly, residency, verify, windowBytes: roundWindow(windowBytes) }
    return new Zrecord(files, { ...opened, durability, lock, lockTimeout })
  } catch (error) {
    lock?.release()
    files.close()
    await unmake?.()
    throw error
  }
}

interface Opened {
  readonly codec: Codec
  readonly readOnly: boolean
  readonly residency: Residency
  readonly verify: VerifyMode
  readonly durability: Durability
  readonly windowBytes: number
  /** The handle's own lock; none where the store is not locked at all. */
  readonly lock: Lock | undefined
  readonly lockTimeout: number | undefined
}

/** What a delete did. */
export interface DeleteResult {
  /** Records left. */
  readonly length: number
  /** Records removed; an index that was given twice counts once. */
  readonly removed: number
  /** Records that have another index now, as pairs (index before, index now). All others kept theirs. */
  readonly moves: readonly (readonly [from: number, to: number])[]
}

/** Options of a compact. */
export interface CompactOptions {
  /** Stops between two moves. The store is whole then, and a later compact goes on. */
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: CompactProgress) => void
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
  readonly #writing: StoreWriting
  readonly #lock: Lock | undefined
  #closing: Promise<void> | undefined
  readonly #writes = new Set<Promise<unknown>>()
  readonly #reads = new Set<Promise<unknown>>()

  static {
    holdStore = (store) => {
      store.#checkReadable()
      store.#live.refresh()
      const lock = store.#lock && acquireLockSync(store.path, 'shared', 'loader')
      try {
        const held = store.#live.home.hold()
        const release = () => {
          held.release()
          lock?.release()
        }
        return { ...held, release }
      } catch (error) {
        lock?.release()
        throw error
      }
    }
    writingOf = (store) => {
      store.#checkWritable()
      return store.#writing
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
    this.#live = new LiveStore(files, opened.residency, opened.windowBytes, opened.verify)
    this.#lock = opened.lock
    this.#writing = new StoreWriting(this.#directory, this.#live, {
      ...opened,
      quiet: () => Promise.allSettled([...this.#reads]),
    })
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
    this.#checkWritable()
    const { source, options } = appendArguments(input, layout, last)
    const codec = options.codec ?? this.codec
    checkCodec(codec)
    options.signal?.throwIfAborted()
    if (source.count === 0) return this.length
    return this.#track(this.#writes, this.#writing.append(source, codec, options.signal))
  }

  /**
   * Removes records, all or none: each hole is filled with the record that is last then, from the highest hole down, so
   * few others change their index. Their bytes stay in the chunks until {@link compact}. Readers and loaders of the
   * store, in whatever process, must be closed.
   * @param indices any order, duplicates tolerated
   * @throws LOADERX_INDEX_OUT_OF_RANGE, LOADERX_INVALID_INDEX, LOADERX_LOCKED, LOADERX_READ_ONLY,
   * LOADERX_CORRUPT_STORE, LOADERX_ALREADY_CLOSED, LOADERX_IO
   */
  async delete(indices: Indices): Promise<DeleteResult> {
    this.#checkWritable()
    const targets = wholeIndices(indices)
    const before = this.length
    const plan = await this.#track(this.#writes, this.#writing.delete(targets))
    const moves = Array.from(plan.slots, (to, i) => [plan.sources[i]!, to] as const)
    return { length: plan.length, removed: before - plan.length, moves }
  }

  /**
   * Moves the records together, in place and in their physical order (every index keeps its record), and gives the
   * space behind them back to the file system. A process that is killed half-way leaves a whole store; compact again.
   * @throws LOADERX_LOCKED, LOADERX_READ_ONLY, LOADERX_CORRUPT_STORE when an entry is damaged or records share bytes,
   * LOADERX_ALREADY_CLOSED, LOADERX_IO; the signal's reason
   */
  async compact(options: CompactOptions = {}): Promise<void> {
    this.#checkWritable()
    await this.#track(this.#writes, this.#writing.compact(options))
  }

  /** What the store holds and what it takes on the disk. Reads the whole record table. */
  stats(): StoreStats {
    this.#checkOpen()
    return readStats(this.#directory, this.#files.meta)
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
    this.#checkReadable()
    return this.#live.read(({ reader }) => reader.lengths(indices))
  }

  /** Flushes what this handle appended to the disk. */
  async sync(): Promise<void> {
    this.#checkOpen()
    await this.#track(this.#writes, this.#writing.sync())
  }

  /** Waits for running calls and closes. A second close waits for the first. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await Promise.allSettled([...this.#writes, ...this.#reads])
    await this.#writing.close()
    this.#live.retire()
    this.#files.close()
    this.#lock?.release()
  }

  /** {@link close}, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #gather(indices: Indices, into: Bytes, layout: Layout, bounds: GatherBounds): Promise<void> {
    this.#checkReadable()
    checkLayout(layout)
    const target = asBytes(into, 'the destination')
    if (this.#live.home.kind !== 'file') return this.#gatherSync(indices, into, layout, bounds)
    return this.#track(
      this.#reads,
      this.#live.readAsync(({ reader }) => reader.gatherAsync(indices, target, layout, bounds)),
    )
  }

  #gatherSync(indices: Indices, into: Bytes, layout: Layout, bounds: GatherBounds): void {
    this.#checkReadable()
    checkLayout(layout)
    const target = asBytes(into, 'the destination')
    this.#live.read(({ reader }) => reader.gather(indices, target, layout, bounds))
  }

  #track<T>(running: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
    running.add(work)
    const done = () => running.delete(work)
    work.then(done, done)
    return work
  }

  #checkWritable(): void {
    this.#checkOpen()
    if (!this.readOnly) return
    const message = `${this.path} was opened with readOnly, so nothing in it can be changed; open it without`
    throw new LoaderxError('LOADERX_READ_ONLY', message, { path: this.path })
  }

  #checkReadable(): void {
    this.#checkOpen()
    this.#writing.checkReadable()
  }

  #checkOpen(): void {
    if (this.#closing === undefined) return
    throw new LoaderxError('LOADERX_ALREADY_CLOSED', `${this.path} has been closed; open it again`, { path: this.path })
  }
}
