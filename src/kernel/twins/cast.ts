// kernel/: the twin of cast-and-scale, an element at a time: read it as a bigint or a number, scale, check, write.

import { CAST_TYPES, type CastType } from '../layout.ts'
import { doubleToHalf, halfToDouble } from './half.ts'
import { move, type TwinMemory } from './memory.ts'

const NAMES = Object.keys(CAST_TYPES) as readonly CastType[]
const FIRST_FLOAT = CAST_TYPES.float16

function sizeOf(type: number): number {
  return type < FIRST_FLOAT ? 2 ** (type >> 1) : 2 ** (type - FIRST_FLOAT + 1)
}

function read(view: DataView, at: number, type: number): number | bigint {
  switch (NAMES[type]) {
    case 'int8':
      return view.getInt8(at)
    case 'uint8':
      return view.getUint8(at)
    case 'int16':
      return view.getInt16(at, true)
    case 'uint16':
      return view.getUint16(at, true)
    case 'int32':
      return view.getInt32(at, true)
    case 'uint32':
      return view.getUint32(at, true)
    case 'int64':
      return view.getBigInt64(at, true)
    case 'uint64':
      return view.getBigUint64(at, true)
    case 'float16':
      return halfToDouble(view.getUint16(at, true))
    case 'float32':
      return view.getFloat32(at, true)
    default:
      return view.getFloat64(at, true)
  }
}

// The bits of a NaN are written by hand: engines differ in those that setFloat64 leaves.
function writeFloat(view: DataView, at: number, type: number, value: number): void {
  if (NAMES[type] === 'float16') view.setUint16(at, doubleToHalf(value), true)
  else if (NAMES[type] === 'float32') {
    if (Number.isNaN(value)) view.setUint32(at, 0x7fc00000, true)
    else view.setFloat32(at, value, true)
  } else if (Number.isNaN(value)) view.setBigUint64(at, 0x7ff8000000000000n, true)
  else view.setFloat64(at, value, true)
}

function writeInteger(view: DataView, at: number, type: number, value: bigint): boolean {
  const bits = 8 * sizeOf(type)
  if ((type % 2 === 0 ? BigInt.asIntN(bits, value) : BigInt.asUintN(bits, value)) !== value) return false
  for (let byte = 0; byte < bits / 8; byte++) {
    view.setUint8(at + byte, Number(BigInt.asUintN(8, value >> BigInt(8 * byte))))
  }
  return true
}

/**
 * The float32 nearest to an integer, ties to even. By way of float64 a 64-bit integer would be rounded twice, so its
 * bits past the 40th of the value are gathered in one, which leaves it on the same side of every tie.
 */
function integerToSingle(value: bigint): number {
  const size = value < 0n ? -value : value
  const spare = BigInt(Math.max(0, size.toString(2).length - 40))
  const kept = size >> spare
  const sticky = kept << spare === size ? kept : kept | 1n
  const single = Math.fround(Number(sticky)) * 2 ** Number(spare)
  return value < 0n ? -single : single
}

function convert(view: DataView, at: number, to: number, value: number | bigint): boolean {
  if (to < FIRST_FLOAT) {
    if (typeof value === 'number' && !Number.isFinite(value)) return false
    return writeInteger(view, at, to, BigInt(typeof value === 'number' ? Math.trunc(value) : value))
  }
  const single = typeof value === 'bigint' && NAMES[to] === 'float32'
  writeFloat(view, at, to, single ? integerToSingle(value) : Number(value))
  return true
}

/** See KernelExports.cast. */
export function cast(memory: TwinMemory, source: number, from: number, target: number, to: number, n: number): number {
  if (from === to) {
    move(memory, target, source, n * sizeOf(from))
    return -1
  }
  const { view } = memory
  for (let i = 0; i < n; i++) {
    if (!convert(view, target + i * sizeOf(to), to, read(view, source + i * sizeOf(from), from))) return i
  }
  return -1
}

/** See KernelExports.castScaled. */
export function castScaled(
  { view }: TwinMemory,
  source: number,
  from: number,
  target: number,
  to: number,
  n: number,
  scale: number,
  offset: number,
): number {
  const single = from <= CAST_TYPES.uint16 && NAMES[to] === 'float32'
  const round = single ? Math.fround : Number
  for (let i = 0; i < n; i++) {
    const value = Number(read(view, source + i * sizeOf(from), from))
    const scaled = round(round(value * round(scale)) + round(offset))
    if (!convert(view, target + i * sizeOf(to), to, scaled)) return i
  }
  return -1
}
