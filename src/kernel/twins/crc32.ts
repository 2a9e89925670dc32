// kernel/: the twin of CRC-32 (reversed polynomial 0xedb88320), a byte a turn. It uses the first of the kernel's
// sixteen tables and writes them all, so that either may work with the other's.

import type { TwinMemory } from './memory.ts'

const POLYNOMIAL = 0xedb88320

function shift(crc: number, bits: number): number {
  let rest = crc
  for (let i = 0; i < bits; i++) rest = (rest >>> 1) ^ (rest & 1 ? POLYNOMIAL : 0)
  return rest
}

/** See KernelExports.crcTables. Table t holds the remainder of a byte that 8 t more bits follow. */
export function crcTables({ view }: TwinMemory, tables: number): void {
  for (let table = 0; table < 16; table++) {
    for (let byte = 0; byte < 256; byte++)
      view.setUint32(tables + (table * 256 + byte) * 4, shift(byte, 8 + 8 * table), true)
  }
}

/** See KernelExports.crc32. */
export function crc32({ view }: TwinMemory, tables: number, at: number, n: number, seed: number): number {
  let crc = ~seed
  for (let i = at; i < at + n; i++) {
    crc = (crc >>> 8) ^ view.getUint32(tables + ((crc ^ view.getUint8(i)) & 0xff) * 4, true)
  }
  return ~crc
}
