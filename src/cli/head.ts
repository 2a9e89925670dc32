// cli/: `loaderx head`: the first samples of a dataset, or the first records of a plain store.

import { Dataset } from '../dataset/dataset.ts'
import type { NDArray } from '../dataset/ndarray.ts'
import { datasetDirectory } from '../dataset/open.ts'
import { describeSamples } from '../dataset/schema-file.ts'
import { SCHEMA_NAME } from '../format/limits.ts'
import { checkIsStore } from '../zrecord/files.ts'
import { Zrecord } from '../zrecord/zrecord.ts'
import { type Arguments, type CommandSpec, parseCount } from './arguments.ts'
import { EXIT } from './exit.ts'
import { dumpLines, hex, MAX_DUMP_BYTES } from './hexdump.ts'
import { galleryLines } from './images.ts'
import { counted, cut, print, type Terminal, tableLines, terminalOf } from './output.ts'
import { type Items, itemsOf, nested } from './values.ts'

export const spec: CommandSpec = {
  name: 'head',
  summary: 'Shows the first samples of a store.',
  positionals: [{ name: '<store>', help: 'directory of the store' }],
  options: {
    samples: { short: 'n', value: 'N', help: 'how many (default 5)' },
    json: { help: 'print them as JSON: nested lists of numbers' },
  },
  notes: [
    `Scalars are listed, grey pictures (2-D uint8) are drawn, of other arrays the least
and greatest item, the mean and the first items are shown, of plain records the
first bytes.`,
  ],
}

export async function run({ positionals, flags, values }: Arguments): Promise<number> {
  const path = positionals[0]!
  const wanted = parseCount('--samples', values.get('samples') ?? '5', 1)
  const directory = datasetDirectory(path)
  checkIsStore(directory)
  const json = flags.has('json')
  if (directory.look(SCHEMA_NAME) === undefined) await showRecords(path, wanted, json)
  else await showSamples(path, wanted, json)
  return EXIT.ok
}

/**
 * Reads `0 … count - 1` and shows them. With a damaged one those before it are shown, except as JSON, and then the
 * failure.
 */
async function showAll<T>(
  count: number,
  json: boolean,
  read: (index: number) => Promise<T>,
  show: (all: readonly T[]) => void,
): Promise<void> {
  const all: T[] = []
  try {
    for (let index = 0; index < count; index++) all.push(await read(index))
  } catch (error) {
    if (!json && all.length > 0) show(all)
    throw error
  }
  show(all)
}

function firstOf(total: number, shown: number, noun: string): string {
  return shown < total ? `first ${shown} of ${counted(total, noun)}` : counted(total, noun)
}

async function showRecords(path: string, wanted: number, json: boolean): Promise<void> {
  const store = await Zrecord.open(path, { readOnly: true, residency: 'file' })
  try {
    const { length } = store
    const count = Math.min(wanted, length)
    await showAll(
      count,
      json,
      (index) => store.get(index),
      (records) => print(json ? recordsJson(store.path, length, records) : recordsText(path, length, records)),
    )
  } finally {
    await store.close()
  }
}

function recordsJson(path: string, length: number, records: readonly Uint8Array[]): string {
  const shown = records.map((record, index) => ({
    index,
    bytes: record.length,
    first: hex(record.subarray(0, MAX_DUMP_BYTES)),
  }))
  return JSON.stringify({ path, records: length, shown }, null, 2)
}

function recordsText(path: string, length: number, records: readonly Uint8Array[]): string {
  const { columns } = terminalOf(process.stdout)
  const dumps = records.map((record, index) => [
    `record ${index}: ${counted(record.length, 'byte')}`,
    ...dumpLines(record, columns),
  ])
  return [`${path}: ${firstOf(length, records.length, 'plain record')}`, ...dumps.flat()].join('\n')
}

async function showSamples(path: string, wanted: number, json: boolean): Promise<void> {
  const dataset = await Dataset.open(path, { residency: 'file' })
  try {
    const { length, dtype, shape } = dataset
    const items = itemsOf(dtype)
    const show = (samples: readonly NDArray[]): void => {
      if (json) {
        const shown = samples.map((sample, index) => ({ index, value: nested(sample, items) }))
        print(JSON.stringify({ path: dataset.path, samples: length, dtype, shape, shown }))
        return
      }
      const terminal = terminalOf(process.stdout)
      const title = `${path}: ${firstOf(length, samples.length, 'sample')} of ${describeSamples(dtype, shape)}`
      print([title, ...(samples.length > 0 ? sampleLines(dataset, samples, items, terminal) : [])].join('\n'))
    }
    await showAll(Math.min(wanted, length), json, (index) => dataset.at(index), show)
  } finally {
    await dataset.close()
  }
}

function sampleLines(
  { dtype, shape }: Dataset,
  samples: readonly NDArray[],
  items: Items,
  terminal: Terminal,
): string[] {
  if (shape.length === 0) {
    const rows = samples.map(({ data }, index) => [String(index), items.text(data, 0)])
    return tableLines(['index', 'value'], rows).map((line) => cut(line, terminal.columns))
  }
  const [height, width, more] = shape.filter((dimension) => dimension > 1)
  if (dtype === 'uint8' && height !== undefined && width !== undefined && more === undefined) {
    return pictureLines(samples, width, height, terminal)
  }
  return arrayLines(samples, items, terminal)
}

function pictureLines(samples: readonly NDArray[], width: number, height: number, terminal: Terminal): string[] {
  const greatest = samples.map(({ data }) => (data as Uint8Array).reduce((most, pixel) => Math.max(most, pixel), 0))
  const most = Math.max(1, ...greatest)
  const pictures = samples.map(({ data }, index) => ({
    title: `${index}`,
    pixels: data as Uint8Array,
    width,
    height,
  }))
  return [`pixels 0 … ${most}, brighter is more`, '', ...galleryLines(pictures, most, terminal)]
}

function arrayLines(samples: readonly NDArray[], items: Items, { columns }: Terminal): string[] {
  const numbers = items.number === undefined ? [] : ['min', 'max', 'mean']
  const rows = samples.map((sample, index) => [String(index), ...statistics(sample, items)])
  const lines = tableLines(
    ['index', ...numbers, ''],
    rows.map((row) => [...row, '']),
  )
  const room = columns - lines[0]!.length
  return lines.map(
    (line, i) => `${line}${i === 0 ? cut('first items', room) : firstItems(samples[i - 1]!, items, room)}`,
  )
}

const itemCount = ({ shape }: NDArray): number => shape.reduce((product, dimension) => product * dimension, 1)

function statistics(sample: NDArray, { number, brief }: Items): string[] {
  if (number === undefined) return []
  const { data } = sample
  const items = itemCount(sample)
  let least = 0
  let greatest = 0
  let sum = 0
  for (let item = 0; item < items; item++) {
    const value = number(data, item)
    if (value < number(data, least)) least = item
    if (value > number(data, greatest)) greatest = item
    sum += value
  }
  return [brief(data, least), brief(data, greatest), String(Number((sum / items).toPrecision(4)))]
}

/** As many items as fit. */
function firstItems(sample: NDArray, items: Items, room: number): string {
  const all = itemCount(sample)
  let text = items.brief(sample.data, 0)
  for (let item = 1; item < all; item++) {
    const longer = `${text} ${items.brief(sample.data, item)}`
    if (longer.length + (item + 1 < all ? ' ...'.length : 0) > room) return cut(`${text} ...`, room)
    text = longer
  }
  return cut(text, room)
}
