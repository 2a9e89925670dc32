// Test support: tries every crash state of a recorded history and counts them. Importing this file prints the counts of
// the test file that imports it.
import { afterAll, expect } from 'vitest'
import { check, glanceAt, goOn, lookAt, type Recording, same } from './crash.ts'
import { type CrashState, killStates, powerStates, randomFrom } from './crash-states.ts'
import type { Disk, Effect } from './disk.ts'

const counts = new Map<string, { states: number; second: number; full: number }>()

afterAll(() => {
  const line = (name: string, { states, second, full }: { states: number; second: number; full: number }) =>
    `crash: ${name}: ${states} states, ${second} of a second crash, ${full} also written on`
  const total = { states: 0, second: 0, full: 0 }
  const lines = [...counts].map(([name, count]) => {
    for (const key of ['states', 'second', 'full'] as const) total[key] += count[key]
    return line(name, count)
  })
  console.log([...lines, line('all of this file', total)].join('\n'))
})

/** The counts under a name. */
export function countsOf(name: string): { states: number; second: number; full: number } {
  const count = counts.get(name) ?? { states: 0, second: 0, full: 0 }
  counts.set(name, count)
  return count
}

export type CrashKind = 'kill' | 'power'

/** How much is tried. */
export interface Effort {
  /** Choices of lost parts at each power cut. */
  readonly most: number
  /** The same for a second crash, while the first is repaired; 0: there is none. */
  readonly second: number
  /** One state in so many is also read through the public API and written on. */
  readonly fullEvery: number
  readonly seed: number
  /** Share of the states that is tried, by chance. */
  readonly share: number
}

/** The crash states of a log. */
export function crashStates(
  kind: CrashKind,
  start: Disk,
  log: readonly Effect[],
  most: number,
  random: () => number,
): Generator<CrashState> {
  return kind === 'kill' ? killStates(start, log, random) : powerStates(start, log, most, random)
}

/** Tries the crash states of a recording. */
export async function tryAll(name: string, recording: Recording, kind: CrashKind, effort: Effort): Promise<void> {
  const random = randomFrom(effort.seed)
  const count = countsOf(name)
  const { start, log } = recording
  for (const state of crashStates(kind, start, log, effort.most, random)) {
    if (random() > effort.share) continue
    const found = await check(recording, state, glanceAt)
    if (count.states++ % effort.fullEvery === 0) {
      const read = await check(recording, state, lookAt)
      expect(read.model === found.model || same(read.model!, found.model!)).toBe(true)
      await goOn(recording.path, read)
      count.full++
    }
    if (found.recovery.length === 0 || effort.second === 0) continue
    for (const second of crashStates(kind, state.disk, found.recovery, effort.second, random)) {
      const what = `${state.what}; again ${second.what}`
      await check(recording, { disk: second.disk, done: state.done, underway: state.underway, what }, glanceAt)
      count.second++
    }
  }
}
