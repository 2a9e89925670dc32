// zrecord/: carries out planned reads of a store's files: the table pages that a batch needs, and the groups of runs
// that hold its records.

import { WASM_PAGE } from '../kernel/kernel.ts'
import type { StoreFile } from '../storage/files.ts'
import type { StoreFiles } from './files.ts'
import type { ReadGroup } from './plan.ts'

/** Items of a file, one for each record, read to `address` of `memory` page by page as they are needed. */
export interface PagedItems {
  readonly memory: WebAssembly.Memory
  /** Address of the file's first byte. */
  readonly address: number
  /** One byte for each 64 KiB of the file, 1 when it has been read to its place. */
  readonly pages: number
  /** Bytes before the first item, bytes of an item, and the number of items. */
  readonly headerBytes: number
  readonly itemBytes: number
  readonly count: number
}

/** Reads the pages that hold the items of the `n` indices at `list` (u64 each); those past the last are left out. */
export function loadPages(items: PagedItems, file: () => StoreFile, list: number, n: number): void {
  const { memory, address, pages, headerBytes, itemBytes, count } = items
  const end = headerBytes + count * itemBytes
  const words = new Uint32Array(memory.buffer, list, 2 * n)
  const loaded = new Uint8Array(memory.buffer, pages, Math.ceil(end / WASM_PAGE))
  for (let i = 0; i < n; i++) {
    const index = words[2 * i]!
    if (words[2 * i + 1] !== 0 || index >= count) continue
    const page = Math.floor((headerBytes + index * itemBytes) / WASM_PAGE)
    if (Atomics.load(loaded, page) === 1) continue
    const from = page * WASM_PAGE
    const bytes = Math.min(WASM_PAGE, end - from)
    file().readSync(new Uint8Array(memory.buffer, address + from, bytes), from)
    Atomics.store(loaded, page, 1)
  }
}

/** The bytes of a group. @throws LOADERX_TRUNCATED, LOADERX_IO */
export function readGroupSync(files: StoreFiles, group: ReadGroup): Uint8Array {
  const bytes = new Uint8Array(group.bytes)
  for (const run of group.runs) {
    files.chunk(run.chunk).readSync(bytes.subarray(run.at, run.at + run.bytes), run.offset)
  }
  return bytes
}

/** As {@link readGroupSync}; the event loop stays free. No read is left running when it fails. */
export async function readGroup(files: StoreFiles, group: ReadGroup): Promise<Uint8Array> {
  const bytes = new Uint8Array(group.bytes)
  const reads = group.runs.map(async (run) =>
    files.chunk(run.chunk).read(bytes.subarray(run.at, run.at + run.bytes), run.offset),
  )
  const ended = await Promise.allSettled(reads)
  for (const one of ended) if (one.status === 'rejected') throw one.reason
  return bytes
}
