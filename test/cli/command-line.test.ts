// The command line itself: help, version, and what is refused before anything is done.
import { execFileSync, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Dataset, type LoaderxErrorCode, ndarray } from 'loaderx'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { exitFor } from '#dist/cli/exit.js'
import { cli, cliArguments } from '../support/cli.ts'
import { needs } from '../support/parts.ts'
import { tempDir } from '../support/stores.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string }
const COMMANDS = ['import', 'info', 'head']

let store: string
beforeAll(async () => {
  store = join(tempDir(), 'many.zr')
  await Dataset.write(
    store,
    ndarray(
      'float64',
      [5000],
      Float64Array.from({ length: 5000 }, (_, i) => i / 7),
    ),
  )
})

describe('help', () => {
  test.each([['--help'], ['-h'], ['help']])('loaderx %s', async (word) => {
    const { code, stdout, stderr } = await cli([word])
    expect([code, stderr]).toEqual([0, ''])
    for (const text of [...COMMANDS, 'Exit codes', '130', '--version']) expect(stdout).toContain(text)
  })

  test.each(COMMANDS)('of %s, in three ways', async (name) => {
    const [first, ...others] = await Promise.all([cli([name, '--help']), cli([name, 'x', '-h']), cli(['help', name])])
    expect(first).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining(`Usage: loaderx ${name} <`) })
    for (const other of others) expect(other).toEqual(first)
  })

  it('fits into 85 columns', async () => {
    const texts = await Promise.all([[], ...COMMANDS.map((name) => [name])].map((args) => cli([...args, '--help'])))
    const long = texts.flatMap(({ stdout }) => stdout.split('\n').filter((line) => line.length > 85))
    expect(long).toEqual([])
  })

  it('is what a call without a command gets, as a refusal', async () => {
    const { code, stdout, stderr } = await cli([])
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain('Usage: loaderx <command>')
  })
})

test.each([['--version'], ['-V']])('loaderx %s', async (word) => {
  expect(await cli([word])).toMatchObject({ code: 0, stdout: `loaderx ${version}\n`, stderr: '' })
})

test.each([
  [['imoprt'], 'unknown command "imoprt"; did you mean import?'],
  [['hed', 'x'], 'did you mean head?'],
  [['inf', 'x'], 'did you mean info?'],
  [['delete', 'x'], 'unknown command "delete"; there are import, info, head'],
  [['constructor'], 'unknown command "constructor"'],
  [['help', 'improt'], 'did you mean import?'],
  [['--versoin'], 'unknown option "--versoin"; did you mean --version?'],
  [['import'], '<file.npy> is missing: loaderx import <file.npy> <store>'],
  [['import', 'a.npy'], '<store> is missing'],
  [['import', 'a.npy', 'b', 'c'], '"c" is one argument too many'],
  [['info', ''], '<store> is empty'],
  [['info', 'a', '--jsn'], 'no option --jsn; did you mean --json?'],
  [['info', 'a', '-x'], 'no option -x'],
  [['info', 'a', '--__proto__'], 'no option --__proto__'],
  [['info', 'a', '--json=1'], '--json takes no value'],
  [['import', 'a', 'b', '--codec'], '--codec needs a value: --codec raw|flate'],
  [['import', 'a', 'b', '--codec', 'zip'], '--codec is "zip"; use raw or flate'],
  [['import', 'a', 'b', '--chunk-bytes', '0'], '--chunk-bytes is "0"'],
  [['import', 'a', 'b', '--chunk-bytes', '8XB'], '--chunk-bytes is "8XB"'],
  [['import', 'a', 'b', '--chunk-bytes=2GiB'], 'at most 1073741824 bytes'],
  [['import', 'a', 'b', '--skip', '-1'], '--skip is "-1"'],
  [['head', 'a', '-n', '0'], '--samples is "0"; give a whole number, at least 1'],
  [['head', 'a', '-n', '1.5'], '--samples is "1.5"'],
])('%j is refused with exit code 2', async (args, message) => {
  const { code, stdout, stderr } = await cli(args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(message)
  expect(stderr).toMatch(/^loaderx: [^\n]+ \[LOADERX_INVALID_ARGUMENT\]\n$/)
})

it('refuses as JSON where JSON was asked for', async () => {
  const { code, stdout, stderr } = await cli(['inof', 'x', '--json'])
  const error = { code: 'LOADERX_INVALID_ARGUMENT', message: expect.stringContaining('did you mean info?') }
  expect([code, JSON.parse(stdout)]).toEqual([2, { error: { ...error, details: { actual: 'inof' } } }])
  expect(stderr).toContain('did you mean info?')
})

it('shows a stack only with LOADERX_DEBUG=1', async () => {
  const [plain, debug] = await Promise.all([cli(['inof']), cli(['inof'], { env: { LOADERX_DEBUG: '1' } })])
  expect(plain.stderr).not.toMatch(/\n\s+at /)
  expect(debug.stderr).toMatch(/\n\s+at /)
})

it('ends quietly when its reader has seen enough', async () => {
  const child = spawn(process.execPath, cliArguments(['head', store, '-n', '5000', '--json']), {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  child.stdout.destroy()
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect([code, stderr]).toEqual([0, ''])
})

needs('mount').it('fails when its output cannot be written', () => {
  const full = openSync('/dev/full', 'w')
  try {
    const run = () => execFileSync(process.execPath, cliArguments(['info', store]), { stdio: ['ignore', full, 'pipe'] })
    expect(run).toThrow(/cannot write to standard output: ENOSPC/)
  } finally {
    closeSync(full)
  }
})

it('has its exit codes in docs/cli.md', async () => {
  const page = readFileSync(`${root}docs/cli.md`, 'utf8')
  const codes = [...readFileSync(`${root}src/errors.ts`, 'utf8').matchAll(/^ {2}\| '(LOADERX_\w+)'/gm)]
  const row = (exit: number): string[] => {
    const cells = new RegExp(`^\\| ${exit} .*$`, 'm').exec(page)![0].split(/ \| /)
    return [...cells.at(-1)!.matchAll(/`(\w+)`/g)].map((match) => `LOADERX_${match[1]}`)
  }
  const found = (exit: number) =>
    codes.map((match) => match[1]!).filter((code) => exitFor(code as LoaderxErrorCode) === exit)
  expect(row(2)).toEqual(found(2))
  expect(row(3)).toEqual(found(3))
})
