// formats/: files of other systems. This file: rows out of an array stored in Fortran order (first index fastest), a
// block at a time. Such a file is a sequence of columns; a block of rows is a short run of each.

/** Bytes that are read before they are put in place; also bounds the rows of one block. */
const PIECE_BYTES = 2 ** 22
/** Bytes between two runs that are read along rather than with a call of their own. */
const GAP_BYTES = 2 ** 14

/** Runs of neighbouring columns that are read together. Positions are relative to the first byte of the data. */
export interface ColumnPiece {
  /** First column, in the order of the file. */
  readonly first: number
  readonly columns: number
  /** Items from one run to the next once they are read. */
  readonly stride: number
  readonly reads: readonly { readonly position: number; readonly bytes: number; readonly at: number }[]
}

/** An array in Fortran order: rows, columns (items of a row) and bytes of an item. */
export interface FortranLayout {
  readonly rows: number
  readonly columns: number
  readonly itemBytes: number
}

/** Rows of a block, so that neither it nor a run of it is larger than is held at a time. */
export function fortranBlockRows(layout: FortranLayout, maxBytes: number): number {
  const { columns, itemBytes } = layout
  return Math.max(1, Math.floor(Math.min(maxBytes / (columns * itemBytes), PIECE_BYTES / itemBytes)))
}

/**
 * What has to be read for `count` rows from `from`: one call for each run, or, where runs lie close together, one call
 * for many of them and what is between.
 */
export function* planColumns(layout: FortranLayout, from: number, count: number): Generator<ColumnPiece> {
  const { rows, columns, itemBytes } = layout
  const together = (rows - count) * itemBytes <= GAP_BYTES
  const stride = together ? rows : count
  const most = Math.max(1, Math.floor(PIECE_BYTES / (stride * itemBytes)))
  for (let first = 0; first < columns; first += most) {
    const some = Math.min(most, columns - first)
    const position = (column: number): number => (column * rows + from) * itemBytes
    const reads = together
      ? [{ position: position(first), bytes: ((some - 1) * rows + count) * itemBytes, at: 0 }]
      : Array.from({ length: some }, (_, i) => ({
          position: position(first + i),
          bytes: count * itemBytes,
          at: i * count * itemBytes,
        }))
    yield { first, columns: some, stride, reads }
  }
}

/** For each column in the order of the file, its place in a row in C order. */
export function columnPlaces(rowShape: readonly number[]): Uint32Array {
  const strides = rowShape.map((_, i) => rowShape.slice(i + 1).reduce((a, b) => a * b, 1))
  const places = new Uint32Array(rowShape.reduce((a, b) => a * b, 1))
  const index = rowShape.map(() => 0)
  let place = 0
  for (let column = 0; column < places.length; column++) {
    places[column] = place
    for (let axis = 0; axis < index.length; axis++) {
      place += strides[axis]!
      if (++index[axis]! < rowShape[axis]!) break
      place -= index[axis]! * strides[axis]!
      index[axis] = 0
    }
  }
  return places
}

type Words = Uint8Array | Uint16Array | Uint32Array

function wordsOf(bytes: Uint8Array, itemBytes: number): Words {
  if (itemBytes % 4 === 0) return new Uint32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4))
  if (itemBytes % 2 === 0) return new Uint16Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 2))
  return bytes
}

/** Rows that are put in place together, so that what is read and what is written stays in the cache. */
const TILE_ROWS = 64

/**
 * Puts the runs of a piece into their rows.
 * @param block `count` rows in C order; as `scratch`, it starts at a multiple of 4
 * @param scratch the bytes of the piece
 */
export function placeColumns(
  block: Uint8Array,
  scratch: Uint8Array,
  piece: ColumnPiece,
  places: Uint32Array,
  itemBytes: number,
  count: number,
): void {
  const out = wordsOf(block, itemBytes)
  const source = wordsOf(scratch, itemBytes)
  const words = itemBytes / out.BYTES_PER_ELEMENT
  const rowWords = places.length * words
  for (let tile = 0; tile < count; tile += TILE_ROWS) {
    const end = Math.min(count, tile + TILE_ROWS)
    for (let i = 0; i < piece.columns; i++) {
      let from = (i * piece.stride + tile) * words
      let to = tile * rowWords + places[piece.first + i]! * words
      if (words === 1) {
        for (let row = tile; row < end; row++, to += rowWords) out[to] = source[from++]!
        continue
      }
      for (let row = tile; row < end; row++, to += rowWords) {
        for (let word = 0; word < words; word++) out[to + word] = source[from++]!
      }
    }
  }
}
