// formats/: files of other systems. This file: NumPy's .npy as a source of rows, streamed with a bounded buffer.

import { swapBytes } from '../dataset/bytes.ts'
import type { DType, DTypeInfo } from '../dataset/dtype.ts'
import type { BlockOptions, RowSource } from '../dataset/source.ts'
import { LoaderxError } from '../errors.ts'
import { openPlainFile, type StoreFile } from '../storage/files.ts'
import { columnPlaces, type FortranLayout, fortranBlockRows, placeColumns, planColumns } from './fortran.ts'
import { cutHeader, NPY_PREAMBLE_BYTES, type NpyHeader, npyPreamble, parseNpyHeader } from './npy-header.ts'

/** Reads shorter than this are made at once; a call through the thread pool would cost more than the bytes. */
const SYNC_BYTES = 2 ** 18

interface Opened extends NpyHeader {
  readonly file: StoreFile
  /** Position of the first byte of the data. */
  readonly start: number
  /** The text of the header. */
  readonly text: string
}

async function openFile(path: string): Promise<Opened> {
  const file = openPlainFile(path)
  if (file === undefined) {
    throw new LoaderxError('LOADERX_INVALID_NPY', `${path} is not a plain file; give the path of a .npy file`, { path })
  }
  try {
    const size = file.size()
    const first = new Uint8Array(Math.min(NPY_PREAMBLE_BYTES, size))
    await file.read(first, 0)
    const { start, length, encoding } = npyPreamble(first, path)
    if (size < start + length) throw cutHeader(path, start + length, size)
    const bytes = new Uint8Array(length)
    await file.read(bytes, start)
    const text = new TextDecoder(encoding).decode(bytes)
    const header = parseNpyHeader(text, path)
    const dataBytes = header.shape.reduce((product, dimension) => product * dimension, header.dtype.itemBytes)
    if (size < start + length + dataBytes) throw cutData(path, header, dataBytes, size - start - length)
    return { ...header, file, start: start + length, text }
  } catch (cause) {
    file.close()
    throw cause
  }
}

function cutData(path: string, header: NpyHeader, expected: number, actual: number): LoaderxError {
  return new LoaderxError(
    'LOADERX_TRUNCATED',
    `${path} holds ${actual} bytes of data, but ${header.dtype.name} of shape (${header.shape.join(', ')}) needs ${expected}: the file was cut; copy it again`,
    { path, expected, actual },
  )
}

/** Internal: the rows of `file` from row `first` on. */
export let npyRowsFrom: (file: NpyFile, first: number) => RowSource & { readonly length: number }

/**
 * A .npy file as a {@link RowSource}: the first dimension counts the rows. Big-endian data is given in little-endian
 * order and Fortran order in C order. The file is open only while it is read, so there is nothing to close.
 */
export interface NpyFile extends RowSource {
  /** The path that was opened. */
  readonly path: string
  readonly dtype: DType
  /** Shape of the whole array. */
  readonly shape: readonly number[]
  /** Number of rows: the first dimension. */
  readonly length: number
  /** Whether the file is in Fortran order. */
  readonly fortranOrder: boolean
  /**
   * The rows, a block at a time; a block belongs to the reader until it asks for the next one.
   * @throws LOADERX_TRUNCATED, LOADERX_INVALID_NPY when the file has changed since it was opened, LOADERX_IO
   */
  blocks(options: BlockOptions): AsyncGenerator<Uint8Array, void, undefined>
}

class NpyRows implements NpyFile {
  readonly path: string
  readonly dtype: DType
  readonly shape: readonly number[]
  readonly rowShape: readonly number[]
  readonly length: number
  readonly fortranOrder: boolean
  readonly #text: string

  static {
    npyRowsFrom = (file, first) => ({
      dtype: file.dtype,
      rowShape: file.rowShape,
      length: file.length - first,
      blocks: (options) => (file as NpyRows).#read(options, first),
    })
  }

  constructor(path: string, header: NpyHeader, text: string) {
    this.path = path
    this.dtype = header.dtype.name
    this.shape = header.shape
    this.rowShape = header.shape.slice(1)
    this.length = header.shape[0]!
    this.fortranOrder = header.fortranOrder
    this.#text = text
  }

  blocks(options: BlockOptions): AsyncGenerator<Uint8Array, void, undefined> {
    return this.#read(options, 0)
  }

  async *#read(options: BlockOptions, first: number): AsyncGenerator<Uint8Array, void, undefined> {
    options.signal?.throwIfAborted()
    const opened = await openFile(this.path)
    try {
      if (opened.text !== this.#text) {
        throw new LoaderxError(
          'LOADERX_INVALID_NPY',
          `${this.path} has another header than when it was opened: the file was replaced meanwhile; open it again`,
          { path: this.path },
        )
      }
      const columns = this.rowShape.reduce((product, dimension) => product * dimension, 1)
      if (columns === 0) return
      const layout = { rows: this.length, columns, itemBytes: opened.dtype.itemBytes }
      const blocks =
        this.fortranOrder && columns > 1
          ? readColumns(opened, layout, this.rowShape, first, options)
          : readRows(opened, layout, first, options)
      for await (const block of blocks) yield swapped(block, opened.dtype)
    } finally {
      opened.file.close()
    }
  }
}

function swapped(block: Uint8Array, dtype: DTypeInfo): Uint8Array {
  if (dtype.bigEndian) swapBytes(block, dtype.elementBytes)
  return block
}

async function read(file: StoreFile, into: Uint8Array, position: number): Promise<void> {
  if (into.byteLength < SYNC_BYTES) file.readSync(into, position)
  else await file.read(into, position)
}

async function* readRows(
  { file, start }: Opened,
  { rows, columns, itemBytes }: FortranLayout,
  first: number,
  { maxBytes, signal }: BlockOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const rowBytes = columns * itemBytes
  const blockRows = Math.min(rows, Math.max(1, Math.floor(maxBytes / rowBytes)))
  const buffer = new Uint8Array(blockRows * rowBytes)
  for (let row = first; row < rows; row += blockRows) {
    signal?.throwIfAborted()
    const block = buffer.subarray(0, Math.min(blockRows, rows - row) * rowBytes)
    await read(file, block, start + row * rowBytes)
    yield block
  }
}

async function* readColumns(
  { file, start }: Opened,
  layout: FortranLayout,
  rowShape: readonly number[],
  first: number,
  { maxBytes, signal }: BlockOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { rows, columns, itemBytes } = layout
  const places = columnPlaces(rowShape)
  const blockRows = Math.min(rows, fortranBlockRows(layout, maxBytes))
  const buffer = new Uint8Array(blockRows * columns * itemBytes)
  let scratch = new Uint8Array(0)
  for (let row = first; row < rows; row += blockRows) {
    const count = Math.min(blockRows, rows - row)
    for (const piece of planColumns(layout, row, count)) {
      signal?.throwIfAborted()
      const bytes = piece.columns * piece.stride * itemBytes
      if (scratch.length < bytes) scratch = new Uint8Array(bytes)
      for (const { position, bytes, at } of piece.reads)
        await read(file, scratch.subarray(at, at + bytes), start + position)
      placeColumns(buffer, scratch, piece, places, itemBytes, count)
    }
    yield buffer.subarray(0, count * columns * itemBytes)
  }
}

/**
 * Reads and checks the header of the .npy file at `path` (versions 1.0, 2.0, 3.0).
 * @throws LOADERX_NOT_FOUND, LOADERX_INVALID_NPY, LOADERX_NEWER_VERSION, LOADERX_TRUNCATED when the file is shorter than
 * its header says, LOADERX_UNSUPPORTED_DTYPE for objects, structured dtypes and longdouble, LOADERX_IO
 */
export async function openNpy(path: string): Promise<NpyFile> {
  const opened = await openFile(path)
  opened.file.close()
  return new NpyRows(path, opened, opened.text)
}
