// dataset/: samples of one dtype and shape over the records of a store. This file: the dtypes, by our names and by
// NumPy's strings, and which typed array holds each.

import { LoaderxError } from '../errors.ts'

/**
 * A dtype by its name. The names are NumPy's; `U5` is a string of 5 code points and `S3` one of 3 bytes, both padded
 * with zeros; `datetime64` and `timedelta64` carry their unit (`datetime64[ns]`, `timedelta64[25s]`).
 */
export type DType =
  | 'bool'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'float16'
  | 'float32'
  | 'float64'
  | 'complex64'
  | 'complex128'
  | 'datetime64'
  | `datetime64[${string}]`
  | 'timedelta64'
  | `timedelta64[${string}]`
  | `U${number}`
  | `S${number}`

/**
 * The typed array that holds items of dtype `D`: float16 as its bits in a Uint16Array (see `float16ToNumber`), bool as
 * 0 and 1 in a Uint8Array, complex as pairs (real, imaginary), `U5` as 5 code points an item in a Uint32Array, `S3` as
 * 3 bytes an item in a Uint8Array (see `decodeStrings`), datetime64 and timedelta64 as counts in a BigInt64Array.
 */
export type TypedArrayOf<D extends DType> = D extends 'bool' | 'uint8' | `S${number}`
  ? Uint8Array
  : D extends 'int8'
    ? Int8Array
    : D extends 'int16'
      ? Int16Array
      : D extends 'uint16' | 'float16'
        ? Uint16Array
        : D extends 'int32'
          ? Int32Array
          : D extends 'uint32' | `U${number}`
            ? Uint32Array
            : D extends 'uint64'
              ? BigUint64Array
              : D extends 'float32' | 'complex64'
                ? Float32Array
                : D extends 'float64' | 'complex128'
                  ? Float64Array
                  : BigInt64Array

/** Any typed array that can hold items of a dtype. */
export type AnyTypedArray = TypedArrayOf<DType>

/** A constructor of such arrays. */
interface TypedArrayConstructor {
  readonly BYTES_PER_ELEMENT: number
  new (length: number): AnyTypedArray
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): AnyTypedArray
}

/** What is to be known about a dtype. */
export interface DTypeInfo<D extends DType = DType> {
  /** Our name, without a byte order. */
  readonly name: D
  /** NumPy's string, with the byte order: `|u1`, `<f4`, `>f4`. */
  readonly descr: string
  /** Bytes of one item. */
  readonly itemBytes: number
  /** Elements of the typed array that make up one item. */
  readonly itemElements: number
  /** Bytes of one element: the unit whose bytes are swapped. */
  readonly elementBytes: number
  /** Whether the stored bytes are in big-endian order. */
  readonly bigEndian: boolean
  readonly array: TypedArrayConstructor
}

type Row = readonly [name: DType, kind: string, array: TypedArrayConstructor, itemElements?: number]

const PLAIN: readonly Row[] = [
  ['bool', 'b1', Uint8Array],
  ['int8', 'i1', Int8Array],
  ['uint8', 'u1', Uint8Array],
  ['int16', 'i2', Int16Array],
  ['uint16', 'u2', Uint16Array],
  ['int32', 'i4', Int32Array],
  ['uint32', 'u4', Uint32Array],
  ['int64', 'i8', BigInt64Array],
  ['uint64', 'u8', BigUint64Array],
  ['float16', 'f2', Uint16Array],
  ['float32', 'f4', Float32Array],
  ['float64', 'f8', Float64Array],
  ['complex64', 'c8', Float32Array, 2],
  ['complex128', 'c16', Float64Array, 2],
]
const BY_NAME: ReadonlyMap<string, Row> = new Map(PLAIN.map((row) => [row[0], row]))
const BY_KIND: ReadonlyMap<string, Row> = new Map(PLAIN.map((row) => [row[1], row]))

const UNIT = String.raw`\[(?:[1-9]\d{0,8})?(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\]`
const TIME_NAME = new RegExp(`^(datetime64|timedelta64)(${UNIT})?$`)
const TIME_KIND = new RegExp(`^([Mm])8(${UNIT})?$`)
const STRING = /^([US])([1-9]\d{0,6})$/

function info(
  name: DType,
  kind: string,
  array: TypedArrayConstructor,
  itemElements: number,
  bigEndian: boolean,
): DTypeInfo {
  const elementBytes = array.BYTES_PER_ELEMENT
  const swapped = bigEndian && elementBytes > 1
  const descr = `${elementBytes === 1 ? '|' : swapped ? '>' : '<'}${kind}`
  return { name, descr, itemBytes: itemElements * elementBytes, itemElements, elementBytes, bigEndian: swapped, array }
}

/**
 * Facts about a dtype, given by its name (`float32`) or by NumPy's string (`<f4`, `>f4`; `=`, `|` and no sign mean
 * the machine's order, which is little endian).
 * @param where what has this dtype, for the message
 * @throws LOADERX_UNSUPPORTED_DTYPE for longdouble, objects, structured dtypes, void and unknown names
 */
export function dtypeInfo<D extends DType = DType>(dtype: D | (string & {}), where = 'dtype'): DTypeInfo<D> {
  const found = find(dtype)
  if (found !== undefined) return found as DTypeInfo<D>
  throw new LoaderxError('LOADERX_UNSUPPORTED_DTYPE', `${where}: ${refusal(dtype)}`, { actual: dtype })
}

function find(dtype: string): DTypeInfo | undefined {
  const named = BY_NAME.get(dtype)
  if (named !== undefined) return info(named[0], named[1], named[2], named[3] ?? 1, false)
  const bigEndian = dtype.startsWith('>')
  const kind = /^[<>=|]/.test(dtype) ? dtype.slice(1) : dtype
  const plain = BY_KIND.get(kind)
  if (plain !== undefined) return info(plain[0], kind, plain[2], plain[3] ?? 1, bigEndian)
  const string = STRING.exec(kind)
  if (string !== null)
    return info(kind as DType, kind, string[1] === 'U' ? Uint32Array : Uint8Array, Number(string[2]), bigEndian)
  const timeName = TIME_NAME.exec(dtype)
  if (timeName !== null) {
    return info(
      dtype as DType,
      `${timeName[1] === 'datetime64' ? 'M' : 'm'}8${timeName[2] ?? ''}`,
      BigInt64Array,
      1,
      false,
    )
  }
  const time = TIME_KIND.exec(kind)
  if (time === null) return undefined
  const name = `${time[1] === 'M' ? 'datetime64' : 'timedelta64'}${time[2] ?? ''}` as DType
  return info(name, kind, BigInt64Array, 1, bigEndian)
}

function refusal(dtype: string): string {
  const raw = 'a store that holds it can be read as raw records with Zrecord.open'
  const kind = dtype.replace(/^[<>=|]/, '')
  if (/^(f16|c32|f12|c24|g|G|longdouble|clongdouble|float128|complex256)$/.test(kind)) {
    return `${dtype} is NumPy's longdouble, which has no typed array and differs between machines; convert with astype('float64') or astype('complex128') in Python, or ${raw}`
  }
  if (/^(O8?|object)$/.test(kind)) {
    return `${dtype} holds Python objects, which are pointers and not data; convert to a plain dtype (astype) in Python`
  }
  if (/^(V\d*|void\d*)$/.test(kind)) {
    return `${dtype} is void: bytes without a meaning (bfloat16 and structured arrays are saved so); view it as a plain dtype in Python, for example view('uint16'), or ${raw}`
  }
  if (/^[[({]|,/.test(kind)) {
    return `${shorten(dtype)} is a structured dtype; write each of its fields as an array of its own, or ${raw}`
  }
  return `${shorten(dtype)} is not a known dtype; known are bool, int8 … uint64, float16 … float64, complex64, complex128, datetime64[unit], timedelta64[unit], U<n> and S<n>`
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
}
