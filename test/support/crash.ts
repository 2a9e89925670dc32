// Test support: runs a history of operations on a store on a disk in memory, and checks that a crashed disk holds what
// the history promised.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { crc32, inflateRawSync } from 'node:zlib'
import { isLoaderxError } from '#dist/errors.js'
import { decodeEntry, entryFault, entryPosition } from '#dist/format/entry.js'
import { chunkName } from '#dist/format/limits.js'
import { readFrontier, readHeader } from '#dist/zrecord/frontier.js'
import { finishInterrupted } from '#dist/zrecord/recover.js'
import { readSums, readSumsState } from '#dist/zrecord/sums.js'
import { openStore, writingOf, type Zrecord } from '#dist/zrecord/zrecord.js'
import type { CrashState } from './crash-states.ts'
import { Disk, DiskDirectory, diskError, type Effect } from './disk.ts'
import { tempDir } from './stores.ts'

/** What a store holds. */
export type Model = readonly Uint8Array[]

export type Operation =
  | { readonly kind: 'append'; readonly records: Model; readonly codec: 'raw' | 'flate' }
  | { readonly kind: 'delete'; readonly targets: readonly number[] }
  | { readonly kind: 'compact'; readonly moveBytes: number }

export type Durability = 'process' | 'power'

/** What a store holds after an operation: holes are filled with the last record, from the highest hole down. */
export function applyTo(model: Model, operation: Operation): Model {
  if (operation.kind === 'append') return [...model, ...operation.records]
  if (operation.kind === 'compact') return model
  const after = [...model]
  for (const target of [...new Set(operation.targets)].sort((a, b) => b - a)) {
    const last = after.pop()!
    if (target < after.length) after[target] = last
  }
  return after
}

async function perform(store: Zrecord, operation: Operation): Promise<void> {
  if (operation.kind === 'append') await store.append(operation.records, { codec: operation.codec })
  else if (operation.kind === 'delete') await store.delete(operation.targets)
  else await writingOf(store).compact({ moveBytes: operation.moveBytes })
}

let base: string | undefined

/** A directory of the real file system that stays empty: only its name is used. */
export function storePath(name = 'store'): string {
  base ??= tempDir()
  const path = join(base, name)
  mkdirSync(path, { recursive: true })
  return path
}

/** Opens a store on a disk in memory; `verify` checks every record each time it is read. */
export function openOn(
  directory: DiskDirectory,
  options: { create?: boolean; durability?: Durability } = {},
): Promise<Zrecord> {
  return openStore(directory, { ...options, locking: false, residency: 'memory', verify: 'always' })
}

/** A history that was carried out. */
export interface Recording {
  readonly path: string
  readonly start: Disk
  readonly log: readonly Effect[]
  /** What the store may hold before operation k: one thing, or two after an operation that failed; undefined: no store. */
  readonly models: readonly (readonly (Model | undefined)[])[]
}

/** What a scenario starts from: operations, and moves of the frontier to `left` bytes before the end of its chunk. */
export type Preparation = Operation | { readonly kind: 'frontier'; readonly left: number }

/** An empty store, or one from `prepare`, on a disk; everything on it is flushed. */
export async function preparedDisk(
  path: string,
  prepare: readonly Preparation[],
  disk: Disk = new Disk(),
): Promise<Prepared> {
  const directory = new DiskDirectory(path, disk, [])
  let model: Model = []
  for (const operation of prepare) {
    if (operation.kind === 'frontier') {
      const tail = new Uint8Array(4)
      new DataView(tail.buffer).setUint32(0, 2 ** 32 - operation.left, true)
      await directory.open('meta.zr', 'write').write(tail, 8)
      continue
    }
    const store = await openOn(directory, { create: true })
    await perform(store, operation)
    await store.close()
    model = applyTo(model, operation)
  }
  return { disk, model }
}

/** A disk with a store, and what that holds. */
export interface Prepared {
  readonly disk: Disk
  readonly model: Model
}

/** Failures of a history: the change with number `at` fails, and with `lasting` all until the operation has ended. */
export interface Failing {
  readonly at: number
  readonly lasting: boolean
  readonly kinds: ReadonlySet<Effect['kind']>
}

/** After a failure a store may have fewer records than the history counts on. */
function fitting(operation: Operation, models: readonly Model[]): Operation {
  if (operation.kind !== 'delete') return operation
  const length = Math.min(...models.map((model) => model.length))
  return { ...operation, targets: operation.targets.filter((target) => target < length) }
}

/** Carries out `history` on a copy of `from`, or on a store that is made first. */
export async function record(
  path: string,
  history: readonly Operation[],
  durability: Durability,
  from?: Prepared,
  failing?: Failing,
): Promise<Recording & { readonly failed: boolean }> {
  const start = new Disk(from?.disk)
  const log: Effect[] = []
  const directory = new DiskDirectory(path, new Disk(start), log)
  const models: (readonly (Model | undefined)[])[] = [[from?.model]]
  let changes = 0
  let down = false
  let failed = false
  directory.fail = (effect) => {
    if (failing === undefined || !failing.kinds.has(effect.kind)) return undefined
    if (changes++ === failing.at) down = failed = true
    if (!down) return undefined
    down = failing.lasting
    return diskError('the store', 'ENOSPC')
  }
  let operation = 0
  const step = async <T>(work: () => Promise<T>): Promise<T> => {
    log.push({ kind: 'begin', operation })
    const result = await work()
    log.push({ kind: 'end', operation: operation++ })
    return result
  }
  const open = () => openOn(directory, { create: from === undefined, durability })
  const store = from === undefined ? await step(open) : await open()
  if (from === undefined) models.push([[]])
  let before = models.at(-1) as readonly Model[]
  for (const planned of history) {
    const one = fitting(planned, before)
    let failedHere = false
    let after = before.map((model) => applyTo(model, one))
    await step(async () => {
      try {
        await perform(store, one)
      } catch (error) {
        if (!down && !failed) throw error
        if (!isLoaderxError(error, 'LOADERX_IO')) throw error
        after = [...before, ...after]
        failedHere = true
      }
    })
    down = false
    const now = await contents(store).catch((error: unknown) => {
      if (isLoaderxError(error, 'LOADERX_NEEDS_REPAIR')) return undefined
      throw error
    })
    if (now !== undefined) {
      if (!after.some((model) => same(model, now)))
        throw new Error(`after ${one.kind}: ${describe(now)}, not ${after.map(describe).join(' or ')}`)
      // What a failed operation left in sight was not promised to outlast a power cut.
      models.push(failedHere && durability === 'power' ? after : [now])
      before = [now]
    } else {
      models.push(after)
      before = after
    }
  }
  await store.close()
  return { path, start, log, models, failed }
}

export async function contents(store: Zrecord): Promise<Uint8Array[]> {
  const { length } = store
  const indices = Array.from({ length }, (_, i) => i)
  const lengths = store.lengths(indices)
  const offsets: number[] = []
  let bytes = 0
  for (const one of lengths) {
    offsets.push(bytes)
    bytes += one
  }
  const into = new Uint8Array(bytes)
  if (length > 0) await store.gather(indices, into, { offsets })
  return offsets.map((offset, i) => into.subarray(offset, offset + lengths[i]!))
}

export function same(a: Model, b: Model): boolean {
  return a.length === b.length && a.every((record, i) => Buffer.compare(record, b[i]!) === 0)
}

function describe(model: Model | undefined): string {
  return model === undefined ? 'no store' : `[${model.map((one) => `${one.length}:${one[0]}`).join(' ')}]`
}

/** What was found on a disk, and what opening it did to the disk. */
export interface Found {
  readonly model: Model | undefined
  readonly disk: Disk
  readonly recovery: readonly Effect[]
}

/** Opens the store, which finishes what was interrupted, and reads all of it. */
export async function lookAt(path: string, from: Disk): Promise<Found> {
  const recovery: Effect[] = []
  const disk = new Disk(from)
  let store: Zrecord
  try {
    store = await openOn(new DiskDirectory(path, disk, recovery))
  } catch (error) {
    if (isLoaderxError(error, 'LOADERX_NOT_A_STORE')) return { model: undefined, disk, recovery }
    throw error
  }
  try {
    return { model: await contents(store), disk, recovery }
  } finally {
    await store.close()
  }
}

/**
 * As {@link lookAt}, a hundred times as fast: what was interrupted is finished by the package, but the records are read
 * and checked against their sums by a reader of a few lines that keeps no memory of its own.
 */
export async function glanceAt(path: string, from: Disk): Promise<Found> {
  const recovery: Effect[] = []
  const disk = new Disk(from)
  const directory = new DiskDirectory(path, disk, recovery)
  if (directory.look('meta.zr') === undefined) return { model: undefined, disk, recovery }
  await finishInterrupted(directory, { readOnly: false, locking: false, lockTimeout: 0 })
  const meta = directory.open('meta.zr', 'read')
  const { header, limits, frontierDamaged } = readFrontier(directory, meta)
  if (frontierDamaged) throw new Error('the last record lies past the frontier')
  const { summed } = readSumsState(directory, header)
  const sums = readSums(directory, summed)
  const model = Array.from({ length: header.length }, (_, index) => {
    const bytes = new Uint8Array(16)
    meta.readSync(bytes, entryPosition(index))
    const entry = decodeEntry(new DataView(bytes.buffer), 0)
    const fault = entryFault(entry, limits)
    if (fault !== undefined) throw new Error(`record ${index}: ${fault}`)
    const stored = new Uint8Array(entry.phys)
    directory.open(chunkName(entry.chunk), 'read').readSync(stored, entry.offset)
    const sealed = index < summed && crc32(bytes) === sums[2 * index + 1]
    if (sealed && crc32(stored) !== sums[2 * index]) throw new Error(`record ${index}: its sum is wrong`)
    return entry.codec === 0 ? stored : inflateRawSync(stored)
  })
  return { model, disk, recovery }
}

/** The models that a state may hold. */
function allowed({ models }: Recording, { done, underway }: CrashState): (Model | undefined)[] {
  return underway ? [...models[done]!, ...models[done + 1]!] : [...models[done]!]
}

/** Checks one state: it opens, and holds what it may hold. Returns what was found. */
export async function check(recording: Recording, state: CrashState, look: typeof lookAt): Promise<Found> {
  let found: Found
  try {
    found = await look(recording.path, state.disk)
  } catch (error) {
    throw new Error(`${state.what}, operation ${state.done}: ${(error as Error).message}`, { cause: error })
  }
  const may = allowed(recording, state)
  const fits = may.some((model) =>
    model === undefined || found.model === undefined ? model === found.model : same(model, found.model),
  )
  if (!fits) {
    const where = `${state.what}, operation ${state.done}${state.underway ? ' under way' : ''}`
    throw new Error(`${where}: found ${describe(found.model)}, not ${may.map(describe).join(' or ')}`)
  }
  return found
}

/** After a crash a store can be written again: appends to it, deletes from it, compacts it, and reads all of it. */
export async function goOn(path: string, found: Found): Promise<void> {
  const directory = new DiskDirectory(path, new Disk(found.disk), [])
  const store = await openOn(directory, { create: found.model === undefined })
  let model = found.model ?? []
  const more: Operation[] = [
    { kind: 'append', records: [Uint8Array.of(1, 2, 3), new Uint8Array(700).fill(7)], codec: 'flate' },
    { kind: 'delete', targets: [0] },
    { kind: 'compact', moveBytes: 1000 },
  ]
  for (const operation of more) {
    await perform(store, operation)
    model = applyTo(model, operation)
    if (!same(await contents(store), model)) throw new Error(`after a crash, ${operation.kind} gave ${describe(model)}`)
  }
  await store.close()
  const { tailChunk } = readHeader(directory.open('meta.zr', 'read'))
  for (const name of directory.disk.names.keys()) {
    const chunk = Number.parseInt(name.slice(path.length + 1), 10)
    if (chunk > tailChunk) throw new Error(`after a crash and a compact, ${name} is left past the frontier`)
  }
  const again = await lookAt(path, directory.disk)
  if (again.model === undefined || !same(again.model, model))
    throw new Error('after a crash and more work, reopening differs')
}
