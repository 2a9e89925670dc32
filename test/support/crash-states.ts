// Test support: the states that a crash may leave, from the log of what was done to a disk.
import { Disk, directoryOf, type Effect, SECTOR } from './disk.ts'

/** A disk after a crash. */
export interface CrashState {
  readonly disk: Disk
  /** Operations 0 … `done` - 1 of the history had returned. */
  readonly done: number
  /** Whether operation `done` had been begun. */
  readonly underway: boolean
  readonly what: string
}

/** Gives numbers 0 ≤ x < 1. */
export type Random = () => number

/** Random numbers that are the same for the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const PAGE = 4096
/** Cuts inside one write: all of them up to this many, else as many by chance. */
const MAX_CUTS = 6

class Progress {
  done = 0
  underway = false

  follow(effect: Effect): void {
    if (effect.kind === 'begin') this.underway = true
    if (effect.kind === 'end') {
      this.done = effect.operation + 1
      this.underway = false
    }
  }
}

function changes(effect: Effect): boolean {
  return ['write', 'truncate', 'create', 'rename', 'remove'].includes(effect.kind)
}

/** What a kill may leave: every prefix of the log, and a write that was cut at the end of a page. */
export function* killStates(start: Disk, log: readonly Effect[], random: Random): Generator<CrashState> {
  const disk = new Disk(start)
  const progress = new Progress()
  const state = (what: string, from: Disk): CrashState => ({
    disk: new Disk(from),
    done: progress.done,
    underway: progress.underway,
    what,
  })
  yield state('kill before the first change', disk)
  for (const [i, effect] of log.entries()) {
    if (effect.kind === 'write') {
      const cuts: number[] = []
      for (let at = PAGE - (effect.offset % PAGE); at < effect.bytes.length; at += PAGE) cuts.push(at)
      while (cuts.length > MAX_CUTS) cuts.splice(Math.floor(random() * cuts.length), 1)
      for (const cut of cuts) {
        const torn = new Disk(disk)
        torn.apply({ ...effect, bytes: effect.bytes.subarray(0, cut) })
        yield state(`kill in change ${i} (${effect.kind}), after ${cut} bytes`, torn)
      }
    }
    disk.apply(effect)
    progress.follow(effect)
    if (changes(effect) || effect.kind === 'end') yield state(`kill after change ${i} (${effect.kind})`, disk)
  }
}

/** The parts of a change that reach the disk or do not, each for itself: sectors, or the whole of it. */
function parts(effect: Effect): Effect[] {
  if (effect.kind !== 'write') return [effect]
  const pieces: Effect[] = []
  for (let at = 0; at < effect.bytes.length; ) {
    const bytes = effect.bytes.subarray(at, at + SECTOR - ((effect.offset + at) % SECTOR))
    pieces.push({ ...effect, offset: effect.offset + at, bytes })
    at += bytes.length
  }
  return pieces
}

/** Which of `count` parts arrive: every choice where there are few, else all, none, each alone missing, and by chance. */
function* choices(count: number, most: number, random: Random): Generator<(part: number) => boolean> {
  if (2 ** count <= most) {
    for (let bits = 0; bits < 2 ** count; bits++) yield (part) => (bits & (1 << part)) !== 0
    return
  }
  yield () => false
  yield () => true
  let left = most - 2
  for (let one = 0; one < count && left > most / 2; one++, left--) yield (part) => part !== one
  for (; left > 0; left--) {
    const share = random()
    const chosen = Uint8Array.from({ length: count }, () => (random() < share ? 1 : 0))
    yield (part) => chosen[part] === 1
  }
}

/**
 * What a power cut may leave: everything flushed, and of the rest any choice, writes torn at sectors. A file's flush
 * says nothing about its name, and a directory's nothing about its files. Nothing is assumed of the order in which a
 * directory's names reach the disk, only that a rename is one change. Looked at where most is unflushed (before each
 * flush) and where most is promised (after each operation): the states in between are among these.
 */
export function* powerStates(start: Disk, log: readonly Effect[], most: number, random: Random): Generator<CrashState> {
  const safe = new Disk(start)
  let pending: Effect[] = []
  const progress = new Progress()
  const last: Effect = { kind: 'end', operation: Number.NaN }
  for (const [i, effect] of [...log, last].entries()) {
    const flush = effect.kind === 'flush' || effect.kind === 'flushDirectory'
    if (effect !== last) progress.follow(effect)
    if (flush || effect.kind === 'end') {
      for (const arrives of choices(pending.length, most, random)) {
        const disk = new Disk(safe)
        const lost: number[] = []
        pending.forEach((part, number) => {
          if (arrives(number)) disk.apply(part)
          else lost.push(number)
        })
        const what = `power cut at change ${i} (${effect.kind}), parts ${lost.join(' ')} of ${pending.length} lost`
        yield { disk, done: progress.done, underway: progress.underway, what }
      }
    }
    if (flush) {
      const flushed = (part: Effect): boolean => {
        if (effect.kind === 'flush')
          return (part.kind === 'write' || part.kind === 'truncate') && part.file === effect.file
        return 'name' in part && directoryOf(part.name) === effect.directory
      }
      for (const part of pending) if (flushed(part)) safe.apply(part)
      pending = pending.filter((part) => !flushed(part))
    } else if (changes(effect)) pending.push(...parts(effect))
  }
}
