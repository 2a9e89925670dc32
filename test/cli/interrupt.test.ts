// An import that is interrupted or killed leaves whole samples only, equal to the first rows of its source.
import { spawnSync } from 'node:child_process'
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { Dataset, openNpy } from 'loaderx'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { noise, writeNpy } from '../support/bytes.ts'
import { cli, cliArguments } from '../support/cli.ts'
import { needs, parts } from '../support/parts.ts'
import { tempDir } from '../support/stores.ts'

const ROW = 784
const BLOCK_ROWS = 4096
const ROWS = 96 * BLOCK_ROWS

let big: string
let dir: string

/** About 300 MB: noise, in which each row begins with its own number, so that rows cannot be mistaken. */
beforeAll(() => {
  big = writeNpy(join(tempDir(), 'big.npy'), '|u1', [ROWS, ROW], new Uint8Array(0))
  const block = Buffer.from(noise(BLOCK_ROWS * ROW, 1))
  for (let first = 0; first < ROWS; first += BLOCK_ROWS) {
    for (let row = 0; row < BLOCK_ROWS; row++) block.writeUInt32LE(first + row, row * ROW)
    appendFileSync(big, block)
  }
})

beforeEach(() => {
  dir = tempDir()
})

/** Checks that the samples are the first rows of the source and gives their number. */
async function wholeSamples(store: string): Promise<number> {
  const dataset = await Dataset.open(store)
  try {
    expect([dataset.dtype, dataset.shape]).toEqual(['uint8', [ROW]])
    let first = 0
    for await (const block of (await openNpy(big)).blocks({ maxBytes: 2 ** 23 })) {
      const { data } = await dataset.slice(first, first + block.length / ROW)
      expect(Buffer.compare(Buffer.from(data.buffer, 0, data.length), block.subarray(0, data.length))).toBe(0)
      first += data.length / ROW
      if (data.length < block.length) break
    }
    expect(first).toBe(dataset.length)
    return first
  } finally {
    await dataset.close()
  }
}

/** Imports and sends `signal` when the first line of progress shows. */
function importUntil(signal: NodeJS.Signals, ...options: string[]): ReturnType<typeof cli> {
  let sent = false
  return cli(['import', big, 'd.zr', ...options], {
    cwd: dir,
    onError: (stderr, child) => {
      if (!sent && /\d% \(.*\n/.test(stderr)) sent = child.kill(signal)
    },
  })
}

describe('SIGINT', () => {
  it('ends an import with exit code 130 and the command that goes on, which does', async () => {
    const { code, stdout, stderr } = await importUntil('SIGINT')
    expect([code, stdout]).toEqual([130, ''])
    const [, said, skip] =
      /interrupted: d\.zr has ([\d,]+) whole samples \[INTERRUPTED\]\nTo go on: loaderx import \S+ d\.zr --skip (\d+)\n$/.exec(
        stderr,
      ) ?? [stderr]
    const samples = await wholeSamples(join(dir, 'd.zr'))
    expect([said?.replaceAll(',', ''), skip]).toEqual([String(samples), String(samples)])
    expect(samples).toBeGreaterThan(0)
    expect(samples).toBeLessThan(ROWS)
    // Nearly all of the rest is skipped: what counts is that the next row is the one that follows.
    const rest = await cli(['import', big, 'd.zr', '--skip', skip!, '--chunk-bytes', '64KiB'], {
      cwd: dir,
      onError: (text, child) => {
        if (/\d% \(.*\n/.test(text)) child.kill('SIGINT')
      },
    })
    expect(rest.stderr).toContain(`d.zr has ${said} samples of uint8 [784]; the rows go behind them`)
    expect(await wholeSamples(join(dir, 'd.zr'))).toBeGreaterThan(samples)
  })

  it('says so in JSON, too', async () => {
    const { code, stdout } = await importUntil('SIGINT', '--json')
    const samples = await wholeSamples(join(dir, 'd.zr'))
    const details = { path: join(dir, 'd.zr'), rows: samples, samples }
    expect([code, JSON.parse(stdout)]).toEqual([
      130,
      { error: { code: 'INTERRUPTED', message: expect.stringContaining('whole samples'), details } },
    ])
  })

  it('twice exits at once', async () => {
    let sent = 0
    const { code, stderr } = await cli(['import', big, 'd.zr'], {
      cwd: dir,
      onError: (text, child) => {
        if (sent === 0 && /\d% \(.*\n/.test(text)) sent += Number(child.kill('SIGINT'))
        if (sent === 1 && text.includes('stopping; Ctrl-C again exits at once')) sent += Number(child.kill('SIGINT'))
      },
    })
    expect([code, sent]).toEqual([130, 2])
    expect(stderr).toContain('stopping')
    expect(await wholeSamples(join(dir, 'd.zr'))).toBeLessThan(ROWS)
  })
})

it('SIGKILL leaves whole samples', async () => {
  const { signal } = await importUntil('SIGKILL', '--chunk-bytes', '1MiB')
  expect(signal).toBe('SIGKILL')
  const samples = await wholeSamples(join(dir, 'd.zr'))
  expect(samples).toBeGreaterThan(0)
  expect(samples).toBeLessThan(ROWS)
})

needs('python').describe('on a terminal', () => {
  const ESC = '\x1b'
  const pty = new URL('../support/terminal.py', import.meta.url).pathname

  /** What the terminal got. */
  function terminal(columns: number, trigger: string, keys: string, args: string[], env: NodeJS.ProcessEnv = {}) {
    const program = [process.execPath, ...cliArguments(args)]
    const { stdout, stderr } = spawnSync(parts.python!, [pty, String(columns), trigger, keys, ...program], {
      cwd: dir,
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
      env: {
        ...process.env,
        TERM: 'xterm-256color',
        LC_ALL: 'C.UTF-8',
        NO_COLOR: '',
        FORCE_COLOR: undefined,
        CI: undefined,
        ...env,
      },
    })
    expect(stderr).toBe('')
    const [code, ...lines] = stdout.split('\n')
    return { code: Number(code), text: lines.join('\n') }
  }

  /** The lines that were drawn over each other. */
  const drawn = (text: string): string[] =>
    [...text.matchAll(new RegExp(`\\r${ESC}\\[2K([^\\r\\n]*)`, 'g'))].map((match) => match[1]!)

  it.each([120, 40])('of %i columns: one line that is drawn anew, and Ctrl-C', async (columns) => {
    const { code, text } = terminal(columns, ' [1-9]%.*ETA \\d', '\\x03', ['import', big, 'd.zr'])
    expect(code).toBe(130)
    const lines = drawn(text)
    expect(lines[0]).toMatch(/^ {2}0% /)
    const widths = lines.map((line) => stripVTControlCharacters(line).replace(/\^C$/, '').length)
    expect(Math.max(...widths)).toBeLessThanOrEqual(columns - 3)
    expect(lines.some((line) => line.includes(`${ESC}[36m`) && line.includes('░'))).toBe(true)
    // The line is gone before anything else is said.
    expect(text).toMatch(new RegExp(`\\r${ESC}\\[2Kstopping`))
    expect(text).toMatch(/whole samples \[INTERRUPTED\]\r\nTo go on: loaderx import /)
    expect(await wholeSamples(join(dir, 'd.zr'))).toBeGreaterThan(0)
  })

  it('that wants no colours gets none', () => {
    const { code, text } = terminal(80, ' [1-9]%.*ETA', '\\x03', ['import', big, 'd.zr'], { NO_COLOR: '1' })
    expect(code).toBe(130)
    expect(text).toContain('░')
    expect(text.replaceAll(`${ESC}[2K`, '')).not.toContain(ESC)
  })

  it('that cannot draw a line anew gets plain ones', () => {
    const { text } = terminal(80, '%.*rows', '\\x03', ['import', big, 'd.zr'], { TERM: 'dumb' })
    expect(text).not.toContain(ESC)
    expect(text).toMatch(/^\d+% \([\d,]+ of 393,216 rows\)/)
  })

  it('leaves nothing of the line behind when the import is done', () => {
    const digits = new URL('../../data/digits.npy', import.meta.url).pathname
    const { code, text } = terminal(80, '', '', ['import', digits, 'd.zr'])
    expect(code).toBe(0)
    expect(text).toMatch(new RegExp(`100%[^\\n]*\\r${ESC}\\[2Kstore {3}d\\.zr\\r\\n`))
    expect(existsSync(join(dir, 'd.zr'))).toBe(true)
  })
})
