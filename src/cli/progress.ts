// cli/: how far a long work has come: a line that is drawn anew on a terminal, else a line now and then.

import { count, counted, speed, type Terminal } from './output.ts'

/** How far it is. */
export interface Stage {
  readonly rows: number
  readonly totalRows: number
  readonly bytes: number
  /** Since the work began. */
  readonly seconds: number
}

const REDRAW_MS = 100
const LINE_MS = 2000
const BAR_COLUMNS = 40
const MIN_BAR_COLUMNS = 8
const CLEAR = '\r\x1b[2K'

/** `0:07`, `12:34`, `1:02:03` */
export function clock(seconds: number): string {
  const whole = Math.ceil(seconds)
  const pad = (value: number): string => String(value).padStart(2, '0')
  const minutes = Math.floor(whole / 60)
  if (minutes < 60) return `${minutes}:${pad(whole % 60)}`
  return `${Math.floor(minutes / 60)}:${pad(minutes % 60)}:${pad(whole % 60)}`
}

function remaining({ rows, totalRows, seconds }: Stage): number | undefined {
  return rows === 0 ? undefined : (seconds / rows) * (totalRows - rows)
}

function percentDone({ rows, totalRows }: Stage): number {
  return Math.floor((100 * rows) / totalRows)
}

/** A line for a log. */
export function stageLine(stage: Stage): string {
  const left = remaining(stage)
  const rate = stage.seconds > 0 && stage.bytes > 0 ? `, ${speed(stage.bytes / stage.seconds)}` : ''
  const eta = left === undefined || stage.rows === stage.totalRows ? '' : `, ${clock(left)} left`
  return `${percentDone(stage)}% (${count(stage.rows)} of ${counted(stage.totalRows, 'row')})${rate}${eta}`
}

/** A line for a terminal: what does not fit into its width is left out, the bar first. */
export function stageBar(stage: Stage, { columns, unicode, colors }: Terminal): string {
  const left = remaining(stage)
  const total = count(stage.totalRows)
  const parts = [
    `${String(percentDone(stage)).padStart(3)}%`,
    `ETA ${left === undefined ? '-:--' : clock(left)}`,
    stage.bytes === 0 ? ' -.- MB/s' : speed(stage.bytes / stage.seconds).padStart(9),
    `${count(stage.rows).padStart(total.length)}/${total} rows`,
  ]
  // What the terminal itself writes at the end, ^C, must not begin a new line.
  const room = columns - 3
  while (parts.length > 1 && parts.join('  ').length > room) parts.pop()
  const [done, eta, rate, rows] = parts
  const text = [rows, rate, eta].filter((part) => part !== undefined).join('  ')
  const width = Math.min(BAR_COLUMNS, room - parts.join('  ').length - 2)
  if (width < MIN_BAR_COLUMNS) return parts.length > 1 ? `${done}  ${text}` : done!
  const filled = Math.floor((width * stage.rows) / stage.totalRows)
  const [full, empty] = unicode ? ['█', '░'] : ['#', '.']
  const bar = [full.repeat(filled), empty.repeat(width - filled)]
  const drawn = colors ? `\x1b[36m${bar[0]}\x1b[90m${bar[1]}\x1b[0m` : bar.join('')
  return [done, drawn, ...(parts.length > 1 ? [text] : [])].join('  ')
}

/** Where progress is shown, and how. */
export interface ProgressOutput {
  write(text: string): void
  /** What the output can show now; a window may change its width. */
  terminal(): Terminal
  /** Milliseconds of a clock that only goes forward. */
  now(): number
}

/** Shows the stages of one work. */
export class Progress {
  readonly #output: ProgressOutput
  readonly #started: number
  #shown = Number.NEGATIVE_INFINITY
  #drawn = false

  constructor(output: ProgressOutput, totalRows: number) {
    this.#output = output
    this.#started = output.now()
    if (output.terminal().live && totalRows > 0) this.update({ rows: 0, bytes: 0, totalRows })
  }

  /** Shows a stage, unless one was shown just before; the last one always. */
  update(stage: Omit<Stage, 'seconds'>): void {
    const now = this.#output.now()
    const terminal = this.#output.terminal()
    const last = stage.rows === stage.totalRows
    if (!last && now - this.#shown < (terminal.live ? REDRAW_MS : LINE_MS)) return
    this.#shown = now
    const full = { ...stage, seconds: (now - this.#started) / 1000 }
    this.#output.write(terminal.live ? `${CLEAR}${stageBar(full, terminal)}` : `${stageLine(full)}\n`)
    this.#drawn = terminal.live
  }

  /** Takes the drawn line away. */
  clear(): void {
    if (this.#drawn) this.#output.write(CLEAR)
    this.#drawn = false
  }
}
