// CRC-32: kernel and twin against published values, against each other and, where Node has it, against zlib.
import zlib from 'node:zlib'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CRC_TABLE_BYTES } from '#dist/kernel/layout.js'
import { bytesAt, kernels, ORIGINS, runAll } from '../support/kernels.ts'

const TABLES = 65536 + 5
const AT: number = TABLES + CRC_TABLE_BYTES

it.each(Object.entries(kernels))('gives the known values (%s)', (_, kernel) => {
  kernel.crcTables(TABLES)
  const crc = (text: string, seed = 0): number => {
    const bytes = Buffer.from(text)
    bytesAt(AT, bytes.length).set(bytes)
    return kernel.crc32(TABLES, AT, bytes.length, seed) >>> 0
  }
  expect(crc('')).toBe(0)
  expect(crc('123456789')).toBe(0xcbf43926)
  expect(crc('The quick brown fox jumps over the lazy dog')).toBe(0x414fa339)
  expect(crc('\0'.repeat(32))).toBe(0x190a55ad)
  expect(crc('56789', crc('1234'))).toBe(0xcbf43926)
})

it('writes the same tables in kernel and twin', () => {
  const at = ORIGINS[3]!
  const { bytes } = runAll(
    at,
    CRC_TABLE_BYTES + 3,
    () => {},
    (kernel) => kernel.crcTables(at + 3),
  )
  expect(bytes.readUInt32LE(3 + 4)).toBe(0x77073096)
  expect(bytes.subarray(0, 3)).toEqual(Buffer.alloc(3, 0xa5))
})

it('is the same in kernel, twin and zlib for any bytes, seed and address, in one part or two', () => {
  // Node 20.15 and 22.2 brought zlib.crc32; before them the twin and the values above remain.
  const oracle = (zlib as { crc32?: (data: Uint8Array, value: number) => number }).crc32
  fc.assert(
    fc.property(
      fc.constantFrom(...ORIGINS),
      fc.uint8Array({ maxLength: 200 }),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      fc.nat(),
      (origin, bytes, seed, cut) => {
        const at = origin + CRC_TABLE_BYTES
        const split = cut % (bytes.length + 1)
        const { result } = runAll(
          origin,
          CRC_TABLE_BYTES + 200,
          () => bytesAt(at, bytes.length).set(bytes),
          (kernel) => {
            kernel.crcTables(origin)
            const first = kernel.crc32(origin, at, split, seed)
            const whole = kernel.crc32(origin, at, bytes.length, seed)
            return [whole, kernel.crc32(origin, at + split, bytes.length - split, first)]
          },
        )
        const [whole, parts] = result
        expect(parts).toBe(whole)
        if (oracle) expect(whole! >>> 0).toBe(oracle(bytes, seed))
      },
    ),
    { numRuns: 60 },
  )
})
