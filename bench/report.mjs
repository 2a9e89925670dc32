// bench/: a result as a page. A result is plain data, see run.mjs.

import { spread } from './harness.mjs'

const UNITS = {
  gather: { title: 'Gather', unit: 'million records/s', digits: 3, value: (result, run) => records(result, run) / 1e6 },
  loader: {
    title: 'Loader, data and label',
    unit: 'steps/s',
    digits: 0,
    value: (result, run) => result.batches / run.seconds,
  },
}
const ORIGINAL = /^loaderx 0\.5\.0/
const MEMMAP = /^NumPy memmap, (x\[idx\]|plain loop)/

const batchSizeOf = (result) => result.batchSize
const records = (result, { seconds }) => (result.batches * batchSizeOf(result)) / seconds

function figures(result) {
  const { value } = UNITS[result.group]
  const rates = spread(result.runs.map((run) => value(result, run)))
  const perMillion = spread(result.runs.map(({ cpu }) => (cpu / (result.batches * batchSizeOf(result))) * 1e6))
  return { ...rates, cpu: perMillion.median }
}

function show(number, digits) {
  return number.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function table(group, results) {
  const rows = results.filter((result) => result.group === group).map((result) => ({ result, ...figures(result) }))
  if (rows.length === 0) return ''
  const { title, unit, digits } = UNITS[group]
  const base = (pattern) => rows.find(({ result }) => pattern.test(result.name))?.median
  const ratio = (row, median) => (median === undefined ? '-' : `${show(row.median / median, 2)}×`)
  const lines = rows.map(
    (row) =>
      `| ${row.result.ours ? `**${row.result.name}**` : row.result.name} | ${show(row.median, digits)} | ${show(row.min, digits)} … ${show(row.max, digits)} | ${ratio(row, base(ORIGINAL))} | ${ratio(row, base(MEMMAP))} | ${show(row.cpu, 2)} |`,
  )
  return `### ${title}, ${unit}

|  | median | min … max | to the original | to NumPy memmap | CPU-s per million records |
| --- | ---: | ---: | ---: | ---: | ---: |
${lines.join('\n')}
`
}

/** The result as Markdown, its headings from the second level on. */
export function markdown({ date, machine, versions, batchSize, repetitions, sets }) {
  const parts = sets.map(
    ({ letter, what, results }) => `## ${letter}: ${what}

${table('gather', results)}
${table('loader', results)}`,
  )
  return `${date} · ${machine} · ${Object.entries(versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(' · ')}

Batches of ${batchSize} raw records at random places, page cache hot; medians of ${repetitions} repetitions, cases in turn.

${parts.join('\n')}`
}
