// dataset/: rows on their way into a dataset. This file: what a source of rows is, and how arrays and iterables of
// arrays become one.

import { LoaderxError } from '../errors.ts'
import { bytesOf } from './bytes.ts'
import { dtypeInfo } from './dtype.ts'
import { arrayOf, checkArray, isNDArray, type NDArray } from './ndarray.ts'
import { type Elements, packRows, pull } from './rows.ts'

/** How a source is read. */
export interface BlockOptions {
  /** The most bytes of a block, but at least one row whatever its size. */
  readonly maxBytes: number
  /** Ends the reading; the iteration rejects with its reason. */
  readonly signal?: AbortSignal | undefined
}

/** Rows of one dtype and shape that can be read in order, a block at a time. */
export interface RowSource {
  /** A dtype by name (`float32`), or as NumPy's string (`>f4`) where the blocks are in big-endian order. */
  readonly dtype: string
  /** Shape of one row; empty for scalars. */
  readonly rowShape: readonly number[]
  /** Number of rows, where it is known beforehand. */
  readonly length?: number | undefined
  /**
   * The rows as blocks of whole rows, each row in C order. A block belongs to the reader until it asks for the next
   * one; then its memory may be filled again.
   */
  blocks(options: BlockOptions): AsyncIterable<Uint8Array>
}

/**
 * What `Dataset.write` takes: a {@link RowSource} such as an open .npy file; an array, whose first dimension counts
 * the rows; a typed array of scalars; or any iterable of arrays or typed arrays, each one row (with `blocks: true`:
 * each a block of rows). An iterable may fill the same array again and again: what it gives is copied at once.
 */
export type RowInput =
  | RowSource
  | NDArray
  | ArrayBufferView
  | Iterable<NDArray | ArrayBufferView>
  | AsyncIterable<NDArray | ArrayBufferView>

/** A source with what has to be done when it is no longer read. */
export interface OpenSource extends RowSource {
  close(): Promise<void>
}

const nothing = async (): Promise<void> => {}

/** Bytes of one row. @throws LOADERX_UNSUPPORTED_DTYPE */
export function rowBytes(source: Pick<RowSource, 'dtype' | 'rowShape'>): number {
  return source.rowShape.reduce((bytes, dimension) => bytes * dimension, dtypeInfo(source.dtype, 'source').itemBytes)
}

/**
 * Makes a source of any {@link RowInput}. Of an iterable the first element is taken, because dtype and shape are
 * known only then.
 * @param blocks whether each element of an iterable is a block of rows and not one row
 * @throws LOADERX_INVALID_ARGUMENT, LOADERX_UNSUPPORTED_DTYPE, LOADERX_SCHEMA_MISMATCH
 */
export async function openSource(input: RowInput, blocks: boolean, signal?: AbortSignal): Promise<OpenSource> {
  if (isRowSource(input)) {
    const { dtype, rowShape, length } = input
    return { dtype, rowShape, length, blocks: (options) => input.blocks(options), close: nothing }
  }
  if (ArrayBuffer.isView(input)) return listSource([toArray(input, 'source')], true)
  if (isNDArray(input)) {
    checkArray(input, 'source')
    return listSource([input], true)
  }
  if (Array.isArray(input))
    return listSource(
      input.map((element, i) => toArray(element, `element ${i}`)),
      blocks,
    )
  if (typeof input === 'object' && input !== null) {
    if (Symbol.asyncIterator in input) return iteratorSource(input[Symbol.asyncIterator](), blocks, signal)
    if (Symbol.iterator in input) return iteratorSource(input[Symbol.iterator](), blocks, signal)
  }
  throw notRows(
    'source',
    input,
    'give an array ({ dtype, shape, data }), a typed array, openNpy(…), or an iterable of arrays',
  )
}

function isRowSource(value: unknown): value is RowSource {
  return typeof value === 'object' && value !== null && 'rowShape' in value && 'blocks' in value
}

function notRows(where: string, value: unknown, advice: string): LoaderxError {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'plain array' : typeof value
  return new LoaderxError('LOADERX_INVALID_ARGUMENT', `${where} is a ${actual}, which has no dtype; ${advice}`, {
    actual,
  })
}

function toArray(element: unknown, where: string): NDArray {
  if (ArrayBuffer.isView(element)) return arrayOf(element)
  if (!isNDArray(element)) {
    throw notRows(
      where,
      element,
      'give arrays ({ dtype, shape, data }) or typed arrays; put plain numbers into a typed array',
    )
  }
  checkArray(element, where)
  return element
}

/** Dtype and row shape of one element of an iterable. */
interface RowType {
  readonly dtype: string
  readonly rowShape: readonly number[]
}

function rowType(array: NDArray, blocks: boolean, where: string): RowType {
  if (!blocks) return { dtype: array.dtype, rowShape: array.shape }
  if (array.shape.length > 0) return { dtype: array.dtype, rowShape: array.shape.slice(1) }
  throw new LoaderxError(
    'LOADERX_INVALID_ARGUMENT',
    `${where} is an array without dimensions, so it has no rows; give it the shape [1, …]`,
    { actual: [] },
  )
}

function checkSame(type: RowType, first: RowType, where: string, position: number): void {
  const expected = `${first.dtype} [${first.rowShape.join(', ')}]`
  const actual = `${type.dtype} [${type.rowShape.join(', ')}]`
  if (actual === expected) return
  throw new LoaderxError(
    'LOADERX_SCHEMA_MISMATCH',
    `${where} has rows of ${actual}, but element 0 has rows of ${expected}; all rows of a dataset are alike`,
    { position, expected, actual },
  )
}

function noElements(): LoaderxError {
  return new LoaderxError(
    'LOADERX_INVALID_ARGUMENT',
    'source has no elements, so its dtype and shape are not known; to make an empty dataset give an array of shape [0, …]',
  )
}

function listSource(arrays: readonly NDArray[], blocks: boolean): OpenSource {
  const first = arrays[0]
  if (first === undefined) throw noElements()
  const type = rowType(first, blocks, 'source')
  let length = 0
  for (const [i, array] of arrays.entries()) {
    checkSame(rowType(array, blocks, `element ${i}`), type, `element ${i}`, i)
    length += blocks ? array.shape[0]! : 1
  }
  const elements = (): Elements => arrays.map((array) => bytesOf(array.data))[Symbol.iterator]()
  return {
    ...type,
    length,
    blocks: ({ maxBytes, signal }) => packRows(elements(), rowBytes(type), maxBytes, signal),
    close: nothing,
  }
}

async function iteratorSource(
  iterator: Iterator<unknown> | AsyncIterator<unknown>,
  blocks: boolean,
  signal: AbortSignal | undefined,
): Promise<OpenSource> {
  let ended = false
  let position = 0
  let type: RowType | undefined
  const close = async (): Promise<void> => {
    if (ended) return
    ended = true
    const closing = iterator.return?.()
    // An iterator that still works on an element answers when that is done, maybe never: an abort does not wait.
    if (signal?.aborted) Promise.resolve(closing).catch(nothing)
    else await closing
  }
  const next = async (): Promise<Uint8Array | undefined> => {
    let result: IteratorResult<unknown>
    try {
      result = await pull(iterator, signal)
    } catch (cause) {
      ended = !signal?.aborted
      throw cause
    }
    if (result.done) {
      ended = true
      return undefined
    }
    const where = `element ${position}`
    const array = toArray(result.value, where)
    const found = rowType(array, blocks, where)
    type ??= found
    checkSame(found, type, where, position++)
    return bytesOf(array.data)
  }
  try {
    let first = await next()
    if (type === undefined) throw noElements()
    const rest: Elements = {
      async next() {
        const value = first ?? (await next())
        first = undefined
        return value === undefined ? { done: true, value } : { done: false, value }
      },
    }
    const { dtype, rowShape } = type
    return {
      dtype,
      rowShape,
      length: undefined,
      blocks: ({ maxBytes }) => packRows(rest, rowBytes({ dtype, rowShape }), maxBytes, signal),
      close,
    }
  } catch (cause) {
    await close()
    throw cause
  }
}
