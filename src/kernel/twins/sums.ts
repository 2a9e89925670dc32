// kernel/: the twins of the checksums of many records.

import { crc32 } from './crc32.ts'
import type { TwinMemory } from './memory.ts'

/** See KernelExports.sumRecords. */
export function sumRecords(
  memory: TwinMemory,
  tables: number,
  bytes: number,
  lengths: number,
  n: number,
  out: number,
): void {
  let at = bytes
  for (let i = 0; i < n; i++) {
    const length = memory.view.getUint32(lengths + 4 * i, true)
    memory.view.setUint32(out + 8 * i, crc32(memory, tables, at, length, 0), true)
    at += length
  }
}

/** See KernelExports.sumEntries. */
export function sumEntries(memory: TwinMemory, tables: number, entries: number, n: number, out: number): void {
  for (let i = 0; i < n; i++) {
    memory.view.setUint32(out + 8 * i + 4, crc32(memory, tables, entries + 16 * i, 16, 0), true)
  }
}

/** See KernelExports.checkSums. */
export function checkSums(
  memory: TwinMemory,
  tables: number,
  indices: number,
  plan: number,
  n: number,
  base: number,
  sums: number,
  summed: number,
  seen: number,
  exact: number,
): number {
  const { view } = memory
  for (let i = 0; i < n; i++) {
    const index = view.getUint32(indices + 8 * i, true)
    if (index >= summed) continue
    const byte = seen + (index >>> 3)
    const bit = 1 << (index & 7)
    if (seen !== 0 && (view.getUint8(byte) & bit) !== 0) continue
    const entry = plan + 16 * i
    const sum = sums + 8 * index
    const none = view.getInt32(sum, true) === 0 && view.getInt32(sum + 4, true) === 0
    if (crc32(memory, tables, entry, 16, 0) !== view.getInt32(sum + 4, true) && (exact === 0 || none)) continue
    const at = (base + view.getUint32(entry, true)) >>> 0
    if (crc32(memory, tables, at, view.getUint32(entry + 4, true), 0) !== view.getInt32(sum, true)) return i
    if (seen !== 0) view.setUint8(byte, view.getUint8(byte) | bit)
  }
  return -1
}
