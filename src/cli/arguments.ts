// cli/: command lines. This file: what a command takes, how that is read from the arguments, and the help made of it.

import { parseArgs } from 'node:util'
import { LoaderxError } from '../errors.ts'

/** One option of a command. */
interface OptionSpec {
  readonly short?: string
  /** What the value is called in the help; a flag has none. */
  readonly value?: string
  readonly help: string
}

/** A command as the help shows it and as its arguments are checked. */
export interface CommandSpec {
  readonly name: string
  readonly summary: string
  readonly positionals: readonly { readonly name: string; readonly help: string }[]
  readonly options: Readonly<Record<string, OptionSpec>>
  /** Paragraphs and examples behind the options. */
  readonly notes: readonly string[]
}

/** The arguments of a command. */
export interface Arguments {
  readonly positionals: readonly string[]
  readonly flags: ReadonlySet<string>
  readonly values: ReadonlyMap<string, string>
}

const HELP: OptionSpec = { short: 'h', help: 'show this help' }

/** A refusal of the command line: exit code 2. */
export function usageError(message: string, details: { expected?: unknown; actual?: unknown } = {}): LoaderxError {
  return new LoaderxError('LOADERX_INVALID_ARGUMENT', message, details)
}

/**
 * Reads the arguments of a command. With --help among them nothing else is checked.
 * @throws LOADERX_INVALID_ARGUMENT for options and arguments that the command does not take, and for missing ones
 */
export function parseCommand(spec: CommandSpec, argv: readonly string[]): Arguments {
  const known: Record<string, OptionSpec> = { ...spec.options, help: HELP }
  const options = Object.fromEntries(
    Object.entries(known).map(([name, { short, value }]) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short && { short }) },
    ]),
  )
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, allowPositionals: true, tokens: true })
  const positionals: string[] = []
  const flags = new Set<string>()
  const values = new Map<string, string>()
  if (tokens.some((token) => token.kind === 'option' && token.name === 'help'))
    return { positionals, flags: flags.add('help'), values }
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    const option = Object.hasOwn(known, name) ? known[name] : undefined
    if (option === undefined) throw unknownOption(spec, rawName, Object.keys(known))
    if (option.value === undefined) {
      if (value !== undefined) throw usageError(`${rawName} takes no value, but was given ${JSON.stringify(value)}`)
      flags.add(name)
    } else if (value === undefined || value === '') {
      throw usageError(`${rawName} needs a value: ${rawName} ${option.value}`)
    } else values.set(name, value)
  }
  checkPositionals(spec, positionals)
  return { positionals, flags, values }
}

function unknownOption(spec: CommandSpec, given: string, known: readonly string[]): LoaderxError {
  const guess = nearest(given.replace(/^-+/, ''), known)
  const advice = guess === undefined ? '' : `; did you mean --${guess}?`
  return usageError(`loaderx ${spec.name} has no option ${given}${advice} (loaderx ${spec.name} --help)`, {
    expected: known,
    actual: given,
  })
}

function checkPositionals(spec: CommandSpec, positionals: readonly string[]): void {
  const names = spec.positionals.map(({ name }) => name)
  const expected = `loaderx ${spec.name} ${names.join(' ')}`
  const missing = names[positionals.length]
  if (missing !== undefined) throw usageError(`${missing} is missing: ${expected} (loaderx ${spec.name} --help)`)
  const extra = positionals[names.length]
  if (extra !== undefined) {
    const message = `${JSON.stringify(extra)} is one argument too many: ${expected} (loaderx ${spec.name} --help)`
    throw usageError(message, { actual: extra })
  }
  const empty = names.find((_, i) => positionals[i] === '')
  if (empty !== undefined) throw usageError(`${empty} is empty; give a path`)
}

/** The one of `words` that `given` is likely meant to be. */
export function nearest(given: string, words: readonly string[]): string | undefined {
  const ranked = words.map((word) => ({ word, edits: distance(given, word) })).sort((a, b) => a.edits - b.edits)
  const best = ranked[0]
  if (best === undefined || given === '') return undefined
  const near = best.edits <= Math.max(1, Math.floor(best.word.length / 3)) || best.word.startsWith(given)
  return near ? best.word : undefined
}

/** Letters to be changed, added, left out or swapped with their neighbour to make `b` of `a`. */
function distance(a: string, b: string): number {
  let older: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = swapped ? older[j - 2]! + 1 : change
      row.push(Math.min(change, swap, row[j - 1]! + 1, previous[j]! + 1))
    }
    older = previous
    previous = row
  }
  return previous[b.length]!
}

/** A whole number of at least `least`. @throws LOADERX_INVALID_ARGUMENT */
export function parseCount(option: string, text: string, least: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(value) && value >= least) return value
  throw usageError(`${option} is ${JSON.stringify(text)}; give a whole number, at least ${least}`, { actual: text })
}

const POWERS: Readonly<Record<string, number>> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }

/** A size such as 65536, 512KiB or 64MiB (KiB = 1024 bytes; K and KB mean the same). @throws LOADERX_INVALID_ARGUMENT */
export function parseBytes(option: string, text: string, most: number): number {
  const match = /^(\d+(?:\.\d+)?) ?([kmg]?)(?:i?b)?$/i.exec(text)
  const value = match === null ? Number.NaN : Math.floor(Number(match[1]) * POWERS[match[2]!.toLowerCase()]!)
  if (value >= 1 && value <= most) return value
  throw usageError(
    `${option} is ${JSON.stringify(text)}; give bytes (8388608) or a size (8MiB), at most ${most} bytes`,
    {
      actual: text,
    },
  )
}

/** The help of one command. */
export function commandHelp(spec: CommandSpec): string {
  const options = Object.entries({ ...spec.options, help: HELP }).map(
    ([name, { short, value, help }]) =>
      [
        `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`,
        help,
      ] as const,
  )
  return [
    `Usage: loaderx ${spec.name} ${spec.positionals.map(({ name }) => name).join(' ')} [options]`,
    spec.summary,
    `Arguments:\n${helpLines(spec.positionals.map(({ name, help }) => [name, help]))}`,
    `Options:\n${helpLines(options)}`,
    ...spec.notes,
  ].join('\n\n')
}

/** Indented lines of a name and what it means. */
export function helpLines(entries: readonly (readonly [name: string, help: string])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length)) + 2
  return entries
    .map(([name, help]) => `  ${name.padEnd(width)}${help.replaceAll('\n', `\n  ${' '.repeat(width)}`)}`)
    .join('\n')
}
