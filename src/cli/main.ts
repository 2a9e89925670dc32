#!/usr/bin/env node
// cli/: the program `loaderx`. This file: finds the command, runs it, and turns what it threw into an exit code.
// Commands are loaded when they are called, so that --help answers at once.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Arguments,
  type CommandSpec,
  commandHelp,
  helpLines,
  nearest,
  parseCommand,
  usageError,
} from './arguments.ts'
import { EXIT, type Failure, failureOf, report } from './exit.ts'
import { note, print } from './output.ts'

interface Command {
  readonly spec: CommandSpec
  /** Returns the exit code. */
  run(args: Arguments): Promise<number>
}

const COMMANDS: Readonly<Record<string, { readonly summary: string; readonly load: () => Promise<Command> }>> = {
  import: { summary: 'convert a .npy file to a store, or append it to one', load: () => import('./import.ts') },
  info: { summary: 'what a store holds and what it takes on the disk', load: () => import('./info.ts') },
  head: { summary: 'show the first samples of a store', load: () => import('./head.ts') },
}

const EXIT_HELP = helpLines([
  ['0', 'done'],
  ['1', 'it failed: input or output error, full disk, damaged store'],
  ['2', 'the command line is wrong'],
  ['3', 'what was given is not there, or is no .npy file or store that fits'],
  ['130', 'interrupted by Ctrl-C; the store has whole samples only'],
])

function programHelp(): string {
  return [
    'Usage: loaderx <command> [options]',
    'Stores of records and samples for training, from the command line.',
    `Commands:\n${helpLines(Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary]))}`,
    `Options:\n${helpLines([
      ['-h, --help', 'show this help; loaderx <command> --help shows that of a command'],
      ['-V, --version', 'show the version'],
    ])}`,
    `Exit codes:\n${EXIT_HELP}`,
    `Example:\n  loaderx import digits.npy digits.zr && loaderx head digits.zr`,
  ].join('\n\n')
}

function version(): string {
  const text = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

async function main(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv
  if (name === undefined) {
    note(programHelp())
    return EXIT.usage
  }
  if (name === '--version' || name === '-V') print(`loaderx ${version()}`)
  else if (name === '--help' || name === '-h' || (name === 'help' && rest[0] === undefined)) print(programHelp())
  else if (name === 'help') return runCommand(rest[0]!, ['--help'])
  else return runCommand(name, rest)
  return EXIT.ok
}

async function runCommand(name: string, argv: readonly string[]): Promise<number> {
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (entry === undefined) throw unknownCommand(name)
  const { spec, run } = await entry.load()
  const args = parseCommand(spec, argv)
  if (!args.flags.has('help')) return run(args)
  print(commandHelp(spec))
  return EXIT.ok
}

function unknownCommand(name: string): Error {
  const what = name.startsWith('-') ? 'option' : 'command'
  const words = what === 'option' ? ['--help', '--version'] : Object.keys(COMMANDS)
  const guess = nearest(name, words)
  const advice = guess === undefined ? `there are ${words.join(', ')}` : `did you mean ${guess}?`
  return usageError(`unknown ${what} ${JSON.stringify(name)}; ${advice} (loaderx --help)`, { actual: name })
}

/** What somebody wants who asks for a store where there is none. */
function storeHint({ code }: Failure, [name]: readonly string[]): string | undefined {
  const noStore = ['LOADERX_NOT_A_DIRECTORY', 'LOADERX_NOT_A_STORE', 'LOADERX_NOT_FOUND'].includes(code)
  if (!noStore || name === 'import') return undefined
  return 'loaderx import <file.npy> <store> makes a store of an array file'
}

function onBrokenOutput(error: NodeJS.ErrnoException): void {
  // A reader that has seen enough (| head) is no failure.
  if (error.code === 'EPIPE') process.exit(EXIT.ok)
  note(`loaderx: cannot write to standard output: ${error.message}`)
  process.exit(EXIT.failed)
}

process.stdout.on('error', onBrokenOutput)
// Nobody reads the notes: the work goes on.
process.stderr.on('error', () => {})

const argv = process.argv.slice(2)
try {
  process.exitCode = await main(argv)
} catch (error) {
  const failure = failureOf(error)
  const hint = storeHint(failure, argv)
  process.exitCode = report(hint === undefined ? failure : { ...failure, hint }, argv.includes('--json'))
}
// After an interruption nobody waits for threads that still compress what was given up.
if (process.exitCode === EXIT.interrupted) process.stdout.write('', () => process.exit())
