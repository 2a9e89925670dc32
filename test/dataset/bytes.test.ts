import fc from 'fast-check'
import { decodeStrings, float16ToNumber, type NDArray, ndarray } from 'loaderx'
import { describe, expect, test } from 'vitest'
import { swapBytes } from '#dist/dataset/bytes.js'

describe('swapBytes', () => {
  test('reverses every element, at any position in its buffer', () => {
    const given = fc.tuple(fc.constantFrom(1, 2, 4, 8), fc.nat(12), fc.nat(9))
    fc.assert(
      fc.property(given, ([width, count, offset]) => {
        const whole = Uint8Array.from({ length: offset + width * count + 3 }, (_, i) => i * 7 + 1)
        const expected = whole.slice()
        for (let i = 0; i < width * count; i++) {
          expected[offset + i] = whole[offset + i - (i % width) + width - 1 - (i % width)]!
        }
        swapBytes(whole.subarray(offset, offset + width * count), width)
        expect(whole).toEqual(expected)
      }),
    )
  })
})

test('float16ToNumber agrees with the definition for every bit pattern', () => {
  // Through float32: rebias the exponent, shift the fraction; subnormals are fraction × 2^-24.
  const view = new DataView(new ArrayBuffer(4))
  for (let bits = 0; bits < 65536; bits++) {
    const exponent = (bits >>> 10) & 31
    let expected: number
    if (exponent === 0) expected = ((bits & 0x3ff) / 2 ** 24) * (bits >>> 15 ? -1 : 1)
    else {
      const wide = exponent === 31 ? 255 : exponent + 112
      view.setUint32(0, (((bits >>> 15) << 31) | (wide << 23) | ((bits & 0x3ff) << 13)) >>> 0)
      expected = view.getFloat32(0)
    }
    if (!Object.is(float16ToNumber(bits), expected)) expect.fail(`bits ${bits}: ${float16ToNumber(bits)}`)
  }
  expect([0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00].map(float16ToNumber)).toEqual([1, -2, 65504, 2 ** -24, Infinity])
})

describe('decodeStrings', () => {
  test('code points, zeros at the end dropped and zeros inside kept', () => {
    const data = Uint32Array.of(0x65e5, 0x672c, 0, 0x1f40d, 0, 0x21, 0, 0, 0)
    expect(decodeStrings(ndarray('U3', [3], data))).toEqual(['日本', '🐍\0!', ''])
  })

  test('bytes', () => {
    expect(decodeStrings(ndarray('S2', [2, 1], Uint8Array.of(97, 0, 98, 233)))).toEqual(['a', 'bé'])
  })

  test('refuses other dtypes and numbers that are no code points', () => {
    const bytes = ndarray('uint8', [2], Uint8Array.of(1, 2))
    expect(() => decodeStrings(bytes as unknown as NDArray<'S1'>)).toThrow(/dtype U<n> or S<n>, but this one is uint8/)
    expect(() => decodeStrings(ndarray('U1', [2], Uint32Array.of(65, 0x110000)))).toThrow(/element 1 .* 1114112/)
  })
})
