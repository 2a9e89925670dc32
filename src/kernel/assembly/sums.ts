// kernel/: checksums of many records in one call: made for a block that is appended, checked for a batch that is read.

import { crc32 } from './crc32'

/** Writes the CRC-32 of each of `n` records (lengths u32 each, back to back from `bytes`) to `out + 8 * i`. */
export function sumRecords(tables: usize, bytes: usize, lengths: usize, n: u32, out: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    const length = load<u32>(lengths + (<usize>i << 2))
    store<u32>(out + (<usize>i << 3), crc32(tables, bytes, length, 0))
    bytes += length
  }
}

/** Writes the CRC-32 of each of `n` table entries (16 bytes each from `entries`) to `out + 8 * i + 4`. */
export function sumEntries(tables: usize, entries: usize, n: u32, out: usize): void {
  for (let i: u32 = 0; i < n; i++) {
    store<u32>(out + (<usize>i << 3), crc32(tables, entries + (<usize>i << 4), 16, 0), 4)
  }
}

/**
 * Checks the stored bytes of a resolved plan, found at `base + offset`, against the sums of their records (8 bytes an
 * index at `sums`, the first `summed` of them; two zeros are none). A record whose entry has another sum was written by
 * somebody else and is left alone; where `exact` says that nobody else wrote, it is checked all the same. `seen` holds a
 * bit an index: records with a set bit are skipped, checked ones get it; 0 checks all.
 * Returns -1, or the position of the first record whose bytes are not those that were summed.
 */
export function checkSums(
  tables: usize, indices: usize, plan: usize, n: u32, base: usize, sums: usize, summed: u32, seen: usize,
  exact: u32,
): i32 {
  for (let i: u32 = 0; i < n; i++) {
    const index = load<u32>(indices + (<usize>i << 3))
    if (index >= summed) continue
    const byte = seen + <usize>(index >> 3)
    const bit: u8 = 1 << <u8>(index & 7)
    if (seen != 0 && (load<u8>(byte) & bit) != 0) continue
    const entry = plan + (<usize>i << 4)
    const sum = sums + (<usize>index << 3)
    if (crc32(tables, entry, 16, 0) != load<u32>(sum, 4) && (exact == 0 || load<u64>(sum) == 0)) continue
    if (crc32(tables, base + load<u32>(entry), load<u32>(entry, 4), 0) != load<u32>(sum)) return i
    if (seen != 0) atomic.or<u8>(byte, bit)
  }
  return -1
}
