// Items of every dtype as text, briefly and as JSON.
import { type AnyTypedArray, type DType, decodeStrings, ndarray } from 'loaderx'
import { describe, expect, it, test } from 'vitest'
import { itemsOf, nested } from '#dist/cli/values.js'

const cases: readonly [DType, AnyTypedArray, text: string[], json: unknown[]][] = [
  ['bool', Uint8Array.of(0, 1), ['false', 'true'], [false, true]],
  ['uint8', Uint8Array.of(0, 255), ['0', '255'], [0, 255]],
  ['int64', BigInt64Array.of(-5n, 2n ** 60n), ['-5', '1152921504606846976'], [-5, '1152921504606846976']],
  ['uint64', BigUint64Array.of(2n ** 53n - 1n), ['9007199254740991'], [9007199254740991]],
  ['float16', Uint16Array.of(0x2e66, 0x7c00, 0x7e00), ['0.099976', 'Infinity', 'NaN'], [0.099976, 'Infinity', 'NaN']],
  [
    'float32',
    Float32Array.of(0.1, 16777216, -0, 1 / 3),
    ['0.1', '16777216', '-0', '0.33333334'],
    [0.1, 16777216, 0, 0.33333334],
  ],
  ['float64', Float64Array.of(0.1, -1e300), ['0.1', '-1e+300'], [0.1, -1e300]],
  [
    'complex64',
    Float32Array.of(1.5, -2, 0, Number.NaN),
    ['1.5-2j', '0+NaNj'],
    [
      [1.5, -2],
      [0, 'NaN'],
    ],
  ],
  ['S3', Uint8Array.of(97, 98, 0, 0, 0, 0), ['"ab"', '""'], ['ab', '']],
  ['U2', Uint32Array.of(0x1f600, 0x9b, 0x27, 0x202e), ['"😀\\u009b"', '"\'\\u202e"'], ['😀\u009b', "'\u202e"]],
  ['datetime64[D]', BigInt64Array.of(0n, -1n), ['1970-01-01', '1969-12-31'], ['1970-01-01', '1969-12-31']],
  ['datetime64[Y]', BigInt64Array.of(54n, -70n), ['2024', '1900'], ['2024', '1900']],
  ['datetime64[M]', BigInt64Array.of(-1n), ['1969-12'], ['1969-12']],
  ['datetime64[W]', BigInt64Array.of(1n), ['1970-01-08'], ['1970-01-08']],
  ['datetime64[m]', BigInt64Array.of(-1n), ['1969-12-31T23:59'], ['1969-12-31T23:59']],
  ['datetime64[25s]', BigInt64Array.of(2n), ['1970-01-01T00:00:50'], ['1970-01-01T00:00:50']],
  ['datetime64[ns]', BigInt64Array.of(-1n), ['1969-12-31T23:59:59.999999999'], ['1969-12-31T23:59:59.999999999']],
  ['datetime64[fs]', BigInt64Array.of(7n, -(2n ** 63n)), ['7 fs', 'NaT'], ['7 fs', 'NaT']],
  ['datetime64[D]', BigInt64Array.of(2n ** 62n), ['4611686018427387904 D'], ['4611686018427387904 D']],
  ['datetime64[Y]', BigInt64Array.of(2n ** 40n), ['1099511627776 Y'], ['1099511627776 Y']],
  ['datetime64', BigInt64Array.of(3n), ['3'], ['3']],
  ['timedelta64[10ms]', BigInt64Array.of(3n), ['30 ms'], ['30 ms']],
]

test.each(cases)('%s', (dtype, data, text, json) => {
  const items = itemsOf(dtype)
  expect(text.map((_, item) => items.text(data, item))).toEqual(text)
  expect(json.map((_, item) => items.json(data, item))).toEqual(json)
})

describe('text', () => {
  it('of a float32 is the shortest that gives it back', () => {
    const { text } = itemsOf('float32')
    const values = Float32Array.from({ length: 1000 }, (_, i) => Math.fround(Math.tan(i) * 10 ** ((i % 60) - 30)))
    for (const [i, value] of values.entries()) expect(Math.fround(Number(text(values, i)))).toBe(value)
  })

  it('of a string has no character that acts on a terminal', () => {
    const data = Uint32Array.from({ length: 0x300 }, (_, point) => point)
    expect(itemsOf('U768').text(data, 0)).not.toMatch(/\p{Cc}/u)
    expect(JSON.parse(itemsOf('U768').text(data, 0))).toBe(decodeStrings(ndarray('U768', [1], data))[0])
  })

  it('is brief where asked', () => {
    expect(itemsOf('float64').brief(Float64Array.of(1 / 3), 0)).toBe('0.33333')
    expect(itemsOf('complex128').brief(Float64Array.of(1 / 3, -2 / 3), 0)).toBe('0.33333-0.66667j')
  })
})

it('nests an array in its shape', () => {
  const array = ndarray('int8', [2, 3], Int8Array.of(1, 2, 3, 4, 5, 6))
  expect(nested(array, itemsOf('int8'))).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ])
})
