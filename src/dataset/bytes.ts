// dataset/: bytes as items. This file: byte order, half floats and padded strings, decoded when somebody asks.

import { LoaderxError } from '../errors.ts'
import { halfToDouble } from '../kernel/twins/half.ts'
import { type DType, dtypeInfo } from './dtype.ts'
import type { NDArray } from './ndarray.ts'

/** The bytes of a typed array or DataView, without a copy. */
export function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
}

/**
 * Reverses the bytes of every `width`-byte element of `bytes`, in place.
 * @param width 1, 2, 4 or 8; the length of `bytes` is a multiple of it
 */
export function swapBytes(bytes: Uint8Array, width: number): void {
  if (width === 1) return
  if (bytes.byteOffset % Math.min(width, 4) !== 0) {
    for (let at = 0; at < bytes.length; at += width) bytes.subarray(at, at + width).reverse()
    return
  }
  if (width === 2) {
    const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2)
    for (let i = 0; i < halves.length; i++) halves[i] = (halves[i]! << 8) | (halves[i]! >>> 8)
    return
  }
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  for (let i = 0; i < words.length; i++) words[i] = reversed(words[i]!)
  if (width === 4) return
  for (let i = 0; i < words.length; i += 2) {
    const low = words[i]!
    words[i] = words[i + 1]!
    words[i + 1] = low
  }
}

function reversed(word: number): number {
  return (word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)
}

/** The number whose IEEE half-precision bits are `bits` (0 … 65535), exactly. */
export function float16ToNumber(bits: number): number {
  return halfToDouble(bits)
}

/**
 * The items of an array of dtype `U<n>` or `S<n>` as strings, in C order, without the zeros at their end. Bytes become
 * the characters of the same number (Latin-1).
 * @throws LOADERX_INVALID_ARGUMENT for another dtype, or a number that is not a code point
 */
export function decodeStrings(array: NDArray<`U${number}` | `S${number}`>): string[] {
  const dtype: DType = array.dtype
  if (!/^[US]\d+$/.test(dtype)) {
    throw new LoaderxError(
      'LOADERX_INVALID_ARGUMENT',
      `decodeStrings needs an array of dtype U<n> or S<n>, but this one is ${dtype}`,
      { expected: 'U<n> or S<n>', actual: dtype },
    )
  }
  const width = dtypeInfo(dtype).itemElements
  const strings: string[] = []
  for (let at = 0; at < array.data.length; at += width) {
    let end = at + width
    while (end > at && array.data[end - 1] === 0) end--
    let text = ''
    for (let i = at; i < end; i++) text += character(array.data[i]!, i)
    strings.push(text)
  }
  return strings
}

function character(point: number, position: number): string {
  if (point <= 0x10ffff) return String.fromCodePoint(point)
  throw new LoaderxError(
    'LOADERX_INVALID_ARGUMENT',
    `element ${position} of the array is ${point}, which is not a Unicode code point: the array does not hold strings`,
    { position, actual: point },
  )
}
