// zrecord/: carries out planned reads of a store's files: the table pages that a batch needs, and the groups of runs
// that hold its records.

import { ENTRY_BYTES, HEADER_BYTES } from '../format/limits.ts'
import { WASM_PAGE } from '../kernel/kernel.ts'
import type { StoreFiles } from './files.ts'
import type { ReadGroup } from './plan.ts'

/** The record table of a store that lies in its file, read to `metaAddress` of `memory` page by page as it is needed. */
export interface PagedTable {
  readonly memory: WebAssembly.Memory
  readonly metaAddress: number
  /** One byte for each 64 KiB of meta.zr, 1 when it has been read to its place. */
  readonly pagesAddress: number
  /** Records in the table. */
  readonly length: number
}

/** Reads the pages that hold the entries of the `n` indices at `list` (u64 each); those past the table are left out. */
export function loadTablePages(table: PagedTable, files: () => StoreFiles, list: number, n: number): void {
  const { memory, metaAddress, pagesAddress, length } = table
  const end = HEADER_BYTES + length * ENTRY_BYTES
  const words = new Uint32Array(memory.buffer, list, 2 * n)
  const loaded = new Uint8Array(memory.buffer, pagesAddress, Math.ceil(end / WASM_PAGE))
  for (let i = 0; i < n; i++) {
    const index = words[2 * i]!
    if (words[2 * i + 1] !== 0 || index >= length) continue
    const page = Math.floor((HEADER_BYTES + index * ENTRY_BYTES) / WASM_PAGE)
    if (Atomics.load(loaded, page) === 1) continue
    const from = page * WASM_PAGE
    const bytes = Math.min(WASM_PAGE, end - from)
    files().meta.readSync(new Uint8Array(memory.buffer, metaAddress + from, bytes), from)
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
