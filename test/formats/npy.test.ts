import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { isLoaderxError, type NpyFile, openNpy } from 'loaderx'
import { describe, expect, test } from 'vitest'
import { MAX_NPY_HEADER_BYTES } from '#dist/formats/npy-header.js'
import { tempDir, vectors } from '../support/stores.ts'

interface Case {
  name: string
  dtype: string
  shape: number[]
  fortranOrder: boolean
  sha256: string
  error?: string
}

const { cases } = JSON.parse(readFileSync(join(vectors, 'npy', 'expected.json'), 'utf8')) as { cases: Case[] }
const pathOf = (name: string): string => join(vectors, 'npy', `${name}.npy`)

async function blocksOf(file: NpyFile, maxBytes: number): Promise<Buffer[]> {
  const blocks: Buffer[] = []
  for await (const block of file.blocks({ maxBytes })) blocks.push(Buffer.from(block))
  return blocks
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

async function refusal(path: string): Promise<{ code: string; message: string; expected?: unknown; actual?: unknown }> {
  try {
    await openNpy(path)
  } catch (error) {
    if (!isLoaderxError(error)) throw error
    expect(error.message).toContain(path)
    return { code: error.code, message: error.message, expected: error.details.expected, actual: error.details.actual }
  }
  return { code: 'opened', message: '' }
}

describe('files written by NumPy', () => {
  test.each(cases.filter((one) => one.error === undefined))(
    '$name',
    async ({ name, dtype, shape, fortranOrder, sha256: hash }) => {
      const file = await openNpy(pathOf(name))
      expect([file.dtype, file.shape, file.rowShape, file.length, file.fortranOrder]).toEqual([
        dtype,
        shape,
        shape.slice(1),
        shape[0],
        fortranOrder,
      ])
      for (const maxBytes of [1, 50, 2 ** 20]) expect(sha256(Buffer.concat(await blocksOf(file, maxBytes)))).toBe(hash)
    },
  )

  test.each(cases.filter((one) => one.error !== undefined))('$name is refused', async ({ name, error }) => {
    expect((await refusal(pathOf(name))).code).toBe(error)
  })

  test('blocks are whole rows within the bound', async () => {
    for (const name of ['version_1', 'i2_be', 'fortran_2d_float32', 'fortran_4d_uint8']) {
      const file = await openNpy(pathOf(name))
      const bytes = Buffer.concat(await blocksOf(file, 2 ** 20)).length
      const row = bytes / file.length
      for (let rows = 1; rows <= file.length; rows++) {
        const sizes = (await blocksOf(file, rows * row + row - 1)).map((block) => block.length / row)
        expect(sizes.slice(0, -1).every((size) => size === rows)).toBe(true)
        expect(sizes.at(-1)).toBe(((file.length - 1) % rows) + 1)
      }
    }
  })

  test('one file can be read twice at the same time', async () => {
    const file = await openNpy(pathOf('fortran_3d_uint16'))
    const [a, b] = await Promise.all([blocksOf(file, 10), blocksOf(file, 30)])
    expect(Buffer.concat(a)).toEqual(Buffer.concat(b))
  })

  test('an abort ends the reading with its reason', async () => {
    const reason = new Error('enough')
    for (const name of ['fortran_3d_uint16', 'scalars']) {
      const controller = new AbortController()
      const blocks = (await openNpy(pathOf(name))).blocks({ maxBytes: 8, signal: controller.signal })
      await blocks.next()
      controller.abort(reason)
      await expect(blocks.next()).rejects.toBe(reason)
    }
  })
})

/** A .npy file of the given version with this text as its header. */
function npy(header: string, { version = 1, length = header.length, data = new Uint8Array(0) } = {}): Uint8Array {
  const size = Buffer.alloc(version === 1 ? 2 : 4)
  if (version === 1) size.writeUInt16LE(length)
  else size.writeUInt32LE(length)
  return Buffer.concat([
    Buffer.from(`\x93NUMPY${String.fromCharCode(version)}\0`, 'latin1'),
    size,
    Buffer.from(header),
    data,
  ])
}

const dir = tempDir()
let files = 0
function saved(bytes: Uint8Array): string {
  const path = join(dir, `${files++}.npy`)
  writeFileSync(path, bytes)
  return path
}

const dict = (shape: string, descr = "'|u1'", order = 'False'): string =>
  `{'descr': ${descr}, 'fortran_order': ${order}, 'shape': ${shape}, }`

describe('headers', () => {
  test.each([
    ['keys in another order and double quotes', `{"shape": (3,), "fortran_order": False, "descr": "|u1"}\n`],
    ['no spaces', `{'descr':'|u1','fortran_order':False,'shape':(3,)}`],
    ['many spaces', `  { 'descr' : '|u1' ,\t'fortran_order' : False ,\n 'shape' : ( 3 , ) , } \r\n`],
    ['long integers of Python 2', dict('(3L,)')],
    ['=u1', dict('(3,)', "'=u1'")],
  ])('%s', async (_, header) => {
    for (const version of [1, 2, 3]) {
      const file = await openNpy(saved(npy(header, { version, data: Uint8Array.of(7, 8, 9) })))
      expect(file.shape).toEqual([3])
      expect(await blocksOf(file, 10)).toEqual([Buffer.of(7, 8, 9)])
    }
  })

  test.each([
    ['not a dictionary', '[1, 2]'],
    ['nothing', ''],
    ['spaces', ' '.repeat(100)],
    ['no end', "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)"],
    ['something after the end', `${dict('(3,)')} x`],
    ['a missing key', "{'descr': '|u1', 'shape': (3,)}"],
    ['an unknown key', "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), 'more': 1}"],
    ['a key twice', "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (3,)}"],
    ['no comma', "{'descr': '|u1' 'fortran_order': False, 'shape': (3,)}"],
    ['code', "{'descr': __import__('os'), 'fortran_order': False, 'shape': (3,)}"],
    ['an escape', "{'descr': '\\x7cu1', 'fortran_order': False, 'shape': (3,)}"],
    ['fortran_order 1', dict('(3,)', "'|u1'", '1')],
    ['a shape that is a list', dict('[3]')],
    ['a shape that is a number', dict('(3)')],
    ['a negative dimension', dict('(-3,)')],
    ['a fractional dimension', dict('(3.0,)')],
    ['a text in the shape', dict("('3',)")],
    ['a dimension above 2^53', dict('(9007199254740993,)')],
    ['a dimension of a thousand digits', dict(`(${'9'.repeat(1000)},)`)],
    ['a shape whose product overflows', dict('(4294967296, 4294967296, 4294967296)')],
    ['a shape whose product is 2^64', dict('(4611686018427387904, 4)')],
    ['a shape that is too large but for a 0', dict('(1099511627776, 0, 1099511627776)')],
    ['a shape of 2^53 items of 8 bytes', dict('(4503599627370496,)', "'<f8'")],
    ['65 dimensions', dict(`(${'1, '.repeat(65)})`)],
    ['no dimensions', dict('()')],
    ['an empty dictionary', '{}'],
    ['nesting', `{'shape': ${'('.repeat(60_000)}`],
  ])('%s is refused', async (_, header) => {
    expect((await refusal(saved(npy(header, { data: Uint8Array.of(1, 2, 3) })))).code).toBe('LOADERX_INVALID_NPY')
  })

  test.each([
    ['a deep structure', `[${'('.repeat(60_000)}`],
    ['fields', "[('a', '<i4'), ('b', '<f8')]"],
    ['a dtype with a shape', "('<f4', (2,))"],
    ['objects', "'|O'"],
    ['void', "'|V8'"],
    ['longdouble', "'<f16'"],
    ['an unknown dtype', "'<q9'"],
  ])('dtype %s is refused by name', async (_, descr) => {
    const { code, message } = await refusal(saved(npy(dict('(3,)', descr))))
    expect(code).toBe('LOADERX_UNSUPPORTED_DTYPE')
    expect(message.length).toBeLessThan(500)
  })

  test('a header longer than the limit is refused without being read', async () => {
    const long = dict('(3,)').padEnd(MAX_NPY_HEADER_BYTES)
    expect((await refusal(saved(npy(long, { version: 2, data: Uint8Array.of(1, 2, 3) })))).code).toBe('opened')
    for (const length of [MAX_NPY_HEADER_BYTES + 1, 2 ** 32 - 1]) {
      expect(await refusal(saved(npy(long, { version: 2, length })))).toMatchObject({
        code: 'LOADERX_INVALID_NPY',
        actual: length,
      })
    }
  })

  test('versions that do not exist', async () => {
    const changed = (major: number, minor: number) => {
      const bytes = npy(dict('(0,)'))
      bytes[6] = major
      bytes[7] = minor
      return refusal(saved(bytes))
    }
    expect((await changed(1, 1)).code).toBe('LOADERX_INVALID_NPY')
    expect((await changed(0, 0)).code).toBe('LOADERX_INVALID_NPY')
    expect((await changed(4, 0)).code).toBe('LOADERX_NEWER_VERSION')
  })

  test('any change of one byte of a file gives an array or a coded error', async () => {
    const whole = readFileSync(pathOf('i2_le'))
    const path = join(dir, 'changed.npy')
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), async (at, byte) => {
        const bytes = Uint8Array.from(whole)
        bytes[at] = byte
        writeFileSync(path, bytes)
        expect((await refusal(path)).code).toMatch(/^(opened|LOADERX_)/)
      }),
    )
  })
})

describe('files', () => {
  test('a cut file is refused with the byte counts, at every length', async () => {
    const whole = readFileSync(pathOf('version_1'))
    for (let length = 6; length < whole.length; length++) {
      const { code, expected, actual } = await refusal(saved(whole.subarray(0, length)))
      expect([code, typeof expected]).toEqual(['LOADERX_TRUNCATED', 'number'])
      expect(actual).toBe(length < 128 ? length : length - 128)
    }
    const { message } = await refusal(pathOf('cut_by_one'))
    expect(message).toMatch(/59 bytes of data, but float32 of shape \(5, 3\) needs 60/)
  })

  test('a file that is cut or replaced after it was opened', async () => {
    const path = saved(readFileSync(pathOf('scalars')))
    const file = await openNpy(path)
    const blocks = file.blocks({ maxBytes: 800 })
    await blocks.next()
    truncateSync(path, 1000)
    await expect(blocks.next()).rejects.toMatchObject({
      code: 'LOADERX_TRUNCATED',
      details: { path, expected: 800, actual: 72 },
    })
    await expect(blocksOf(file, 800)).rejects.toMatchObject({ code: 'LOADERX_TRUNCATED' })
    writeFileSync(path, readFileSync(pathOf('version_1')))
    await expect(blocksOf(file, 800)).rejects.toMatchObject({ code: 'LOADERX_INVALID_NPY' })
  })

  test('a missing path, a directory, a link', async () => {
    expect((await refusal(join(dir, 'none.npy'))).code).toBe('LOADERX_NOT_FOUND')
    mkdirSync(join(dir, 'd.npy'))
    expect(await refusal(join(dir, 'd.npy'))).toMatchObject({
      code: 'LOADERX_INVALID_NPY',
      message: /not a plain file/,
    })
    symlinkSync(pathOf('scalars'), join(dir, 'link.npy'))
    expect((await openNpy(join(dir, 'link.npy'))).length).toBe(300)
  })
})
