import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { isLoaderxError } from 'loaderx'
import { describe, expect, test } from 'vitest'
import { decodeSchema, encodeSchema, MAX_SCHEMA_BYTES, type Schema, shapeProduct } from '#dist/format/schema.js'
import { golden, goldenCases } from '../support/stores.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const schema = (change: Record<string, unknown> = {}): Uint8Array =>
  bytes(
    JSON.stringify({ format: 'loaderx-zrecord', version: 1, dtype: '|u1', shape: [28, 28], codec: 'raw', ...change }),
  )

function code(value: Uint8Array): string {
  try {
    decodeSchema(value, 'x/schema.json')
  } catch (error) {
    if (isLoaderxError(error) && error.message.includes('x/schema.json')) return error.code
    throw error
  }
  return 'read'
}

describe('encodeSchema', () => {
  test('writes one value a line and ends in a newline', () => {
    expect(encodeSchema({ dtype: '|u1', shape: [2, 3], codec: 'flate' })).toBe(
      '{\n  "format": "loaderx-zrecord",\n  "version": 1,\n  "dtype": "|u1",\n  "shape": [\n    2,\n    3\n  ],\n  "codec": "flate"\n}\n',
    )
  })

  test('writes the shape of scalars on one line', () => {
    expect(encodeSchema({ dtype: '<i8', shape: [], codec: 'raw' })).toContain('\n  "shape": [],\n')
  })

  test('is read back by decodeSchema', () => {
    const one = fc.record<Schema>({
      dtype: fc.string(),
      shape: fc.array(fc.integer({ min: 0, max: 10 }), { maxLength: 6 }),
      codec: fc.constantFrom('raw', 'flate'),
    })
    fc.assert(
      fc.property(one, (value) => {
        expect(decodeSchema(bytes(encodeSchema(value)), 'p')).toEqual(value)
      }),
    )
  })
})

test.each(goldenCases.filter((name) => golden(name).expected.schema !== null))(
  'the schema of golden store %s is written again byte for byte',
  (name) => {
    const stored = readFileSync(join(golden(name).dir, 'schema.json'))
    expect(encodeSchema(decodeSchema(stored, name))).toBe(stored.toString())
  },
)

describe('decodeSchema', () => {
  test.each([
    [
      'keys in another order, spaces, unknown keys',
      bytes('{ "codec":"raw","extra":{"a":1.5},\n"shape":[ 2 ],"dtype":"<f4","version":1,"format":"loaderx-zrecord"}'),
    ],
    [
      'the last of two equal keys',
      bytes('{"format":"x","format":"loaderx-zrecord","version":1,"dtype":"|u1","shape":[],"codec":"raw"}'),
    ],
    ['an empty sample', schema({ shape: [0] })],
    ['a sample of the largest size', schema({ shape: [1024, 1024] })],
    ['text with escapes beside numbers', schema({ note: 'a "quoted" 1.5e3 \\' })],
  ])('reads %s', (_, value) => expect(code(value)).toBe('read'))

  test.each([
    ['nothing', bytes('')],
    ['text', bytes('{nope')],
    ['bytes that are not UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d)],
    ['a byte order mark', bytes(`\ufeff${new TextDecoder().decode(schema())}`)],
    ['a list', bytes('[1]')],
    ['null', bytes('null')],
    ['a file of more than 64 KiB', bytes(`${' '.repeat(MAX_SCHEMA_BYTES)}{}`)],
    ['another format', schema({ format: 'other' })],
    ['no format', schema({ format: undefined })],
    ['version 0', schema({ version: 0 })],
    ['version "1"', schema({ version: '1' })],
    ['no version', schema({ version: undefined })],
    ['dtype null', schema({ dtype: null })],
    ['a list as dtype', schema({ dtype: [['a', '<i4']] })],
    ['shape "200"', schema({ shape: '200' })],
    ['shape [200.0]', bytes('{"format":"loaderx-zrecord","version":1,"dtype":"|u1","shape":[200.0],"codec":"raw"}')],
    ['shape [2e2]', bytes('{"format":"loaderx-zrecord","version":1,"dtype":"|u1","shape":[2e2],"codec":"raw"}')],
    ['shape [-200]', schema({ shape: [-200] })],
    ['shape [-10, -20]', schema({ shape: [-10, -20] })],
    ['shape [[2]]', schema({ shape: [[2]] })],
    ['shape [null]', schema({ shape: [null] })],
    ['shape [2^40]', schema({ shape: [2 ** 40] })],
    ['shape [2^20 + 1]', schema({ shape: [2 ** 20 + 1] })],
    [
      'shape [2^62, 4]',
      bytes('{"format":"loaderx-zrecord","version":1,"dtype":"|u1","shape":[4611686018427387904, 4],"codec":"raw"}'),
    ],
    ['shape [0, 2^40, 2^40]', schema({ shape: [0, 2 ** 40, 2 ** 40] })],
    ['65 dimensions', schema({ shape: Array(65).fill(1) })],
    ['codec zstd', schema({ codec: 'zstd' })],
    ['no codec', schema({ codec: undefined })],
    ['nesting that fills the file', bytes('['.repeat(MAX_SCHEMA_BYTES))],
  ])('refuses %s', (_, value) => expect(code(value)).toBe('LOADERX_INVALID_SCHEMA'))

  test('says of a newer version that loaderx is to be updated', () => {
    expect(() => decodeSchema(schema({ version: 99 }), 'p')).toThrow(/version 99, newer than version 1/)
    expect(code(schema({ version: 99 }))).toBe('LOADERX_NEWER_VERSION')
  })

  test('gives a coded error for any bytes, or a schema', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (value) => code(value) !== ''))
    fc.assert(fc.property(fc.json(), (text) => code(bytes(text)) !== ''))
  })
})

test('shapeProduct', () => {
  expect(shapeProduct([])).toBe(1)
  expect(shapeProduct([3, 0, 5])).toBe(0)
  expect(shapeProduct([2 ** 26, 2 ** 26])).toBe(2 ** 52)
  expect(shapeProduct([2 ** 27, 2 ** 26])).toBeUndefined()
  expect(shapeProduct([2 ** 27, 0, 2 ** 26])).toBeUndefined()
})
