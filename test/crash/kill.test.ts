// crash/: real processes that write to real stores are killed at random moments. Each kill is followed by a look at
// every record against what the process had said was done; then the next process goes on with the same store.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Zrecord } from 'loaderx'
import { afterAll, describe, expect, it } from 'vitest'
import { applyTo, contents, type Model, type Operation, same } from '../support/crash.ts'
import { randomFrom } from '../support/crash-states.ts'
import { operationAt } from '../support/crash-work.mjs'
import { needs } from '../support/parts.ts'
import { startReference } from '../support/reference.ts'
import { tempDir } from '../support/stores.ts'

type Work = 'raw' | 'flate' | 'delete' | 'compact'
const WORKS: readonly Work[] = ['raw', 'flate', 'delete', 'compact']
/** Kills of each kind of work, and in how many stores side by side. */
const KILLS = 44
const STORES = 2
const REFERENCE_KILLS = 8
/** The longest time that a process is let work after it has opened its store, in milliseconds. */
const LIFE = 60

const seed = Number(process.env['LOADERX_CRASH_SEED'] ?? Date.now() % 2 ** 31)
const script = fileURLToPath(new URL('../support/crash-writer.mjs', import.meta.url))
const counts = { kills: 0, acknowledged: 0, underway: 0, interrupted: 0, records: 0, reference: 0 }

afterAll(() => {
  const { kills, acknowledged, underway, interrupted, records, reference } = counts
  console.log(
    `kill -9: ${kills} kills (seed ${seed}), ${acknowledged} operations acknowledged, ${underway} found done that were not, ${interrupted} journals left; ${records} records read back right, after ${reference} of the kills by the original`,
  )
})

/** Starts a writer, kills it after a while, and gives the number of operations that it had acknowledged. */
async function runAndKill(path: string, work: Work, own: number, length: number, life: number): Promise<number> {
  const args = [script, path, work, String(own), String(length)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const gone = once(child, 'close')
  let said = ''
  let complaint = ''
  child.stderr.on('data', (text) => {
    complaint += text
  })
  child.stdout.on('data', (text) => {
    if (said === '') setTimeout(() => child.kill('SIGKILL'), life)
    said += text
  })
  const [, signal] = (await gone) as [number | null, string | null]
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself: ${complaint}`)
  return said.split('\n').length - 2
}

/** What the store may hold: what was acknowledged, or that and the operation that was under way. */
function expected(model: Model, work: Work, own: number, acknowledged: number): [Model, Model] {
  let now = model
  for (let step = 0; step < acknowledged; step++)
    now = applyTo(now, operationAt(work, own, step, now.length) as Operation)
  return [now, applyTo(now, operationAt(work, own, acknowledged, now.length) as Operation)]
}

async function killAgainAndAgain(
  work: Work,
  first: number,
  kills: number,
  read: (path: string) => Promise<Model>,
): Promise<void> {
  const path = join(tempDir(), 'store')
  await (await Zrecord.open(path, { create: true })).close()
  const random = randomFrom(seed + first)
  let model: Model = []
  for (let own = first; own < first + kills; own++) {
    const acknowledged = await runAndKill(path, work, own, model.length, random() * LIFE)
    counts.interrupted += existsSync(join(path, 'journal.zr')) ? 1 : 0
    const [done, andUnderway] = expected(model, work, own, acknowledged)
    const found = await read(path)
    const isMore = !same(found, done)
    if (isMore && !same(found, andUnderway)) {
      throw new Error(
        `kill ${own} (${work}, seed ${seed}), ${acknowledged} acknowledged: ${found.length} records, not those of ${done.length} or ${andUnderway.length}`,
      )
    }
    counts.kills++
    counts.acknowledged += acknowledged
    counts.underway += isMore ? 1 : 0
    counts.records += found.length
    // The store would only grow.
    model = found
    if (model.length < 3000) continue
    const store = await Zrecord.open(path)
    const targets = Array.from({ length: model.length - 10 }, (_, i) => i)
    await store.delete(targets)
    await store.compact()
    model = await contents(store)
    await store.close()
  }
}

async function readAll(path: string): Promise<Model> {
  const store = await Zrecord.open(path, { verify: 'always' })
  try {
    return await contents(store)
  } finally {
    await store.close()
  }
}

describe('a process that is killed', () => {
  it.concurrent.each(WORKS.flatMap((work) => Array.from({ length: STORES }, (_, i) => [work, i] as const)))(
    'in %s, store %i',
    async (work, i) => killAgainAndAgain(work, (WORKS.indexOf(work) * STORES + i) * 1000, KILLS / STORES, readAll),
  )
})

needs('python').describe('the original reads what a killed process left', () => {
  it('in every kind of work', async () => {
    const original = startReference()
    try {
      for (const [i, work] of WORKS.entries()) {
        await killAgainAndAgain(work, 100_000 + i * 1000, REFERENCE_KILLS, async (path) => {
          // It knows no journal: a delete or a compact that was interrupted is finished by ours first.
          if (existsSync(join(path, 'journal.zr'))) await (await Zrecord.open(path)).close()
          counts.reference++
          return original.records(path)
        })
      }
    } finally {
      await original.close()
    }
    expect(counts.reference).toBe(WORKS.length * REFERENCE_KILLS)
  })
})
