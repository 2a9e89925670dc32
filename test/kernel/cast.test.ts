// Cast-and-scale: kernel and twin agree over all pairs of types, and give what the types' own arithmetic says.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CAST_SCRATCH_BYTES, CAST_TYPES, type CastType } from '#dist/kernel/layout.js'
import { bytesAt, kernels, ORIGINS, runAll, viewAt } from '../support/kernels.ts'

const NAMES = Object.keys(CAST_TYPES) as CastType[]
const FLOATS: readonly CastType[] = ['float16', 'float32', 'float64']
const bytesOf = (type: CastType): number => Number(type.replace(/\D+/, '')) / 8

/** Writes `value` as `type`, wrapping or rounding as the view does; a float16 is given by its bits. */
function write(view: DataView, at: number, type: CastType, value: number | bigint): void {
  const whole = typeof value === 'bigint' ? value : Number.isFinite(value) ? BigInt(Math.trunc(value)) : 0n
  if (type === 'float64') view.setFloat64(at, Number(value), true)
  else if (type === 'float32') view.setFloat32(at, Number(value), true)
  else {
    for (let byte = 0; byte < bytesOf(type); byte++) {
      view.setUint8(at + byte, Number(BigInt.asUintN(8, whole >> BigInt(8 * byte))))
    }
  }
}

function read(view: DataView, at: number, type: CastType): number | bigint {
  if (type === 'int64') return view.getBigInt64(at, true)
  if (type === 'uint64') return view.getBigUint64(at, true)
  if (type === 'float16') return view.getUint16(at, true)
  if (type === 'float32') return view.getFloat32(at, true)
  if (type === 'float64') return view.getFloat64(at, true)
  const bits = bytesOf(type) * 8
  const raw = view.getUint8(at) | (bits > 8 ? view.getUint16(at, true) : 0)
  const whole = BigInt(bits > 16 ? view.getUint32(at, true) : raw)
  return Number(type.startsWith('u') ? whole : BigInt.asIntN(bits, whole))
}

interface Cast {
  from: CastType
  to: CastType
  values: readonly (number | bigint)[]
  scale?: number
  offset?: number
}

/** Runs a cast in all three kernels. */
function run({ from, to, values, scale, offset }: Cast, origin: number): { result: number; bytes: Buffer } {
  const source = origin + CAST_SCRATCH_BYTES
  const target = source + values.length * bytesOf(from)
  const outcome = runAll(
    origin,
    target + values.length * bytesOf(to) + 8 - origin,
    () => {
      for (const [i, value] of values.entries()) write(viewAt(source), i * bytesOf(from), from, value)
    },
    (kernel) => {
      const [a, b, n] = [CAST_TYPES[from], CAST_TYPES[to], values.length]
      const position =
        scale === undefined
          ? kernel.cast(source, a, target, b, n, origin)
          : kernel.castScaled(source, a, target, b, n, scale, offset ?? 0, origin)
      bytesAt(origin, CAST_SCRATCH_BYTES).fill(0)
      return position
    },
  )
  return { result: outcome.result, bytes: outcome.bytes.subarray(target - origin) }
}

/** What a cast writes, read back; the position of a refused element as the last item. */
function cast(job: Cast, origin: number = ORIGINS[0]!): (number | bigint | string)[] {
  const { result, bytes } = run(job, origin)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = result < 0 ? job.values.length : result
  const out: (number | bigint | string)[] = []
  for (let i = 0; i < count; i++) out.push(read(view, i * bytesOf(job.to), job.to))
  if (result >= 0) out.push(`refused ${result}`)
  return out
}

const edge: fc.Arbitrary<number | bigint> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 127 }) },
  { weight: 2, arbitrary: fc.double() },
  { weight: 2, arbitrary: fc.float() },
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  fc
    .tuple(fc.nat(64), fc.integer({ min: -2, max: 2 }), fc.boolean())
    .map(([power, add, minus]) => (minus ? -1n : 1n) * (2n ** BigInt(power) + BigInt(add))),
  fc.tuple(fc.nat(20), fc.constantFrom(-0.75, -0.5, 0.5, 0.25)).map(([power, add]) => 2 ** power + add),
  fc.constantFrom(-0.99, -1, -0, Number.NaN, Infinity, -Infinity, 65519, 65520, 65504, 2 ** -14, 2 ** -24, 2 ** -25),
)
const factor = fc.oneof(fc.double(), fc.constantFrom(1, 0, 1 / 255, -0.5, 2, 1e-30, Infinity, Number.NaN))

describe('kernel and twin', () => {
  it.each(NAMES)('agree over any elements of %s, plain and scaled', (from) => {
    let done = 0
    let refused = 0
    fc.assert(
      fc.property(
        fc.constantFrom(...ORIGINS),
        fc.constantFrom(...NAMES),
        fc.array(edge, { maxLength: 40 }),
        fc.option(fc.tuple(factor, factor)),
        (origin, to, values, scaling) => {
          const job = scaling === null ? {} : { scale: scaling[0], offset: scaling[1] }
          const { result } = run({ from, to, values, ...job }, origin)
          if (result < 0) done++
          else refused++
        },
      ),
      { numRuns: 400 },
    )
    expect(Math.min(done, refused)).toBeGreaterThan(20)
  })

  it('agree over several blocks, and name the position in a later one', () => {
    for (const from of NAMES) {
      for (const to of NAMES) {
        const values = Array.from({ length: 1300 }, (_, i) => i % 127)
        expect(run({ from, to, values }, ORIGINS[1]!).result).toBe(-1)
        expect(run({ from, to, values, scale: 0.5, offset: 1 }, ORIGINS[1]!).result).toBe(-1)
      }
    }
    const values = Array.from({ length: 1300 }, (_, i) => (i === 1201 ? 256 : i % 256))
    for (const from of ['int16', 'uint64', 'float32', 'float64'] as const) {
      const out = cast({ from, to: 'uint8', values })
      expect(out).toEqual([...values.slice(0, 1201), 'refused 1201'])
    }
  })
})

describe('integers to integers', () => {
  const limits = (type: CastType): [bigint, bigint] => {
    const bits = BigInt(bytesOf(type) * 8)
    return type.startsWith('u') ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n]
  }
  const integers = NAMES.filter((name) => !FLOATS.includes(name))

  it.each(integers)('take all that %s holds and refuse one more', (from) => {
    const [low, high] = limits(from)
    for (const to of integers) {
      const [least, most] = limits(to)
      for (const value of [low, high, least, most, least - 1n, most + 1n, 0n]) {
        if (value < low || value > high) continue
        const fits = value >= least && value <= most
        expect(cast({ from, to, values: [0, value] }).map(String)).toEqual(['0', fits ? `${value}` : 'refused 1'])
      }
    }
  })
})

describe('floats to integers', () => {
  it('cut toward zero', () => {
    const values = [0.99, -0.99, 1.5, -1.5, 126.999, -127.5, -0]
    for (const from of ['float32', 'float64'] as const) {
      expect(cast({ from, to: 'int8', values })).toEqual([0, 0, 1, -1, 126, -127, 0])
    }
  })

  it('take the last value inside and refuse the first outside', () => {
    const rows: [CastType, number, number, number, number][] = [
      ['int8', -128.99, -129, 127.99, 128],
      ['uint8', -0.99, -1, 255.99, 256],
      ['int16', -32768.99, -32769, 32767.99, 32768],
      ['uint16', -0.99, -1, 65535.99, 65536],
      ['int32', -2147483648.9, -2147483649, 2147483647.9, 2147483648],
      ['uint32', -0.99, -1, 4294967295.9, 4294967296],
      ['int64', -(2 ** 63), -(2 ** 63) - 2048, 2 ** 63 - 1024, 2 ** 63],
      ['uint64', -0.99, -1, 2 ** 64 - 2048, 2 ** 64],
    ]
    for (const [to, low, below, high, above] of rows) {
      const inside = [low, high].map((value) => String(BigInt(Math.trunc(value))))
      expect(cast({ from: 'float64', to, values: [low, high] }).map(String)).toEqual(inside)
      expect(cast({ from: 'float64', to, values: [below] })).toEqual(['refused 0'])
      expect(cast({ from: 'float64', to, values: [0, above] }).at(-1)).toBe('refused 1')
    }
  })

  it.each(NAMES.filter((name) => !FLOATS.includes(name)))('refuse NaN and infinities for %s', (to) => {
    for (const value of [Number.NaN, Infinity, -Infinity]) {
      expect(cast({ from: 'float64', to, values: [value] })).toEqual(['refused 0'])
      expect(cast({ from: 'float32', to, values: [value] })).toEqual(['refused 0'])
    }
    for (const bits of [0x7e00, 0x7c00, 0xfc00]) {
      expect(cast({ from: 'float16', to, values: [bits] })).toEqual(['refused 0'])
    }
  })
})

describe('to floats', () => {
  it('round a 64-bit integer to float32 once', () => {
    // By way of float64 these become ties and go to the even neighbour, which is the farther one.
    const values = [2n ** 60n + 2n ** 36n + 1n, 2n ** 60n + 3n * 2n ** 36n - 1n]
    const expected = [2 ** 60 + 2 ** 37, 2 ** 60 + 2 ** 37]
    for (const from of ['int64', 'uint64'] as const) {
      expect(cast({ from, to: 'float32', values })).toEqual(expected)
      expect(values.map((value) => Math.fround(Number(value)))).not.toEqual(expected)
    }
    expect(cast({ from: 'int64', to: 'float32', values: values.map((value) => -value) })).toEqual(
      expected.map((value) => -value),
    )
    expect(cast({ from: 'uint64', to: 'float32', values: [2n ** 64n - 1n, 2n ** 63n] })).toEqual([2 ** 64, 2 ** 63])
  })

  it('give the float32 that is nearest to any 64-bit integer', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        const single = cast({ from: 'int64', to: 'float32', values: [value] })[0] as number
        const distance = (other: number): bigint => {
          const difference = BigInt(other) - value
          return difference < 0n ? -difference : difference
        }
        const view = new DataView(new ArrayBuffer(4))
        view.setFloat32(0, single)
        const bits = view.getInt32(0)
        for (const step of single === 0 ? [] : [-1, 1]) {
          view.setInt32(0, bits + step)
          const other = view.getFloat32(0)
          if (!Number.isInteger(other)) continue
          expect(distance(single) <= distance(other)).toBe(true)
          if (distance(single) === distance(other)) expect(bits & 1).toBe(0)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('round an integer to float64 and float16 as the numbers say', () => {
    expect(cast({ from: 'int64', to: 'float64', values: [2n ** 53n + 1n, 2n ** 53n + 3n, -(2n ** 63n)] })).toEqual([
      2 ** 53,
      2 ** 53 + 4,
      -(2 ** 63),
    ])
    expect(cast({ from: 'uint64', to: 'float64', values: [2n ** 64n - 1n] })).toEqual([2 ** 64])
    expect(cast({ from: 'int32', to: 'float16', values: [2049, 2051, 65519, 65520, -70000] })).toEqual([
      0x6800, 0x6802, 0x7bff, 0x7c00, 0xfc00,
    ])
  })

  it('round float64 to float32 as Math.fround', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.double(), fc.float()), { maxLength: 30 }), (values) => {
        expect(cast({ from: 'float64', to: 'float32', values })).toEqual(values.map(Math.fround))
      }),
      { numRuns: 200 },
    )
  })

  it('write one NaN, whatever NaN comes in', () => {
    for (const kernel of Object.values(kernels)) {
      const view = viewAt(2 ** 16 + CAST_SCRATCH_BYTES)
      view.setUint32(0, 0xffc12345, true)
      kernel.cast(view.byteOffset, CAST_TYPES.float32, view.byteOffset + 8, CAST_TYPES.float64, 1, 2 ** 16)
      expect(view.getBigUint64(8, true)).toBe(0x7ff8000000000000n)
      view.setBigUint64(0, 0xfff4000000000001n, true)
      kernel.cast(view.byteOffset, CAST_TYPES.float64, view.byteOffset + 8, CAST_TYPES.float32, 1, 2 ** 16)
      expect(view.getUint32(8, true)).toBe(0x7fc00000)
    }
  })

  it('write that NaN also where scaling makes one', () => {
    const values = Array<number>(20).fill(0)
    for (const [to, word] of [
      ['float32', '0000c07f'],
      ['float64', '000000000000f87f'],
      ['float16', '007e'],
    ] as const) {
      for (const from of ['uint8', 'int8', 'int64', 'float64'] as const) {
        const { bytes } = run({ from, to, values, scale: Infinity, offset: 0 }, ORIGINS[1]!)
        expect(bytes.toString('hex')).toBe(word.repeat(20) + 'a5'.repeat(8))
      }
    }
  })

  it('keep every bit when the types are the same', () => {
    const bits = [0xfe01, 0x7c01, 0x8000, 1]
    expect(cast({ from: 'float16', to: 'float16', values: bits })).toEqual(bits)
  })
})

describe('scaled', () => {
  const bytes = Array.from({ length: 256 }, (_, i) => i)

  it('compute 8 and 16-bit integers to float32 in float32', () => {
    for (const scale of [1 / 255, 0.1, -3]) {
      const [s, o] = [Math.fround(scale), Math.fround(0.3)]
      const expected = (values: number[]): number[] => values.map((value) => Math.fround(Math.fround(value * s) + o))
      const signed = bytes.map((value) => value - 128)
      expect(cast({ from: 'uint8', to: 'float32', values: bytes, scale, offset: 0.3 })).toEqual(expected(bytes))
      expect(cast({ from: 'int8', to: 'float32', values: signed, scale, offset: 0.3 })).toEqual(expected(signed))
      const wide = bytes.map((value) => value * 257)
      expect(cast({ from: 'uint16', to: 'float32', values: wide, scale, offset: 0.3 })).toEqual(expected(wide))
    }
  })

  it('compute everything else in float64, rounded once', () => {
    const expected = bytes.map((value) => value * 0.1 + 0.3)
    expect(cast({ from: 'uint8', to: 'float64', values: bytes, scale: 0.1, offset: 0.3 })).toEqual(expected)
    expect(cast({ from: 'int32', to: 'float32', values: bytes, scale: 0.1, offset: 0.3 })).toEqual(
      expected.map(Math.fround),
    )
    expect(cast({ from: 'float64', to: 'uint8', values: bytes, scale: 0.1, offset: 0.3 })).toEqual(
      expected.map(Math.trunc),
    )
    expect(cast({ from: 'int64', to: 'int8', values: [1, 2, 3], scale: 50, offset: 0 })).toEqual([50, 100, 'refused 2'])
  })

  it.each([0, 1, 15, 16, 17, 31, 32, 33, 255])('write exactly %d elements of uint8 as float32', (n) => {
    const { result, bytes: written } = run(
      { from: 'uint8', to: 'float32', values: bytes.slice(0, n), scale: 2, offset: 1 },
      ORIGINS[2]!,
    )
    expect(result).toBe(-1)
    expect([...written.subarray(n * 4)]).toEqual(Array(8).fill(0xa5))
    for (let i = 0; i < n; i++) expect(written.readFloatLE(i * 4)).toBe(2 * i + 1)
  })
})
