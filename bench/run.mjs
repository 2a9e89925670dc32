// bench/: measures side by side and writes results/DATE.json and .md.
//   npm run bench                     set a: 784-byte records
//   npm run bench -- a b c            more sets
//   npm run bench -- --repetitions 15 --only gather --no-save

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { arch, availableParallelism, cpus, platform, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Dataset, openNpy } from '../dist/index.js'
import { makeIndices, makeSet, SETS, writeNpy } from './data.mjs'
import { measure } from './harness.mjs'
import { nodePeer } from './peers/node.mjs'
import { oursPeer } from './peers/ours.mjs'
import { pythonPeer } from './peers/python.mjs'
import { markdown } from './report.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    repetitions: { type: 'string', default: '9' },
    only: { type: 'string' },
    'no-save': { type: 'boolean', default: false },
  },
})
const letters = positionals.length === 0 ? ['a'] : positionals
const unknown = letters.find((letter) => !(letter in SETS))
if (unknown !== undefined) throw new Error(`there is no set ${unknown}; the sets are ${Object.keys(SETS).join(', ')}`)
const repetitions = Math.max(7, Number(options.repetitions))
const BATCH_SIZE = 256
/** Batches that every case checks against the source before it is timed. */
const CHECKED = 4

const root = fileURLToPath(new URL('..', import.meta.url))
const partsFile = `${root}.test-parts/parts.json`
const parts = existsSync(partsFile) ? JSON.parse(readFileSync(partsFile, 'utf8')) : {}
if (parts.python === undefined) console.error('Without the Python peers: run `npm run test:parts` to have them.\n')

const dir = mkdtempSync(join(tmpdir(), 'loaderx-bench-'))
process.on('exit', () => rmSync(dir, { recursive: true, force: true }))

const versions = { Node: process.versions.node }
const sets = []
for (const letter of letters) sets.push(await runSet(letter))

const model = cpus()[0]?.model.trim() ?? arch()
const result = {
  date: new Date().toISOString().slice(0, 10),
  machine: `${model}, ${availableParallelism()} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${platform()} ${release()}`,
  versions,
  batchSize: BATCH_SIZE,
  repetitions,
  sets,
}
console.log(markdown(result))
if (!options['no-save']) {
  const name = `${root}bench/results/${result.date}`
  mkdirSync(`${root}bench/results`, { recursive: true })
  writeFileSync(`${name}.json`, `${JSON.stringify(result, null, 1)}\n`)
  writeFileSync(`${name}.md`, `# Bench of ${result.date}\n\n${markdown(result)}`)
  console.log(`Written to bench/results/${result.date}.json and .md`)
}

async function runSet(letter) {
  console.error(`set ${letter}: ${SETS[letter].what}: making it`)
  const set = makeSet(letter, parts.fashionMnist)
  const path = (name) => join(dir, `${letter}-${name}`)
  const npy = { data: path('data.npy'), label: path('label.npy') }
  const stores = { data: path('data.zr'), label: path('label.zr') }
  const labels = BigInt64Array.from({ length: set.count }, (_, i) => BigInt(i))
  writeNpy(npy.data, '|u1', [set.count, ...set.shape], set.bytes)
  writeNpy(npy.label, '<i8', [set.count], Buffer.from(labels.buffer))
  await Dataset.write(stores.data, await openNpy(npy.data), { codec: 'raw' })
  await Dataset.write(stores.label, await openNpy(npy.label), { codec: 'raw' })
  // As many batches as visit every record some times, within reason.
  const poolBatches = Math.min(1024, Math.max(32, Math.ceil((4 * set.count) / BATCH_SIZE)))
  const indices = makeIndices(set.count, poolBatches, BATCH_SIZE)
  writeFileSync(path('indices.u32'), Buffer.from(indices.buffer))

  const common = { stores, set, indices, batchSize: BATCH_SIZE, poolBatches }
  const setup = { stores, npy, indices: path('indices.u32'), batchSize: BATCH_SIZE, poolBatches }
  const peers = [await oursPeer(common), await nodePeer(common)]
  if (parts.python !== undefined) peers.push(await pythonPeer({ python: parts.python, setup }))
  for (const peer of peers) Object.assign(versions, peer.versions)

  const cases = peers
    .flatMap((peer) => peer.cases)
    .filter(({ group }) => options.only === undefined || options.only === group)
  for (const one of cases) await check(one, set)
  console.error(`set ${letter}: all ${cases.length} cases give the source's bytes; measuring`)
  const measured = await measure(cases, {
    repetitions,
    onTurn: (turn) => console.error(`set ${letter}: ${turn} of ${repetitions}`),
  })
  for (const peer of peers) await peer.close()
  for (const made of [...Object.values(npy), ...Object.values(stores)]) rmSync(made, { recursive: true })
  const results = measured.map((one) => ({ ...one, batchSize: BATCH_SIZE }))
  return { letter, what: set.what, recordBytes: set.recordBytes, results }
}

/** Compares the first batches of a case with the source, by their hashes. */
async function check(one, { bytes, recordBytes }) {
  let seen = 0
  await one.check(CHECKED, (indices, batch) => {
    const expected = createHash('sha256')
    for (const index of indices) expected.update(bytes.subarray(index * recordBytes, (index + 1) * recordBytes))
    const actual = createHash('sha256').update(batch).digest('hex')
    if (indices.length !== BATCH_SIZE || actual !== expected.digest('hex')) {
      throw new Error(`${one.name} (${one.group}) gives other bytes than the source in batch ${seen}`)
    }
    seen++
  })
  if (seen !== CHECKED) throw new Error(`${one.name} (${one.group}) gave ${seen} batches in place of ${CHECKED}`)
}
