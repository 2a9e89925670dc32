// format/: schema.json, which says that every record of a store is one sample of the same dtype and shape. Read from
// text that nobody is trusted to have written, and written byte for byte as the original writes it.

import { LoaderxError } from '../errors.ts'
import { MAX_RECORD_BYTES } from './limits.ts'

/** What schema.json says. */
export interface Schema {
  /** NumPy's dtype string (`|u1`, `<f4`, `>f4`); whether it is one that can be read is the dataset's affair. */
  readonly dtype: string
  /** Shape of one sample; empty for scalars. */
  readonly shape: readonly number[]
  /** Codec that later appends use. */
  readonly codec: 'raw' | 'flate'
}

/** The most bytes that a schema.json may have. */
export const MAX_SCHEMA_BYTES: number = 2 ** 16
/** The most dimensions of an array, as in NumPy. */
export const MAX_DIMENSIONS = 64

const FORMAT = 'loaderx-zrecord'
const VERSION = 1

/** The text of schema.json for `schema`: two-space indent, one value per line, final newline. */
export function encodeSchema(schema: Schema): string {
  const { dtype, shape, codec } = schema
  return `${JSON.stringify({ format: FORMAT, version: VERSION, dtype, shape, codec }, null, 2)}\n`
}

/**
 * Product of the dimensions of `shape`, or undefined when it is not below 2^53 (also along the way, so that a 0
 * further on does not hide it).
 */
export function shapeProduct(shape: readonly number[]): number | undefined {
  let product = 1
  let largest = 1
  for (const dimension of shape) {
    product *= dimension
    largest *= Math.max(1, dimension)
    if (!Number.isSafeInteger(largest)) return undefined
  }
  return product
}

// JSON.parse reads 200.0 as 200; a shape must be of integers as written. In valid JSON, a number outside a string that
// has a fraction or an exponent becomes a string here and is refused as one.
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

function parseExactly(text: string): unknown {
  JSON.parse(text)
  return JSON.parse(text.replace(STRING_OR_NUMBER, (token) => (/^[^"]*[.eE]/.test(token) ? `"${token}"` : token)))
}

/**
 * Reads schema.json. Keys that are not known are ignored, as in the original.
 * @param bytes the file's bytes, at most {@link MAX_SCHEMA_BYTES} of them
 * @param path for the message
 * @throws LOADERX_INVALID_SCHEMA, LOADERX_NEWER_VERSION
 */
export function decodeSchema(bytes: Uint8Array, path: string): Schema {
  const invalid = (fault: string, cause?: unknown): LoaderxError =>
    new LoaderxError(
      'LOADERX_INVALID_SCHEMA',
      `${path} does not describe a dataset: ${fault}; restore it from a copy, or open the store with Zrecord.open`,
      { path },
      cause === undefined ? {} : { cause },
    )
  if (bytes.length > MAX_SCHEMA_BYTES) throw invalid(`it has more than ${MAX_SCHEMA_BYTES} bytes`)
  let value: unknown
  try {
    value = parseExactly(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch (cause) {
    throw invalid(`it is not JSON (${(cause as Error).message})`, cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('it is not a JSON object')
  const fields = new Map(Object.entries(value))
  const format = fields.get('format')
  if (format !== FORMAT) throw invalid(`its format is ${show(format)}, not "${FORMAT}"`)
  const version = fields.get('version')
  if (typeof version === 'number' && version > VERSION) {
    throw new LoaderxError(
      'LOADERX_NEWER_VERSION',
      `${path} has schema version ${version}, newer than version ${VERSION} that this loaderx reads; update loaderx`,
      { path, expected: VERSION, actual: version },
    )
  }
  if (version !== VERSION) throw invalid(`its version is ${show(version)}, not ${VERSION}`)
  const dtype = fields.get('dtype')
  if (typeof dtype !== 'string') throw invalid(`its dtype is ${show(dtype)}, not a string`)
  const shape: unknown = fields.get('shape')
  if (!isShape(shape)) throw invalid(`its shape is ${show(shape)}, not a list of whole numbers from 0`)
  const items = shapeProduct(shape)
  if (items === undefined || items > MAX_RECORD_BYTES) {
    throw invalid(`its shape ${show(shape)} is larger than a record's limit of ${MAX_RECORD_BYTES} bytes`)
  }
  const codec = fields.get('codec')
  if (codec !== 'raw' && codec !== 'flate') throw invalid(`its codec is ${show(codec)}, not "raw" or "flate"`)
  return { dtype, shape, codec }
}

function isShape(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= MAX_DIMENSIONS && value.every((d) => Number.isSafeInteger(d) && d >= 0)
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'missing'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
