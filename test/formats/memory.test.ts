// Converting a large .npy takes bounded memory, whatever the codec and the order of the file.
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { tempDir } from '../support/stores.ts'

const MIB = 2 ** 20
const entry = new URL('../../dist/index.js', import.meta.url)

// A process of its own, so that the peak is the conversion's.
const PROGRAM = `
import { Dataset, openNpy } from ${JSON.stringify(entry.href)}
const [npy, store, codec] = process.argv.slice(1)
const { bytes } = await Dataset.write(store, await openNpy(npy), { codec })
console.log(JSON.stringify({ bytes, peak: process.resourceUsage().maxRSS * 1024 }))
`

/** Writes a .npy file of zeros, which take no room on most disks. */
function zeros(path: string, rows: number, rowBytes: number, fortran: boolean): number {
  const text = `{'descr': '|u1', 'fortran_order': ${fortran ? 'True' : 'False'}, 'shape': (${rows}, ${rowBytes}), }`
  const file = openSync(path, 'w')
  writeSync(file, Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, 118, 0]))
  writeSync(file, `${text.padEnd(117)}\n`)
  closeSync(file)
  truncateSync(path, 128 + rows * rowBytes)
  return rows * rowBytes
}

const cases = [
  { what: '1 GiB, raw', rows: 87_381, rowBytes: 12_288, fortran: false, codec: 'raw', most: 400 },
  { what: '1 GiB, flate', rows: 1_369_568, rowBytes: 784, fortran: false, codec: 'flate', most: 400 },
  { what: '256 MiB in Fortran order, raw', rows: 342_392, rowBytes: 784, fortran: true, codec: 'raw', most: 240 },
]

it.for(cases)('converts $what in less than $most MiB', ({ rows, rowBytes, fortran, codec, most }) => {
  const dir = tempDir()
  const bytes = zeros(join(dir, 'zeros.npy'), rows, rowBytes, fortran)
  const args = ['--input-type=module', '--eval', PROGRAM, join(dir, 'zeros.npy'), join(dir, 'store'), codec]
  const output = execFileSync(process.execPath, args, { cwd: fileURLToPath(new URL('.', entry)), encoding: 'utf8' })
  // What was written is large; the other cases need the room.
  rmSync(dir, { recursive: true })
  const result = JSON.parse(output) as { bytes: number; peak: number }
  expect(result.bytes).toBe(bytes)
  // A process that holds nothing has some 40 MiB; less would mean that the unit is another.
  expect(result.peak).toBeGreaterThan(30 * MIB)
  expect(result.peak).toBeLessThan(most * MIB)
})
