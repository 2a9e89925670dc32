// crash/: every state that a kill or a power cut may leave of small histories, for each operation that writes; and
// samples of long random ones. The number of states tried is printed and stands in docs/reliability.md.
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { noise, runs } from '../support/bytes.ts'
import {
  check,
  type Durability,
  glanceAt,
  goOn,
  lookAt,
  type Model,
  type Operation,
  type Preparation,
  preparedDisk,
  type Recording,
  record,
  same,
  storePath,
} from '../support/crash.ts'
import { killStates, powerStates, randomFrom } from '../support/crash-states.ts'
import type { Disk, Effect } from '../support/disk.ts'

const counts = new Map<string, { states: number; again: number }>()

afterAll(() => {
  const lines = [...counts].map(
    ([name, { states, again }]) => `crash: ${name}: ${states} states, ${again} of a second crash`,
  )
  console.log(lines.join('\n'))
})

/** One state in so many is also read through the public API, and written on. */
const FULL_EVERY = 23

interface Effort {
  /** Choices of lost parts at each power cut. */
  readonly most: number
  /** States of a second crash, while the first is repaired, for each state. */
  readonly second: number
  readonly seed?: number
  readonly share?: number
}

/** Tries all crash states of a recording. */
async function tryAll(name: string, recording: Recording, kind: 'kill' | 'power', effort: Effort): Promise<void> {
  const random = randomFrom(effort.seed ?? 1)
  const count = counts.get(name) ?? { states: 0, again: 0 }
  counts.set(name, count)
  const { start, log } = recording
  const states = (from: Disk, done: readonly Effect[], most: number) =>
    kind === 'kill' ? killStates(from, done, random) : powerStates(from, done, most, random)
  for (const state of states(start, log, effort.most)) {
    if (effort.share !== undefined && random() > effort.share) continue
    const found = await check(recording, state, glanceAt)
    if (count.states++ % FULL_EVERY === 0) {
      const read = await check(recording, state, lookAt)
      expect(read.model === found.model || same(read.model!, found.model!)).toBe(true)
      await goOn(recording.path, read)
    }
    if (found.recovery.length === 0) continue
    for (const second of states(state.disk, found.recovery, effort.second)) {
      const { done, underway } = state
      await check(
        recording,
        { disk: second.disk, done, underway, what: `${state.what}; again ${second.what}` },
        glanceAt,
      )
      count.again++
    }
  }
}

const small = (count: number, bytes: number, seed: number): Model =>
  Array.from({ length: count }, (_, i) => noise(bytes + i, seed + i))
const mixed = (count: number, bytes: number, seed: number): Model =>
  Array.from({ length: count }, (_, i) => (i % 3 === 2 ? noise(bytes, seed + i) : runs(bytes + i, seed + i)))

const append = (records: Model, codec: 'raw' | 'flate' = 'raw'): Operation => ({ kind: 'append', records, codec })
const remove = (...targets: number[]): Operation => ({ kind: 'delete', targets })
const compact = (moveBytes: number): Operation => ({ kind: 'compact', moveBytes })

interface Scenario {
  readonly name: string
  readonly prepare?: readonly Preparation[]
  readonly history: readonly Operation[]
}

const scenarios: readonly Scenario[] = [
  { name: 'create and first append', history: [append(small(2, 40, 1))] },
  {
    name: 'append raw',
    prepare: [append(small(2, 300, 1))],
    history: [append(small(3, 60, 5)), append(small(1, 20, 9)), append(small(2, 900, 11))],
  },
  {
    name: 'append flate',
    prepare: [append(mixed(2, 300, 1), 'flate')],
    history: [append(mixed(3, 200, 5), 'flate'), append(mixed(4, 700, 9), 'flate')],
  },
  {
    name: 'delete',
    prepare: [append(small(6, 200, 1)), append(mixed(4, 300, 20), 'flate')],
    history: [remove(1, 8), remove(7), remove(0, 1, 2), append(small(1, 50, 40)), remove(4, 4)],
  },
  {
    name: 'compact, one move that overlaps itself',
    prepare: [append(small(6, 200, 1)), remove(0)],
    history: [compact(2 ** 20), append(small(1, 30, 9))],
  },
  {
    name: 'compact, moves that do not overlap',
    prepare: [append([noise(900, 1), ...small(4, 100, 2)]), remove(0)],
    history: [compact(300), append(small(1, 30, 9))],
  },
  {
    name: 'compact, many moves of both kinds',
    prepare: [append(mixed(9, 250, 1), 'flate'), remove(0, 3), append(small(3, 120, 50)), remove(2)],
    history: [compact(350), remove(0), compact(150)],
  },
  {
    name: 'append across a rollover',
    prepare: [append(small(1, 100, 1)), { kind: 'frontier', left: 700 }],
    history: [append(small(5, 250, 5)), append(mixed(3, 300, 30), 'flate')],
  },
  {
    name: 'compact, chunk files removed',
    prepare: [
      append(small(2, 300, 1)),
      { kind: 'frontier', left: 300 },
      append(small(2, 200, 5)),
      { kind: 'frontier', left: 100 },
      append(small(3, 150, 9)),
      remove(0),
    ],
    history: [compact(400), append(small(1, 44, 20))],
  },
  {
    name: 'delete all, compact to nothing',
    prepare: [append(small(3, 100, 1))],
    history: [remove(0, 1, 2), compact(99), append(small(1, 9, 7))],
  },
]

describe.each(['kill', 'power'] as const)('%s', (kind) => {
  const durability: Durability = kind === 'kill' ? 'process' : 'power'

  it.each(scenarios)('$name', async ({ name, prepare, history }) => {
    const path = storePath()
    const from = prepare === undefined ? undefined : await preparedDisk(path, prepare)
    const recording = await record(path, history, durability, from)
    await tryAll(`${name} (${kind})`, recording, kind, { most: 512, second: 16 })
  })
})
