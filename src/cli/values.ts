// cli/: items of every dtype as text and as JSON.

import { decodeStrings, float16ToNumber } from '../dataset/bytes.ts'
import { type AnyTypedArray, type DType, dtypeInfo } from '../dataset/dtype.ts'
import type { NDArray } from '../dataset/ndarray.ts'

/** What JSON.stringify takes. */
export type Json = string | number | boolean | null | readonly Json[]

/** How items of one dtype are shown. `item` counts items, not elements of the array that holds them. */
export interface Items {
  text(data: AnyTypedArray, item: number): string
  /** As text, but of floats only the first digits. */
  brief(data: AnyTypedArray, item: number): string
  json(data: AnyTypedArray, item: number): Json
  /** The item as a number, for least, greatest and mean; undefined for dtypes that have none. */
  readonly number: ((data: AnyTypedArray, item: number) => number) | undefined
}

/** How items of `dtype` are shown. */
export function itemsOf(dtype: DType): Items {
  if (dtype === 'bool') return plain((data, item) => data[item] !== 0)
  if (dtype === 'float16') return floats((data, item) => float16ToNumber(Number(data[item])), 5)
  if (dtype === 'float32') return floats((data, item) => Number(data[item]), 9)
  if (dtype === 'float64') return floats((data, item) => Number(data[item]), 17)
  if (dtype.startsWith('complex')) return complexes(dtype === 'complex64' ? 9 : 17)
  if (/^[US]\d/.test(dtype)) return strings(dtype)
  if (/^(datetime|timedelta)64/.test(dtype)) return plain((data, item) => timeText(BigInt(data[item]!), dtype))
  const whole = (data: AnyTypedArray, item: number): string => String(data[item])
  return {
    text: whole,
    brief: whole,
    json: (data, item) => exact(data[item]!),
    number: (data, item) => Number(data[item]),
  }
}

function plain(value: (data: AnyTypedArray, item: number) => string | boolean): Items {
  const text = (data: AnyTypedArray, item: number): string => String(value(data, item))
  return { text, brief: text, json: value, number: undefined }
}

/** A number where JSON's readers keep it, else its digits. */
function exact(value: number | bigint): Json {
  const number = Number(value)
  return typeof value === 'number' || Number.isSafeInteger(number) ? number : value.toString()
}

const BRIEF_DIGITS = 5

function floats(number: (data: AnyTypedArray, item: number) => number, digits: number): Items {
  return {
    text: (data, item) => floatText(number(data, item), digits),
    brief: (data, item) => floatText(number(data, item), BRIEF_DIGITS),
    json: (data, item) => floatJson(number(data, item), digits),
    number,
  }
}

/** The shortest number that is `value` again in its own precision, of which `digits` digits tell all. */
function shortest(value: number, digits: number): number {
  if (digits !== 9) return digits === 17 ? value : Number(value.toPrecision(digits))
  for (let some = 6; some < digits; some++) {
    const candidate = Number(value.toPrecision(some))
    if (Math.fround(candidate) === value) return candidate
  }
  return Number(value.toPrecision(digits))
}

function floatText(value: number, digits: number): string {
  return Object.is(value, -0) ? '-0' : String(shortest(value, digits))
}

function floatJson(value: number, digits: number): Json {
  return Number.isFinite(value) ? shortest(value, digits) : String(value)
}

function complexes(digits: number): Items {
  const parts = (data: AnyTypedArray, item: number) => [Number(data[2 * item]), Number(data[2 * item + 1])] as const
  const textOf = (data: AnyTypedArray, item: number, some: number): string => {
    const [real, imaginary] = parts(data, item)
    const text = floatText(imaginary, some)
    return `${floatText(real, some)}${text.startsWith('-') ? '' : '+'}${text}j`
  }
  return {
    text: (data, item) => textOf(data, item, digits),
    brief: (data, item) => textOf(data, item, BRIEF_DIGITS),
    json: (data, item) => parts(data, item).map((part) => floatJson(part, digits)),
    number: undefined,
  }
}

function strings(dtype: DType): Items {
  const width = dtypeInfo(dtype).itemElements
  const value = (data: AnyTypedArray, item: number): string => {
    const one = data.subarray(item * width, (item + 1) * width)
    return decodeStrings({ dtype, shape: [], data: one } as NDArray<`U${number}`>)[0]!
  }
  const text = (data: AnyTypedArray, item: number): string => quotedText(value(data, item))
  return { text, brief: text, json: value, number: undefined }
}

/** In quotes, without characters that would act on a terminal. */
function quotedText(text: string): string {
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(text).replace(/[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, escaped)
}

const DAY_NS = 86_400n * 10n ** 9n
const UNIT_NS: Readonly<Record<string, bigint>> = {
  W: 7n * DAY_NS,
  D: DAY_NS,
  h: 3600n * 10n ** 9n,
  m: 60n * 10n ** 9n,
  s: 10n ** 9n,
  ms: 10n ** 6n,
  us: 1000n,
  ns: 1n,
}
const SECOND_DIGITS: Readonly<Record<string, number>> = { ms: 3, us: 6, ns: 9 }

/** A datetime64 as an ISO date or time, a timedelta64 as a count of its unit; else the count and the unit. */
function timeText(stored: bigint, dtype: string): string {
  if (stored === -(2n ** 63n)) return 'NaT'
  const [, kind, many = '1', unit = ''] = /^(\w+64)(?:\[(\d*)(\w+)\])?$/.exec(dtype)!
  const value = stored * BigInt(many || '1')
  const plainText = `${value}${unit === '' ? '' : ` ${unit}`}`
  if (kind === 'timedelta64') return plainText
  if (unit === 'Y' || unit === 'M') {
    const date = new Date(Date.UTC(1970, 0))
    if (unit === 'Y') date.setUTCFullYear(1970 + Number(value))
    else date.setUTCMonth(Number(value))
    return Number.isNaN(date.getTime()) ? plainText : date.toISOString().slice(0, unit === 'Y' ? -20 : -17)
  }
  const unitNs = UNIT_NS[unit]
  if (unitNs === undefined) return plainText
  const ns = value * unitNs
  const inDay = ((ns % DAY_NS) + DAY_NS) % DAY_NS
  const date = new Date(Number((ns - inDay) / 10n ** 6n))
  if (Number.isNaN(date.getTime())) return plainText
  const day = date.toISOString().slice(0, -14)
  if (unit === 'W' || unit === 'D') return day
  const time = new Date(Number(inDay / 10n ** 6n)).toISOString().slice(11, unit === 'h' || unit === 'm' ? 16 : 19)
  const digits = SECOND_DIGITS[unit]
  const fraction = String(inDay % 10n ** 9n).padStart(9, '0')
  return `${day}T${time}${digits === undefined ? '' : `.${fraction.slice(0, digits)}`}`
}

/** An array as nested lists, in its shape. */
export function nested({ data, shape }: NDArray, items: Items): Json {
  let next = 0
  const build = (depth: number): Json =>
    depth === shape.length ? items.json(data, next++) : Array.from({ length: shape[depth]! }, () => build(depth + 1))
  return build(0)
}
