import { type DType, isLoaderxError } from 'loaderx'
import { describe, expect, test } from 'vitest'
import { dtypeInfo } from '#dist/dataset/dtype.js'

// name, NumPy's string, bytes of an item, array, elements of an item
const KNOWN: [DType, string, number, string, number][] = [
  ['bool', '|b1', 1, 'Uint8Array', 1],
  ['int8', '|i1', 1, 'Int8Array', 1],
  ['uint8', '|u1', 1, 'Uint8Array', 1],
  ['int16', '<i2', 2, 'Int16Array', 1],
  ['uint16', '<u2', 2, 'Uint16Array', 1],
  ['int32', '<i4', 4, 'Int32Array', 1],
  ['uint32', '<u4', 4, 'Uint32Array', 1],
  ['int64', '<i8', 8, 'BigInt64Array', 1],
  ['uint64', '<u8', 8, 'BigUint64Array', 1],
  ['float16', '<f2', 2, 'Uint16Array', 1],
  ['float32', '<f4', 4, 'Float32Array', 1],
  ['float64', '<f8', 8, 'Float64Array', 1],
  ['complex64', '<c8', 8, 'Float32Array', 2],
  ['complex128', '<c16', 16, 'Float64Array', 2],
  ['datetime64[ns]', '<M8[ns]', 8, 'BigInt64Array', 1],
  ['datetime64', '<M8', 8, 'BigInt64Array', 1],
  ['timedelta64[25s]', '<m8[25s]', 8, 'BigInt64Array', 1],
  ['timedelta64', '<m8', 8, 'BigInt64Array', 1],
  ['U5', '<U5', 20, 'Uint32Array', 5],
  ['S3', '|S3', 3, 'Uint8Array', 3],
]

describe.each(KNOWN)('%s', (name, descr, itemBytes, array, itemElements) => {
  test('by its name and by NumPy’s string', () => {
    for (const text of [name, descr]) {
      const info = dtypeInfo(text)
      expect([info.name, info.descr, info.itemBytes, info.array.name, info.itemElements, info.bigEndian]).toEqual([
        name,
        descr,
        itemBytes,
        array,
        itemElements,
        false,
      ])
      expect(info.elementBytes * itemElements).toBe(itemBytes)
    }
  })

  test('big endian', () => {
    const info = dtypeInfo(`>${descr.slice(1)}`)
    expect(info.name).toBe(name)
    expect(info.bigEndian).toBe(info.elementBytes > 1)
    expect(info.descr).toBe(info.elementBytes > 1 ? `>${descr.slice(1)}` : descr)
  })

  test.each(['=', '|', '<', ''])('with the sign "%s" it is little endian', (sign) => {
    expect(dtypeInfo(sign + descr.slice(1)).descr).toBe(descr)
  })
})

test.each([
  ['<f16', /longdouble.*astype/],
  ['<c32', /longdouble/],
  ['longdouble', /longdouble/],
  ['|O', /Python objects/],
  ['object', /Python objects/],
  ['|V4', /void/],
  ['|V0', /void/],
  ['i4,i4', /structured/],
  ["[('a', '<i4')]", /structured/],
  ['<q9', /not a known dtype/],
  ['float', /not a known dtype/],
  ['', /not a known dtype/],
  ['<U0', /not a known dtype/],
  ['|S', /not a known dtype/],
  ['<U99999999999', /not a known dtype/],
  ['<M8[x]', /not a known dtype/],
  ['<M8[0s]', /not a known dtype/],
  ['>datetime64[s]', /not a known dtype/],
  ['<<u4', /not a known dtype/],
  ['constructor', /not a known dtype/],
  ['x'.repeat(1e6), /^here: "x{60}…" is not/],
])('%.20s is refused by name', (text, message) => {
  try {
    dtypeInfo(text, 'here')
    expect.unreachable()
  } catch (error) {
    expect(isLoaderxError(error, 'LOADERX_UNSUPPORTED_DTYPE')).toBe(true)
    expect((error as Error).message).toMatch(message)
    expect((error as Error).message).toMatch(/^here: /)
  }
})
