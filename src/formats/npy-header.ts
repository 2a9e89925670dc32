// formats/: files of other systems. This file: the header of NumPy's .npy format, versions 1.0, 2.0 and 3.0: magic,
// version, length of the header, and a Python dictionary of dtype, order and shape. Nothing is evaluated.
// Source: numpy/lib/format.py (NEP 1).

import { type DTypeInfo, dtypeInfo } from '../dataset/dtype.ts'
import { LoaderxError } from '../errors.ts'
import { MAX_DIMENSIONS, shapeProduct } from '../format/schema.ts'

/** What the header of a .npy file says. */
export interface NpyHeader {
  /** The dtype, with the byte order of the file. */
  readonly dtype: DTypeInfo
  /** Whether the first index runs fastest in the file. */
  readonly fortranOrder: boolean
  /** Shape of the whole array; at least one dimension. */
  readonly shape: readonly number[]
}

/** The longest header that is read; NumPy itself refuses more than 10,000 bytes unless told otherwise. */
export const MAX_NPY_HEADER_BYTES: number = 2 ** 16

/** Bytes that {@link npyPreamble} needs: magic, version and, at its longest, the length. */
export const NPY_PREAMBLE_BYTES = 12

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]

function invalid(path: string, fault: string, details: { expected?: unknown; actual?: unknown } = {}): LoaderxError {
  return new LoaderxError(
    'LOADERX_INVALID_NPY',
    `${path} is not a .npy file that can be read: ${fault}; write it again with numpy.save`,
    { path, ...details },
  )
}

/**
 * Reads magic, version and length.
 * @param bytes the first {@link NPY_PREAMBLE_BYTES} bytes of the file, or all there are
 * @returns first byte and length of the dictionary's text, and its encoding
 * @throws LOADERX_INVALID_NPY, LOADERX_NEWER_VERSION, LOADERX_TRUNCATED
 */
export function npyPreamble(
  bytes: Uint8Array,
  path: string,
): { readonly start: number; readonly length: number; readonly encoding: 'latin1' | 'utf-8' } {
  const magic = bytes.subarray(0, MAGIC.length)
  if (magic.some((byte, i) => byte !== MAGIC[i]) || magic.length === 0) {
    const found = [...magic].map((byte) => byte.toString(16).padStart(2, '0')).join(' ') || 'nothing'
    throw invalid(path, `it starts with ${found}, not with the magic "\\x93NUMPY"`, { actual: found })
  }
  const major = bytes[6]
  const minor = bytes[7]
  const start = major === 1 ? 10 : 12
  if (major === undefined || minor === undefined || bytes.length < start) throw cutHeader(path, start, bytes.length)
  if (major > 3) {
    throw new LoaderxError(
      'LOADERX_NEWER_VERSION',
      `${path} has .npy version ${major}.${minor}, newer than 3.0; update loaderx, or write the file again with an older NumPy`,
      { path, expected: '3.0', actual: `${major}.${minor}` },
    )
  }
  if (major === 0 || minor !== 0) throw invalid(path, `its version ${major}.${minor} is none of 1.0, 2.0, 3.0`)
  const view = new DataView(bytes.buffer, bytes.byteOffset, start)
  const length = major === 1 ? view.getUint16(8, true) : view.getUint32(8, true)
  if (length > MAX_NPY_HEADER_BYTES) {
    throw invalid(path, `its header claims ${length} bytes, above the limit of ${MAX_NPY_HEADER_BYTES}`, {
      expected: MAX_NPY_HEADER_BYTES,
      actual: length,
    })
  }
  return { start, length, encoding: major === 3 ? 'utf-8' : 'latin1' }
}

/** The error for a file that ends inside its header. */
export function cutHeader(path: string, expected: number, actual: number): LoaderxError {
  return new LoaderxError(
    'LOADERX_TRUNCATED',
    `${path} has ${actual} bytes, but its header alone needs ${expected}: the file was cut; copy it again`,
    { path, expected, actual },
  )
}

/**
 * Reads the dictionary `{'descr': …, 'fortran_order': …, 'shape': …}`, its keys in any order.
 * @throws LOADERX_INVALID_NPY, LOADERX_UNSUPPORTED_DTYPE
 */
export function parseNpyHeader(text: string, path: string): NpyHeader {
  const { descr, fortranOrder, shape } = readDictionary(text, path)
  const dtype = dtypeInfo(descr, path)
  if (shape.length === 0) {
    throw invalid(path, 'its array has no dimensions, so it has no rows; save numpy.atleast_1d(array)')
  }
  const items = shapeProduct(shape)
  if (items === undefined || !Number.isSafeInteger(items * dtype.itemBytes)) {
    throw invalid(path, `its shape (${shape.join(', ')}) of ${dtype.name} has more than 2^53 bytes`)
  }
  return { dtype, fortranOrder, shape }
}

function readDictionary(text: string, path: string): { descr: string; fortranOrder: boolean; shape: number[] } {
  let at = 0
  const found = new Map<string, string | boolean | number[]>()
  const fail = (wanted: string): never => {
    const rest = text.slice(at, at + 20)
    throw invalid(
      path,
      `its header has ${rest === '' ? 'its end' : JSON.stringify(rest)} at character ${at} where ${wanted} is wanted`,
    )
  }
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match === null) return undefined
    at = pattern.lastIndex
    return match[1] ?? match[0]
  }
  const skip = (token: string): boolean => {
    take(SPACE)
    if (!text.startsWith(token, at)) return false
    at += token.length
    take(SPACE)
    return true
  }
  const string = (): string => take(SINGLE) ?? take(DOUBLE) ?? fail('a string')

  if (!skip('{')) fail('{')
  while (!skip('}')) {
    const key = string()
    if (found.has(key)) throw invalid(path, `its header has the key ${JSON.stringify(key)} twice`)
    if (!skip(':')) fail(':')
    if (key === 'descr') {
      // A list is a structured dtype, a tuple one with a shape of its own; neither is looked into.
      if (/[[({]/.test(text.charAt(at))) return { descr: text.slice(at, at + 80), fortranOrder: false, shape: [] }
      found.set(key, string())
    } else if (key === 'fortran_order') {
      found.set(key, (take(BOOLEAN) ?? fail('True or False')) === 'True')
    } else if (key === 'shape') {
      found.set(
        key,
        readShape(skip, () => take(INTEGER), fail),
      )
    } else {
      throw invalid(path, `its header has the unknown key ${JSON.stringify(key)}`)
    }
    if (skip(',')) continue
    if (!skip('}')) fail(', or }')
    break
  }
  take(SPACE)
  if (at !== text.length) fail('the end')
  const descr = found.get('descr')
  const fortranOrder = found.get('fortran_order')
  const shape = found.get('shape')
  if (typeof descr !== 'string' || typeof fortranOrder !== 'boolean' || !Array.isArray(shape)) {
    throw invalid(path, "its header lacks one of the keys 'descr', 'fortran_order' and 'shape'")
  }
  return { descr, fortranOrder, shape }
}

const SPACE = /[ \t\r\n\f]*/y
const SINGLE = /'([^'\\\n]*)'/y
const DOUBLE = /"([^"\\\n]*)"/y
const BOOLEAN = /True|False/y
// NumPy for Python 2 wrote long integers with an L.
const INTEGER = /(\d{1,16})L?(?!\d)/y

function readShape(
  skip: (token: string) => boolean,
  integer: () => string | undefined,
  fail: (wanted: string) => never,
): number[] {
  const shape: number[] = []
  if (!skip('(')) fail('(')
  while (!skip(')')) {
    const dimension = Number(integer() ?? fail('a dimension below 2^53'))
    if (!Number.isSafeInteger(dimension)) fail('a dimension below 2^53')
    if (shape.push(dimension) > MAX_DIMENSIONS) fail(`a shape of at most ${MAX_DIMENSIONS} dimensions`)
    if (skip(',')) continue
    if (!skip(')') || shape.length === 1) fail(', or )')
    break
  }
  return shape
}
