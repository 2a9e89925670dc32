// cli/: `loaderx import`: rows of a .npy file become samples of a store.

import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { Dataset } from '../dataset/dataset.ts'
import { datasetDirectory } from '../dataset/open.ts'
import { describeSamples } from '../dataset/schema-file.ts'
import { MAX_RECORDS, META_NAME } from '../format/limits.ts'
import { type NpyFile, npyRowsFrom, openNpy } from '../formats/npy.ts'
import type { Codec } from '../zrecord/writer.ts'
import { type Arguments, type CommandSpec, parseBytes, parseCount, usageError } from './arguments.ts'
import { EXIT, type Failure, failureOf, report } from './exit.ts'
import { type StoreFacts, storeFacts } from './facts.ts'
import { bytes, count, counted, factLines, note, percent, print, quoted, speed, terminalOf } from './output.ts'
import { Progress, type ProgressOutput } from './progress.ts'

/** Bytes of a chunk for each processor: enough to keep it busy, and written within a second or so. */
const CHUNK_BYTES = 4 * 2 ** 20
const MAX_DEFAULT_CHUNK_BYTES = 32 * 2 ** 20
const MAX_CHUNK_BYTES = 2 ** 30

export const spec: CommandSpec = {
  name: 'import',
  summary: `Converts a .npy file to a store: one sample for each row of the array. A store that
is there already and has samples of the same dtype and shape gets the rows behind
its own.`,
  positionals: [
    { name: '<file.npy>', help: 'the array; its first dimension counts the rows' },
    { name: '<store>', help: 'directory of the store; it is made where it is missing' },
  ],
  options: {
    codec: { value: 'raw|flate', help: 'how a new store keeps its samples: as they are, or\ndeflated (default flate)' },
    'chunk-bytes': {
      value: 'SIZE',
      help: 'rows are committed SIZE bytes at a time, such as 64MiB\n(default 4MiB for each processor, at most 32MiB)',
    },
    skip: { value: 'ROWS', help: 'leave out the first ROWS rows of the file: to go on\nafter an interruption' },
    json: { help: 'print the result as JSON' },
    quiet: { short: 'q', help: 'show no progress' },
  },
  notes: [
    `Ctrl-C stops the import: the store keeps the chunks that were committed, as whole
samples, and the command to go on is shown. A second Ctrl-C exits at once, and
leaves whole samples, too.`,
  ],
}

interface Settings {
  readonly input: string
  readonly store: string
  readonly codec: Codec | undefined
  readonly chunkBytes: number
  readonly skip: number
  readonly json: boolean
  readonly quiet: boolean
}

export async function run(args: Arguments): Promise<number> {
  const settings = readSettings(args)
  const file = await openNpy(settings.input)
  if (settings.skip > file.length) {
    const message = `--skip is ${settings.skip}, but ${file.path} has only ${counted(file.length, 'row')}`
    throw usageError(message, { expected: file.length, actual: settings.skip })
  }
  const before = factsBefore(settings.store)
  if (before?.schema !== undefined && !settings.quiet) sayAppending(before, file, settings)
  const started = performance.now()
  const result = await write(settings, file, before?.records ?? 0)
  if (typeof result !== 'number') return report(result, settings.json)
  const seconds = (performance.now() - started) / 1000
  printResult(settings, file, result, before?.records ?? 0, seconds)
  return EXIT.ok
}

function readSettings({ positionals, flags, values }: Arguments): Settings {
  const codec = values.get('codec')
  if (codec !== undefined && codec !== 'raw' && codec !== 'flate') {
    throw usageError(`--codec is ${JSON.stringify(codec)}; use raw or flate`, { actual: codec })
  }
  const chunk = values.get('chunk-bytes')
  return {
    input: positionals[0]!,
    store: positionals[1]!,
    codec,
    chunkBytes:
      chunk === undefined
        ? Math.min(MAX_DEFAULT_CHUNK_BYTES, CHUNK_BYTES * availableParallelism())
        : parseBytes('--chunk-bytes', chunk, MAX_CHUNK_BYTES),
    skip: parseCount('--skip', values.get('skip') ?? '0', 0),
    json: flags.has('json'),
    quiet: flags.has('quiet'),
  }
}

/** What stands at the target; undefined when there is no store yet. */
function factsBefore(path: string): StoreFacts | undefined {
  const directory = datasetDirectory(path)
  return directory.look(META_NAME) === undefined ? undefined : storeFacts(path, MAX_RECORDS)
}

function sayAppending(before: StoreFacts, file: NpyFile, { store, codec }: Settings): void {
  const schema = before.schema!
  const kind = describeSamples(schema.info.name, schema.shape)
  if (kind !== describeSamples(file.dtype, file.rowShape)) return
  note(`${store} has ${counted(before.records, 'sample')} of ${kind}; the rows go behind them`)
  if (codec !== undefined && codec !== schema.codec) {
    note(`${store} keeps its codec ${schema.codec}; --codec is for new stores`)
  }
}

/** Writes the rows. Returns how many samples the store has then, or why it ended before. */
async function write(settings: Settings, file: NpyFile, before: number): Promise<number | Failure> {
  const { store, chunkBytes, codec = 'flate', quiet, skip } = settings
  const source = npyRowsFrom(file, skip)
  const progress = quiet ? undefined : new Progress(standardError(), source.length)
  const abort = new AbortController()
  let rows = 0
  const onInterrupt = (): void => {
    progress?.clear()
    if (abort.signal.aborted) process.exit(EXIT.interrupted)
    note('stopping; Ctrl-C again exits at once')
    abort.abort()
  }
  process.on('SIGINT', onInterrupt)
  try {
    const options = { codec, chunkBytes, signal: abort.signal }
    const { length } = await Dataset.write(store, source, {
      ...options,
      onProgress: (done) => {
        rows = done.rows
        if (!abort.signal.aborted) progress?.update({ ...done, totalRows: source.length })
      },
    })
    return length
  } catch (error) {
    progress?.clear()
    const failure = error === abort.signal.reason ? interruption(settings, before, rows) : failureOf(error)
    return rows === 0 && skip === 0 ? failure : { ...failure, hint: goOn(settings, skip + rows) }
  } finally {
    progress?.clear()
    process.removeListener('SIGINT', onInterrupt)
  }
}

function standardError(): ProgressOutput {
  return {
    write: (text) => process.stderr.write(text),
    terminal: () => terminalOf(process.stderr),
    now: () => performance.now(),
  }
}

function interruption({ store }: Settings, before: number, rows: number): Failure {
  const samples = before + rows
  const state =
    rows === 0
      ? `nothing was written${before > 0 ? `; ${store} has ${counted(before, 'sample')} as before` : ''}`
      : `${store} has ${counted(samples, 'whole sample')}${before > 0 ? `, ${count(rows)} of them new` : ''}`
  return {
    exit: EXIT.interrupted,
    code: 'INTERRUPTED',
    message: `interrupted: ${state}`,
    details: { path: resolve(store), rows, samples },
  }
}

/** How the rest of the file is imported. */
function goOn({ input, store }: Settings, skip: number): string {
  return `To go on: loaderx import ${quoted(input)} ${quoted(store)} --skip ${skip}`
}

function printResult(settings: Settings, file: NpyFile, samples: number, before: number, seconds: number): void {
  const { schema, path, table } = storeFacts(settings.store, before)
  const rows = file.length - settings.skip
  const logical = table.logicalBytes
  const ratio = logical === 0 ? null : table.storedBytes / logical
  const facts = {
    path,
    rows,
    samples,
    dtype: file.dtype as string,
    shape: file.rowShape,
    codec: schema!.codec,
    bytes: logical,
    storedBytes: table.storedBytes,
    ratio,
    seconds,
  }
  if (settings.json) {
    print(JSON.stringify(facts, null, 2))
    return
  }
  print(
    factLines([
      ['store', settings.store],
      ['rows', `${count(rows)}${samples === rows ? '' : ` (${counted(samples, 'sample')} now)`}`],
      ['dtype', facts.dtype],
      ['shape', `[${facts.shape.join(', ')}]`],
      ['codec', facts.codec],
      ['bytes', bytes(logical)],
      ['stored', `${bytes(table.storedBytes)}${ratio === null ? '' : `, ${percent(ratio)}`}`],
      ['time', `${seconds.toFixed(2)} s${logical === 0 ? '' : `, ${speed(logical / seconds)}`}`],
    ]),
  )
}
