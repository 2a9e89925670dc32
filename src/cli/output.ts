// cli/: what commands print. This file: the two outputs, what the terminal can show, and numbers for people.

/** Writes a line to standard output: the result. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Writes a line to standard error: everything that is not the result. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** What the receiver of an output can show. */
export interface Terminal {
  /** Whether it is a terminal on which a line can be drawn anew. */
  readonly live: boolean
  /** Characters in a line. */
  readonly columns: number
  /** Whether characters beyond ASCII arrive. */
  readonly unicode: boolean
  /** Whether 256 colours are wanted and there. */
  readonly colors: boolean
}

type Stream = Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'getColorDepth'>

/** Looks at `stream`. Where its width is not known, COLUMNS or 80 is taken. */
export function terminalOf(stream: Stream, env: NodeJS.ProcessEnv = process.env): Terminal {
  const live = stream.isTTY === true && env['TERM'] !== 'dumb'
  const columns = stream.columns || Number.parseInt(env['COLUMNS'] ?? '', 10) || 80
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || ''
  const utf8 = process.platform === 'win32' ? env['WT_SESSION'] !== undefined : /utf-?8/i.test(locale)
  // Node takes an empty NO_COLOR for a set one.
  const { NO_COLOR: noColor, ...others } = env
  const colors = live && !noColor && stream.getColorDepth(others) >= 8
  return { live, columns: Math.max(columns, 10), unicode: live && utf8, colors }
}

/** `60,000` */
export function count(value: number): string {
  return value.toLocaleString('en-US')
}

/** `1 row`, `60,000 rows` */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const

/** `117,608 bytes (114.9 KiB)` */
export function bytes(value: number): string {
  if (value < 1024) return counted(value, 'byte')
  const power = Math.min(UNITS.length, Math.floor(Math.log2(value) / 10))
  return `${counted(value, 'byte')} (${(value / 1024 ** power).toFixed(1)} ${UNITS[power - 1]})`
}

/** `57.2 MB/s`, in 10^6 bytes. */
export function speed(bytesPerSecond: number): string {
  const millions = bytesPerSecond / 1e6
  return `${millions >= 1000 ? count(Math.round(millions)) : millions.toFixed(1)} MB/s`
}

/** `63.9 %` */
export function percent(ratio: number): string {
  return `${(100 * ratio).toFixed(1)} %`
}

/** Lines of two columns: a name and its value. */
export function factLines(facts: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...facts.map(([name]) => name.length)) + 2
  return facts.map(([name, value]) => `${name.padEnd(width)}${value}`).join('\n')
}

/** Lines of columns with a title each. All but the last column are aligned to the right. */
export function tableLines(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [titles, ...rows]
  const widths = titles.map((_, column) => Math.max(...all.map((row) => row[column]!.length)))
  const last = titles.length - 1
  return all.map((row) => row.map((cell, i) => (i === last ? cell : cell.padStart(widths[i]!))).join('  '))
}

/** `text`, cut to `columns` characters. */
export function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 3))}...`
}

/** `argument` as a shell takes it. */
export function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`
}
