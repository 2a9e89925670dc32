// `loaderx import`: conversions that succeed and conversions that are refused.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Dataset, ndarray, openNpy, Zrecord } from 'loaderx'
import { beforeEach, describe, expect, it, onTestFinished, test } from 'vitest'
import { writeNpy } from '../support/bytes.ts'
import { cli } from '../support/cli.ts'
import { needs } from '../support/parts.ts'
import { tempDir, vectors } from '../support/stores.ts'

const data = fileURLToPath(new URL('../../data/', import.meta.url))
const digits = `${data}digits.npy`
const npy = join(vectors, 'npy')

let dir: string
beforeEach(() => {
  dir = tempDir()
})

async function rowsOf(path: string): Promise<Buffer> {
  const blocks: Buffer[] = []
  for await (const block of (await openNpy(path)).blocks({ maxBytes: 2 ** 20 })) blocks.push(Buffer.from(block))
  return Buffer.concat(blocks)
}

async function bytesOf(store: string): Promise<Buffer> {
  const dataset = await Dataset.open(store)
  try {
    const { buffer, byteOffset, byteLength } = (await dataset.slice()).data
    return Buffer.from(buffer, byteOffset, byteLength)
  } finally {
    await dataset.close()
  }
}

describe('converts', () => {
  it('the digits', async () => {
    const { code, stdout, stderr } = await cli(['import', digits, 'sub/digits.zr'], { cwd: dir })
    expect(code).toBe(0)
    expect(stdout.replace(/stored .*/, 'stored  ...').replace(/time .*/, 'time    ...')).toBe(
      [
        'store   sub/digits.zr',
        'rows    1,797',
        'dtype   uint8',
        'shape   [8, 8]',
        'codec   flate',
        'bytes   115,008 bytes (112.3 KiB)',
        'stored  ...',
        'time    ...',
        '',
      ].join('\n'),
    )
    expect(stdout).toMatch(/^stored {2}[\d,]+ bytes \([\d.]+ KiB\), [\d.]+ %$/m)
    expect(stderr).toMatch(/^100% \(1,797 of 1,797 rows\), [\d.,]+ MB\/s\n$/)
    expect(await bytesOf(join(dir, 'sub/digits.zr'))).toEqual(await rowsOf(digits))
  })

  it('and says so in JSON, and nothing else on standard output', async () => {
    const { code, stdout, stderr } = await cli(['import', digits, 'd.zr', '--codec=raw', '--json', '-q'], { cwd: dir })
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toEqual({
      path: join(dir, 'd.zr'),
      rows: 1797,
      samples: 1797,
      dtype: 'uint8',
      shape: [8, 8],
      codec: 'raw',
      bytes: 115008,
      storedBytes: 115008,
      ratio: 1,
      seconds: expect.any(Number),
    })
  })

  it('in chunks of the size that is asked for, whole rows at a time', async () => {
    const { code } = await cli(['import', digits, 'd.zr', '--chunk-bytes', '1KiB'], { cwd: dir })
    expect([code, await bytesOf(join(dir, 'd.zr'))]).toEqual([0, await rowsOf(digits)])
  })

  it('an array without rows to an empty dataset', async () => {
    const { code, stdout, stderr } = await cli(['import', `${npy}/no_rows.npy`, 'd.zr', '--json'], { cwd: dir })
    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({ rows: 0, samples: 0, bytes: 0, ratio: null })
  })

  it('rows behind those of a store that fits, and says that it does', async () => {
    await cli(['import', digits, 'd.zr', '--codec', 'raw'], { cwd: dir })
    const { code, stdout, stderr } = await cli(['import', digits, 'd.zr', '--codec', 'flate'], { cwd: dir })
    expect(code).toBe(0)
    expect(stderr).toContain('d.zr has 1,797 samples of uint8 [8, 8]; the rows go behind them\n')
    expect(stderr).toContain('d.zr keeps its codec raw')
    expect(stdout).toContain('rows    1,797 (3,594 samples now)\n')
    expect(stdout).toContain('stored  115,008 bytes')
    const once = await rowsOf(digits)
    expect(await bytesOf(join(dir, 'd.zr'))).toEqual(Buffer.concat([once, once]))
  })

  test.each(['u2_be', 'fortran_3d_int64', 'version_2'])('%s without its first rows', async (name) => {
    const all = await rowsOf(`${npy}/${name}.npy`)
    const { length } = await openNpy(`${npy}/${name}.npy`)
    const { code } = await cli(['import', `${npy}/${name}.npy`, 'd.zr', '--skip', '2'], { cwd: dir })
    const rest = all.subarray((2 * all.length) / length)
    expect([code, await bytesOf(join(dir, 'd.zr'))]).toEqual([0, rest])
  })
})

describe('refuses, with nothing made', () => {
  const cases: readonly [what: string, args: string[], code: number, error: string][] = [
    ['a file that is not there', ['none.npy', 'd.zr'], 3, 'NOT_FOUND'],
    ['a directory for a file', ['.', 'd.zr'], 3, 'INVALID_NPY'],
    ['a file that is no array', ['text.npy', 'd.zr'], 3, 'INVALID_NPY'],
    ['Python objects', [`${npy}/object.npy`, 'd.zr'], 3, 'UNSUPPORTED_DTYPE'],
    ['structures', [`${npy}/structured.npy`, 'd.zr'], 3, 'UNSUPPORTED_DTYPE'],
    ['a file that was cut', [`${npy}/cut_by_one.npy`, 'd.zr'], 1, 'TRUNCATED'],
    ['samples without bytes', [`${npy}/empty_rows.npy`, 'd.zr'], 3, 'EMPTY_RECORD'],
    ['samples above 1 MiB', ['large.npy', 'd.zr'], 3, 'RECORD_TOO_LARGE'],
    ['a file where the store is to be', [digits, 'text.npy'], 3, 'NOT_A_DIRECTORY'],
    ['a store below a file', [digits, 'text.npy/d.zr'], 3, 'NOT_A_DIRECTORY'],
    ['another shape', ['shape.npy', 'there.zr'], 3, 'SCHEMA_MISMATCH'],
    ['a store of plain records', [digits, 'plain.zr'], 3, 'SCHEMA_MISMATCH'],
    ['more rows to skip than there are', [digits, 'd.zr', '--skip', '1798'], 2, 'INVALID_ARGUMENT'],
  ]

  test.each(cases)('%s', async (_, args, code, error) => {
    writeFileSync(join(dir, 'text.npy'), 'no array')
    writeNpy(join(dir, 'shape.npy'), '|u1', [3, 4], new Uint8Array(12))
    writeNpy(join(dir, 'large.npy'), '|u1', [1, 2 ** 20 + 1], new Uint8Array(2 ** 20 + 1))
    await Dataset.write(join(dir, 'there.zr'), ndarray('uint8', [1, 3], Uint8Array.of(1, 2, 3)))
    const plain = await Zrecord.open(join(dir, 'plain.zr'), { create: true })
    await plain.append([Uint8Array.of(1)])
    await plain.close()
    const before = readdirSync(dir, { recursive: true }).sort()
    const result = await cli(['import', ...args, '--json'], { cwd: dir })
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(`[LOADERX_${error}]\n`)])
    expect(result.stderr).toMatch(/^loaderx: [^\n]+\n$/)
    expect(JSON.parse(result.stdout)).toMatchObject({ error: { code: `LOADERX_${error}`, details: {} } })
    expect(readdirSync(dir, { recursive: true }).sort()).toEqual(before)
    expect((await bytesOf(join(dir, 'there.zr'))).length).toBe(3)
  })
})

needs('mount').it('keeps whole samples when the disk is full, and says how to go on', async () => {
  const disk = join(dir, 'disk')
  mkdirSync(disk)
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', disk]).status).toBe(0)
  onTestFinished(() => void spawnSync('umount', [disk]))
  const values = Uint32Array.from({ length: 2 ** 21 }, (_, i) => i)
  writeNpy(join(dir, 'big.npy'), '<u4', [2 ** 13, 2 ** 8], values)
  const run = (skip: string[]) =>
    cli(['import', 'big.npy', 'disk/d.zr', '--codec', 'raw', '--chunk-bytes', '1MiB', ...skip], { cwd: dir })
  const { code, stdout, stderr } = await run([])
  expect([code, stdout]).toEqual([1, ''])
  const skip = /To go on: loaderx import big\.npy disk\/d\.zr --skip (\d+)\n$/.exec(stderr)?.[1]
  expect(stderr).toMatch(/no space is left; free some and try again \(ENOSPC\)/)
  const rows = Number(skip)
  expect(rows).toBeGreaterThan(0)
  expect((await bytesOf(join(disk, 'd.zr'))).equals(Buffer.from(values.buffer, 0, rows * 1024))).toBe(true)
  expect(spawnSync('mount', ['-o', 'remount,size=32m', disk]).status).toBe(0)
  expect((await run(['--skip', skip!])).code).toBe(0)
  expect((await bytesOf(join(disk, 'd.zr'))).equals(Buffer.from(values.buffer))).toBe(true)
})
