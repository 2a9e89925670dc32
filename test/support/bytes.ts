// Test support: bytes made from a seed, and files of them.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** `length` bytes that do not compress, the same for the same seed. */
export function noise(length: number, seed: number): Uint8Array {
  let state = (seed ^ 0x9e3779b9) >>> 0
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 24
  })
}

/** `length` bytes that compress well, the same for the same seed: runs of a few values. */
export function runs(length: number, seed: number): Uint8Array {
  const values = noise(Math.ceil(length / 13), seed)
  return Uint8Array.from({ length }, (_, i) => values[Math.floor(i / 13)]! & 0xf0)
}

/** Writes the records as 0.bin, 1.bin, … to the new directory `dir`, as check_interop.py expects them. */
export function writeRecords(dir: string, records: readonly Uint8Array[]): string {
  mkdirSync(dir)
  for (const [i, record] of records.entries()) writeFileSync(join(dir, `${i}.bin`), record)
  return dir
}

/** Writes a .npy file (version 1) with elements of NumPy's dtype string `descr` in C order. */
export function writeNpy(path: string, descr: string, shape: readonly number[], bytes: ArrayBufferView): string {
  const tuple = `(${shape.join(', ')}${shape.length === 1 ? ',' : ''})`
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${tuple}, }`
  const padded = `${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`
  const head = Buffer.concat([Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, 0, 0]), Buffer.from(padded, 'latin1')])
  head.writeUInt16LE(padded.length, 8)
  writeFileSync(path, head)
  writeFileSync(path, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength), { flag: 'a' })
  return path
}
