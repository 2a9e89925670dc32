// `loaderx head`: samples of every kind as people and as programs see them.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Dataset, ndarray, Zrecord } from 'loaderx'
import { beforeEach, describe, expect, it, test } from 'vitest'
import { cli } from '../support/cli.ts'
import { broken, golden, goldenCases, restoreStore, tempDir } from '../support/stores.ts'

const data = fileURLToPath(new URL('../../data/', import.meta.url))

let dir: string
beforeEach(() => {
  dir = tempDir()
})

async function head(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(['head', ...args], { cwd: dir })
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

describe('as text', () => {
  it('draws the digits beside each other', async () => {
    await cli(['import', `${data}digits.npy`, 'd.zr'], { cwd: dir })
    expect(await head('d.zr', '-n', '3')).toMatchInlineSnapshot(`
      "d.zr: first 3 of 1,797 samples of uint8 [8, 8]
      pixels 0 … 16, brighter is more

      0                  1                  2
          --##++..             ####--             ::%%##
          ##%%**%%--           **@@++           ::@@%%%%
        ::%%..  **++         ::%%@@--           ++##++@@
        ::##    ++++       ==%%@@@@..           ..--%%**
        --++    ++++         ..@@@@::         ..++##%%..
        ::**  ..##==         ..@@@@--         ++@@@@--
        ..%%--**##           ..@@@@--         ::##@@@@**--
          --##**               **@@**             ::**@@++
      "
    `)
  })

  it('draws a large picture within the width', async () => {
    const pixels = Uint8Array.from({ length: 300 * 200 }, (_, i) => (i % 300) - 45)
    await Dataset.write(join(dir, 'd.zr'), ndarray('uint8', [1, 200, 300, 1], pixels))
    const { stdout } = await cli(['head', 'd.zr'], { cwd: dir, env: { COLUMNS: '30' } })
    const lines = stdout.split('\n').slice(3)
    expect(lines.length).toBeGreaterThan(8)
    expect(Math.max(...lines.map((line) => line.length))).toBe(30)
    expect(lines[1]).toMatch(/^[ .:=+*#%@-]{30}$/)
  })

  it('lists scalars', async () => {
    await cli(['import', `${data}digits-labels.npy`, 'l.zr'], { cwd: dir })
    expect(await head('l.zr', '-n', '11')).toMatchInlineSnapshot(`
      "l.zr: first 11 of 1,797 samples of int64 []
      index  value
          0  0
          1  1
          2  2
          3  3
          4  4
          5  5
          6  6
          7  7
          8  8
          9  9
         10  0
      "
    `)
  })

  it('shows the figures of other arrays', async () => {
    const values = Float32Array.from({ length: 24 }, (_, i) => Math.sin(i) * 10 ** (i % 4))
    await Dataset.write(join(dir, 'f.zr'), ndarray('float32', [2, 3, 4], values))
    expect(await head('f.zr')).toMatchInlineSnapshot(`
      "f.zr: 2 samples of float32 [3, 4]
      index      min     max    mean  first items
          0  -999.99  656.99  -15.84  0 8.4147 90.93 141.12 -0.7568 -9.5892 ...
          1  -846.22  650.29  -1.661  -0.53657 4.2017 99.061 650.29 -0.2879 -9.614 ...
      "
    `)
  })

  it('shows the bytes of plain records', async () => {
    const store = await Zrecord.open(join(dir, 'r.zr'), { create: true })
    await store.append([Buffer.from('Hello, record!\n'), Uint8Array.from({ length: 100 }, (_, i) => i + 60)])
    await store.close()
    expect(await head('r.zr')).toMatchInlineSnapshot(`
      "r.zr: 2 plain records
      record 0: 15 bytes
        0000  48 65 6c 6c 6f 2c 20 72 65 63 6f 72 64 21 0a     Hello, record!.
      record 1: 100 bytes
        0000  3c 3d 3e 3f 40 41 42 43 44 45 46 47 48 49 4a 4b  <=>?@ABCDEFGHIJK
        0010  4c 4d 4e 4f 50 51 52 53 54 55 56 57 58 59 5a 5b  LMNOPQRSTUVWXYZ[
        0020  5c 5d 5e 5f 60 61 62 63 64 65 66 67 68 69 6a 6b  \\]^_\`abcdefghijk
        0030  6c 6d 6e 6f 70 71 72 73 74 75 76 77 78 79 7a 7b  lmnopqrstuvwxyz{
        ... 36 more
      "
    `)
  })

  it('says when there is nothing', async () => {
    restoreStore(golden('empty_dataset').dir, join(dir, 'd.zr'))
    restoreStore(golden('empty').dir, join(dir, 'r.zr'))
    expect(await head('d.zr')).toMatch(/^d\.zr: 0 samples of \w+ \[.*\]\n$/)
    expect(await head('r.zr')).toBe('r.zr: 0 plain records\n')
  })

  it('shows what comes before a damaged record, then the failure', async () => {
    restoreStore(broken('codec_2').dir, join(dir, 'r.zr'))
    const { code, stdout, stderr } = await cli(['head', 'r.zr'], { cwd: dir })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^loaderx: .*3.*\[LOADERX_CORRUPT_RECORD\]\n$/)])
    expect(stdout).toMatch(/^r\.zr: first 3 of 6 samples of uint8 \[200\]\nindex .*\n.*\n.*\n {4}2 .*\n$/)
    const json = await cli(['head', 'r.zr', '--json'], { cwd: dir })
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'LOADERX_CORRUPT_RECORD' } })
  })
})

describe('as JSON', () => {
  const datasets = goldenCases.filter((name) => golden(name).expected.schema !== null)

  test.each(datasets)('%s', async (name) => {
    const store = restoreStore(golden(name).dir, join(dir, 'd.zr'))
    const shown = JSON.parse(await head('d.zr', '-n', '2', '--json'))
    const dataset = await Dataset.open(store)
    const { dtype, shape, length } = dataset
    await dataset.close()
    expect(shown).toMatchObject({ path: store, samples: length, dtype, shape })
    expect(shown.shown.map((one: { index: number }) => one.index)).toEqual([0, 1].slice(0, length))
    for (const { value } of shown.shown) {
      const shapeOf = (item: unknown): number[] => (Array.isArray(item) ? [item.length, ...shapeOf(item[0])] : [])
      expect(shapeOf(value)).toEqual(dtype.startsWith('complex') ? [...shape, 2] : shape)
    }
  })

  it('of plain records', async () => {
    const store = await Zrecord.open(join(dir, 'r.zr'), { create: true })
    await store.append([Uint8Array.of(1, 255), new Uint8Array(200)])
    await store.close()
    expect(JSON.parse(await head('r.zr', '--json'))).toEqual({
      path: join(dir, 'r.zr'),
      records: 2,
      shown: [
        { index: 0, bytes: 2, first: '01 ff' },
        { index: 1, bytes: 200, first: Array(64).fill('00').join(' ') },
      ],
    })
  })
})
