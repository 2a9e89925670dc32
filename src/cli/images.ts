// cli/: grey pictures made of characters. Pure.

import type { Terminal } from './output.ts'

/** One picture: bytes by rows. */
export interface Picture {
  readonly title: string
  readonly pixels: Uint8Array
  readonly width: number
  readonly height: number
}

const SHADES = [...' ░▒▓█']
const ASCII = [...' .:-=+*#%@']
/** First and last of the 24 greys among the 256 colours. */
const GREYS = [232, 255] as const
/** Small pictures are enlarged to about this many characters. */
const GOOD_COLUMNS = 16
const MAX_LINES = 40
const GAP = '   '

/** A cell is one character; half blocks show two pixels of a column in it, the other styles half a pixel of a row. */
type Style = 'half' | 'shade' | 'ascii'

function styleOf({ unicode, colors }: Terminal): Style {
  return unicode ? (colors ? 'half' : 'shade') : 'ascii'
}

/** Pictures beside each other as far as they fit, each under its title. Brighter is more; `most` is the brightest. */
export function galleryLines(pictures: readonly Picture[], most: number, terminal: Terminal): string[] {
  const style = styleOf(terminal)
  const lines: string[] = []
  for (let first = 0; first < pictures.length; ) {
    const { columns } = sizeOf(pictures[first]!, style, terminal.columns)
    const perLine = Math.max(1, Math.floor((terminal.columns + GAP.length) / (columns + GAP.length)))
    const some = pictures.slice(first, first + perLine)
    const drawn = some.map((picture) => drawPicture(picture, most, style, terminal.columns))
    lines.push(
      some
        .map(({ title }) => title.slice(0, columns).padEnd(columns))
        .join(GAP)
        .trimEnd(),
    )
    for (let line = 0; line < drawn[0]!.length; line++) {
      const text = drawn.map((one) => one[line]!).join(GAP)
      lines.push(style === 'half' ? text : text.trimEnd())
    }
    lines.push('')
    first += perLine
  }
  return lines.slice(0, -1)
}

/** Size of a picture in characters. */
function sizeOf({ width, height }: Picture, style: Style, most: number): { columns: number; lines: number } {
  const across = style === 'half' ? 1 : 2
  const enlarged = Math.max(1, Math.floor(GOOD_COLUMNS / Math.max(width * across, height)))
  const scale = Math.min(enlarged, most / (width * across), (MAX_LINES * (3 - across)) / height)
  const pixelsAcross = Math.max(1, Math.floor(width * scale))
  const pixelsDown = Math.max(1, Math.round(height * scale))
  return { columns: pixelsAcross * across, lines: style === 'half' ? Math.ceil(pixelsDown / 2) : pixelsDown }
}

function drawPicture(picture: Picture, most: number, style: Style, room: number): string[] {
  const { columns, lines } = sizeOf(picture, style, room)
  if (style === 'half') {
    const levels = resample(picture, columns, lines * 2, most)
    return Array.from({ length: lines }, (_, line) => halfBlocks(levels, line, columns))
  }
  const ramp = style === 'shade' ? SHADES : ASCII
  const across = columns / 2
  const levels = resample(picture, across, lines, most)
  return Array.from({ length: lines }, (_, line) =>
    Array.from({ length: across }, (_, x) =>
      ramp[Math.round(levels[line * across + x]! * (ramp.length - 1))]!.repeat(2),
    ).join(''),
  )
}

/** The picture as `columns` × `rows` means of its pixels, 0 … 1. */
function resample({ pixels, width, height }: Picture, columns: number, rows: number, most: number): Float64Array {
  const levels = new Float64Array(columns * rows)
  for (let y = 0; y < rows; y++) {
    const [top, bottom] = span(y, rows, height)
    for (let x = 0; x < columns; x++) {
      const [left, right] = span(x, columns, width)
      let sum = 0
      for (let row = top; row < bottom; row++) for (let at = left; at < right; at++) sum += pixels[row * width + at]!
      levels[y * columns + x] = sum / ((bottom - top) * (right - left) * most)
    }
  }
  return levels
}

/** The pixels of `all` that part `index` of `parts` covers, at least one. */
function span(index: number, parts: number, all: number): readonly [from: number, to: number] {
  const from = Math.floor((index * all) / parts)
  return [from, Math.max(from + 1, Math.floor(((index + 1) * all) / parts))]
}

function halfBlocks(levels: Float64Array, line: number, columns: number): string {
  const grey = (row: number, x: number): number =>
    GREYS[0] + Math.round(levels[row * columns + x]! * (GREYS[1] - GREYS[0]))
  let text = ''
  let before = ''
  for (let x = 0; x < columns; x++) {
    const colors = `\x1b[38;5;${grey(2 * line, x)};48;5;${grey(2 * line + 1, x)}m`
    text += colors === before ? '▀' : `${colors}▀`
    before = colors
  }
  return `${text}\x1b[0m`
}
