// zrecord/: carries out deletes and compacts. Whoever calls this has the store to itself.

import { LoaderxError } from '../errors.ts'
import { encodeEntry, entryPosition } from '../format/entry.ts'
import { encodeHeader, type Header } from '../format/header.ts'
import type { Journal, JournalGroup, PlannedWrite } from '../format/journal.ts'
import { CHUNK_BYTES, chunkName, ENTRY_BYTES, MAX_CHUNK, META_NAME } from '../format/limits.ts'
import { encodeSumsHeader, SUMS_NAME, sumPosition } from '../format/sums.ts'
import { checksums } from '../kernel/checksums.ts'
import { type MoveStep, physicalOrder, planMoves } from './compact-plan.ts'
import { type DeletePlan, planDelete } from './delete.ts'
import { type Frontier, readFrontier } from './frontier.ts'
import { type Durability, writeTogether } from './journal.ts'
import { crc32, readSums, readSumsState, sealedRecords, settleSums } from './sums.ts'
import { growSparse, type WriteFiles } from './write-files.ts'

/** Progress of a compact. */
export interface CompactProgress {
  /** Stored bytes that were moved so far; at the end all, those that were in place before included. */
  readonly doneBytes: number
  /** Stored bytes of all records. */
  readonly totalBytes: number
}

/** Options of a compact. */
export interface CompactOptions {
  /** Stops between two moves. The store is whole then, and a later compact goes on. */
  readonly signal?: AbortSignal
  /** Called after every move and at the end. */
  readonly onProgress?: (progress: CompactProgress) => void
}

/** How a compact is carried out. */
export interface CompactSettings extends CompactOptions {
  readonly durability: Durability
  /** Bytes that move in one step, unless a single record has more. */
  readonly moveBytes?: number | undefined
}

/** A store's table and sums in memory, changed together with the files. */
interface Loaded {
  readonly frontier: Frontier
  readonly meta: Uint8Array
  readonly view: DataView
  /** Sums of the first `summed` records, which are all where there is a sums.zr; zeros where a record has none. */
  readonly sums: Uint32Array
  readonly summed: number
  readonly hasSums: boolean
}

async function load(files: WriteFiles): Promise<Loaded> {
  const meta = await files.meta
  const frontier = readFrontier(files.directory, meta)
  const bytes = new Uint8Array(entryPosition(frontier.header.length))
  await meta.read(bytes, 0)
  const { header } = frontier
  const state = readSumsState(files.directory, header)
  await settleSums(files, header, state)
  const summed = state.present ? header.length : 0
  if (state.present) await files.get(SUMS_NAME)
  const sums = readSums(files.directory, summed)
  return { frontier, meta: bytes, view: new DataView(bytes.buffer), sums, summed, hasSums: state.present }
}

/** Contiguous parts of an array of items that changed, as writes; a few unchanged ones between are written along. */
function changedParts(
  changed: Uint32Array,
  bytes: Uint8Array,
  itemBytes: number,
  write: (at: number, part: Uint8Array) => void,
): void {
  const near = 4096 / itemBytes
  const sorted = changed.slice().sort()
  for (let i = 0; i < sorted.length; ) {
    const first = sorted[i]!
    let last = first
    while (i < sorted.length && sorted[i]! - last <= near) last = sorted[i++]!
    write(first, bytes.slice(first * itemBytes, (last + 1) * itemBytes))
  }
}

/** The writes that bring the changed entries, and their sums, from memory to the files. */
function tableWrites(store: Loaded, changed: Uint32Array): PlannedWrite[] {
  const writes: PlannedWrite[] = []
  changedParts(changed, store.meta.subarray(entryPosition(0)), ENTRY_BYTES, (first, bytes) =>
    writes.push({ file: META_NAME, offset: entryPosition(first), bytes }),
  )
  const summed = changed.filter((index) => index < store.summed)
  changedParts(summed, new Uint8Array(store.sums.buffer), 8, (first, bytes) =>
    writes.push({ file: SUMS_NAME, offset: sumPosition(first), bytes }),
  )
  return writes
}

function headerWrites(store: Loaded, after: Header): PlannedWrite[] {
  const writes = [{ file: META_NAME, offset: 0, bytes: encodeHeader(after) }]
  if (store.hasSums) writes.push({ file: SUMS_NAME, offset: 0, bytes: encodeSumsHeader(after, crc32) })
  return writes
}

/** Plans a delete of `targets` as a journal. @throws LOADERX_INDEX_OUT_OF_RANGE */
export async function journalDelete(
  files: WriteFiles,
  targets: ArrayLike<number>,
  group?: JournalGroup,
): Promise<{ readonly plan: DeletePlan; readonly journal: Journal }> {
  const before = readFrontier(files.directory, await files.meta).header
  const plan = planDelete(before.length, targets, files.directory.path)
  const store = await load(files)
  const { meta, sums, summed, view } = store
  const entries = meta.slice()
  const oldSums = sums.slice()
  plan.slots.forEach((slot, i) => {
    const source = plan.sources[i]!
    meta.set(entries.subarray(entryPosition(source), entryPosition(source + 1)), entryPosition(slot))
    view.setUint8(entryPosition(slot) + 15, 0)
    if (slot >= summed) return
    const known = source < summed
    sums[2 * slot] = known ? oldSums[2 * source]! : 0
    sums[2 * slot + 1] = known ? oldSums[2 * source + 1]! : 0
  })
  const after = { ...before, length: plan.length }
  const writes = [...tableWrites(store, plan.slots), ...headerWrites(store, after)]
  const operation = group === undefined ? 'delete' : 'deleteAligned'
  return { plan, journal: { operation, group, before, after, writes } }
}

/** Removes records; all of them or, when it fails or the process dies, none. */
export async function deleteRecords(
  files: WriteFiles,
  targets: ArrayLike<number>,
  durability: Durability,
): Promise<DeletePlan> {
  const { plan, journal } = await journalDelete(files, targets)
  if (plan.removed > 0) await writeTogether(files, journal, crc32, durability)
  return plan
}

/** Moves records together and gives the space behind them back. Interrupted anywhere, it can be run again. */
export async function compactRecords(files: WriteFiles, options: CompactSettings): Promise<void> {
  const { signal, onProgress, durability } = options
  signal?.throwIfAborted()
  const { path } = files.directory
  const { header, limits, frontierDamaged } = readFrontier(files.directory, await files.meta)
  if (frontierDamaged) {
    throw new LoaderxError(
      'LOADERX_CORRUPT_STORE',
      `${path} cannot be compacted: its last record lies past the end that its header gives (chunk ${header.tailChunk}, byte ${header.tailOffset}); run repair`,
      { path },
    )
  }
  const table = new Uint8Array(entryPosition(header.length))
  await (await files.meta).read(table, 0)
  const { order, liveBytes } = physicalOrder(new DataView(table.buffer), header.length, limits, path, 'compacted')
  const store = await load(files)
  checkEntries(store, path)
  const moves = planMoves(store.view, order, options.moveBytes)
  let moved = 0
  let step = moves.next()
  for (; !step.done; step = moves.next()) {
    signal?.throwIfAborted()
    await moveRecords(files, store, step.value, durability)
    moved += step.value.bytes
    onProgress?.({ doneBytes: moved, totalBytes: liveBytes })
  }
  const place = step.value
  const after: Header = { length: header.length, tailChunk: place.chunk, tailOffset: place.offset }
  const journal: Journal = { operation: 'compact', before: header, after, writes: headerWrites(store, after) }
  await writeTogether(files, journal, crc32, durability)
  await giveBackSpace(files, after, durability)
  onProgress?.({ doneBytes: liveBytes, totalBytes: liveBytes })
}

/** Moving a record by a damaged entry would give wrong bytes a right sum's place. @throws LOADERX_CORRUPT_STORE */
function checkEntries({ meta, sums, summed }: Loaded, path: string): void {
  const sealed = sealedRecords(meta, sums, summed)
  const index = sealed.findIndex((one, i) => one === 0 && (sums[2 * i] !== 0 || sums[2 * i + 1] !== 0))
  if (index < 0) return
  throw new LoaderxError(
    'LOADERX_CORRUPT_STORE',
    `${path} cannot be compacted: the table entry of record ${index} is not the one that was written (its checksum differs); verify the store, and restore it from a copy`,
    { path, index },
  )
}

async function moveRecords(files: WriteFiles, store: Loaded, step: MoveStep, durability: Durability): Promise<void> {
  const bytes = new Uint8Array(step.bytes)
  let at = 0
  for (const source of step.sources) {
    await (await files.chunk(source.chunk)).read(bytes.subarray(at, at + source.bytes), source.offset)
    at += source.bytes
  }
  const entrySums = new Uint32Array(2)
  step.indices.forEach((index, i) => {
    const position = entryPosition(index)
    const entry = store.meta.subarray(position, position + ENTRY_BYTES)
    const sealed = index < store.summed && store.sums[2 * index + 1] === crc32(entry)
    encodeEntry(store.view, position, {
      offset: step.offsets[i]!,
      phys: store.view.getUint32(position + 4, true),
      logic: store.view.getUint32(position + 8, true),
      chunk: step.toChunk,
      codec: store.view.getUint8(position + 14),
    })
    checksums().entries(entry, entrySums)
    if (sealed) store.sums[2 * index + 1] = entrySums[1]!
  })
  const name = chunkName(step.toChunk)
  const writes = tableWrites(store, step.indices)
  if (step.overlaps) writes.unshift({ file: name, offset: step.toOffset, bytes })
  else {
    // Nothing points there yet, so a process that dies here has changed nothing.
    await (await files.chunk(step.toChunk)).write(bytes, step.toOffset)
    if (durability === 'power') await files.sync([name])
  }
  const { header } = store.frontier
  await writeTogether(files, { operation: 'compact', before: header, after: header, writes }, crc32, durability)
}

/** Removes chunk files past the frontier and lets go of the blocks behind it. */
async function giveBackSpace(files: WriteFiles, header: Header, durability: Durability): Promise<void> {
  const { directory } = files
  let last = header.tailChunk
  while (last < MAX_CHUNK && directory.look(chunkName(last + 1)) !== undefined) last++
  // From the last down: those that a killed process leaves are still found from the frontier on.
  for (; last > header.tailChunk; last--) {
    files.drop(chunkName(last))
    await directory.remove(chunkName(last))
    files.namesChanged()
    if (durability === 'power') await files.syncNames()
  }
  const tail = await files.chunk(header.tailChunk)
  await tail.truncate(header.tailOffset)
  await growSparse(tail, CHUNK_BYTES)
}
