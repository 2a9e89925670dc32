// cli/: `loaderx info`: what a store holds, what it takes on the disk, and what its table and header show to be wrong.

import type { LoaderxErrorCode } from '../errors.ts'
import { FORMAT_VERSION } from '../format/header.ts'
import type { Arguments, CommandSpec } from './arguments.ts'
import { EXIT, exitFor } from './exit.ts'
import { type StoreFacts, storeFacts } from './facts.ts'
import { bytes, count, counted, factLines, note, percent, print } from './output.ts'

export const spec: CommandSpec = {
  name: 'info',
  summary: 'Shows what a store holds and what it takes on the disk. Nothing is changed.',
  positionals: [{ name: '<store>', help: 'directory of the store' }],
  options: { json: { help: 'print everything as JSON, sizes in bytes' } },
  notes: [
    `The header, the table and the schema are checked, not the bytes of the records.
What is wrong is said on standard error and makes the exit code 1 or 3.`,
  ],
}

interface Problem {
  readonly code: LoaderxErrorCode
  readonly message: string
}

export async function run({ positionals, flags }: Arguments): Promise<number> {
  const facts = storeFacts(positionals[0]!)
  const problems = problemsOf(facts)
  print(flags.has('json') ? JSON.stringify(jsonFacts(facts, problems), null, 2) : textFacts(facts))
  for (const { code, message } of problems) note(`loaderx: ${message} [${code}]`)
  return problems[0] === undefined ? EXIT.ok : exitFor(problems[0].code)
}

function problemsOf({ path, schema, table, frontierDamaged }: StoreFacts): Problem[] {
  const problems: Problem[] = []
  const { damaged, unfit } = table
  if (frontierDamaged) {
    const message = `${path} has a header whose end lies before its last record, so nothing can be appended; restore the store from a copy`
    problems.push({ code: 'LOADERX_CORRUPT_STORE', message })
  }
  if (damaged.count > 0) {
    const message = `${path} has ${counted(damaged.count, 'record')} with a damaged table entry, the first is ${damaged.first}; restore the store from a copy`
    problems.push({ code: 'LOADERX_CORRUPT_RECORD', message })
  }
  if (unfit.count > 0) {
    const message = `${path} has ${counted(unfit.count, 'record')} that are not the ${schema!.sampleBytes} bytes of a sample, the first is ${unfit.first}; schema.json does not belong to them, or they were appended by mistake`
    problems.push({ code: 'LOADERX_SCHEMA_MISMATCH', message })
  }
  return problems
}

const ratioOf = ({ storedBytes, logicalBytes }: StoreFacts['table']): number | null =>
  logicalBytes === 0 ? null : storedBytes / logicalBytes

function jsonFacts(facts: StoreFacts, problems: readonly Problem[]): object {
  const { schema, table, chunkBytes } = facts
  return {
    path: facts.path,
    formatVersion: FORMAT_VERSION,
    records: facts.records,
    dtype: schema?.info.name ?? null,
    bigEndian: schema?.info.bigEndian ?? null,
    shape: schema?.shape ?? null,
    sampleBytes: schema?.sampleBytes ?? null,
    codec: schema?.codec ?? null,
    lengths: table.lengths ?? null,
    compressedRecords: table.compressed,
    logicalBytes: table.logicalBytes,
    storedBytes: table.storedBytes,
    ratio: ratioOf(table),
    chunks: facts.chunks,
    reclaimableBytes: chunkBytes - table.storedBytes,
    allocatedBytes: facts.allocatedBytes,
    problems,
  }
}

function textFacts(facts: StoreFacts): string {
  const { schema, table, records, chunks, chunkBytes } = facts
  const { lengths, logicalBytes, storedBytes } = table
  const ratio = ratioOf(table)
  const kind: [string, string][] =
    schema === undefined
      ? [
          ['records', `${count(records)}, plain (there is no schema.json)`],
          ['lengths', lengths === undefined ? '-' : lengthsText(lengths)],
        ]
      : [
          ['samples', count(records)],
          ['dtype', `${schema.info.name}${schema.info.bigEndian ? ', big-endian' : ''}`],
          ['shape', `[${schema.shape.join(', ')}]`],
          ['sample', bytes(schema.sampleBytes)],
          ['codec', schema.codec],
        ]
  return factLines([
    ['store', facts.path],
    ...kind,
    ['logical', bytes(logicalBytes)],
    ['stored', `${bytes(storedBytes)}${ratio === null ? '' : `, ${percent(ratio)}`}`],
    ['deflated', `${count(table.compressed)} of ${counted(records, 'record')}`],
    ['chunks', count(chunks)],
    ['free', bytes(Math.max(0, chunkBytes - storedBytes))],
    ['on disk', bytes(facts.allocatedBytes)],
    ['format', `version ${FORMAT_VERSION}`],
  ])
}

function lengthsText({ min, median, max }: { min: number; median: number; max: number }): string {
  return min === max ? counted(min, 'byte') : `${count(min)} … ${counted(max, 'byte')}, median ${count(median)}`
}
