// crash/: every state that a kill or a power cut may leave of small histories, for each operation that writes; and
// samples of long random ones. The number of states tried is printed and stands in docs/reliability.md.
import { describe, expect, it } from 'vitest'
import { noise, runs } from '../support/bytes.ts'
import {
  type Durability,
  type Failing,
  type Model,
  type Operation,
  type Preparation,
  preparedDisk,
  record,
  storePath,
} from '../support/crash.ts'
import { tryAll } from '../support/crash-runs.ts'
import type { Effect } from '../support/disk.ts'

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
    name: 'append of many pages',
    prepare: [append(small(1, 77, 1))],
    history: [append(small(8, 3000, 5)), append(mixed(9, 4000, 30), 'flate')],
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
  const fullEvery = kind === 'kill' ? 4 : 40

  it.each(scenarios)('$name', async ({ name, prepare, history }) => {
    const path = storePath()
    const from = prepare === undefined ? undefined : await preparedDisk(path, prepare)
    const recording = await record(path, history, durability, from)
    await tryAll(`${name} (${kind})`, recording, kind, { most: 1024, second: 16, fullEvery, seed: 1, share: 1 })
  })
})

const FULL_DISK: ReadonlySet<Effect['kind']> = new Set(['write', 'truncate', 'create'])
const ANY_CALL: ReadonlySet<Effect['kind']> = new Set([...FULL_DISK, 'rename', 'remove', 'flush', 'flushDirectory'])

describe.each([
  { failure: 'a full disk at one call', lasting: false, kinds: FULL_DISK },
  { failure: 'a full disk until the operation gives up', lasting: true, kinds: FULL_DISK },
  { failure: 'a failure of any one call', lasting: false, kinds: ANY_CALL },
  { failure: 'failures of all calls until the operation gives up', lasting: true, kinds: ANY_CALL },
])('$failure, then a crash', ({ failure, lasting, kinds }) => {
  it.each(scenarios.filter(({ prepare }) => prepare !== undefined))('$name', async ({ prepare, history }) => {
    const path = storePath()
    const from = await preparedDisk(path, prepare!)
    for (const [kind, durability] of [
      ['kill', 'process'],
      ['power', 'power'],
    ] as const) {
      let tried = 0
      for (let at = 0; ; at++) {
        const failing: Failing = { at, lasting, kinds }
        const recording = await record(path, history, durability, from, failing)
        if (!recording.failed) break
        tried++
        await tryAll(`${failure} (${kind})`, recording, kind, {
          most: 12,
          second: 2,
          fullEvery: 500,
          seed: at,
          share: 0.07,
        })
      }
      expect(tried).toBeGreaterThan(4)
    }
  })
})
