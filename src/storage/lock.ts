// storage/: locks on a store's directory, between handles of one process and between processes: flock where there is
// one, and notes of the holders everywhere (docs/locks.md has the protocol and why it is right).

import { setTimeout as sleep } from 'node:timers/promises'
import { LoaderxError, type LockHolder } from '../errors.ts'
import { Flocks, hasFlock } from './flock.ts'
import { ioError } from './io-error.ts'
import { LockNotes, type Note, type OwnNote, readNote } from './lock-notes.ts'
import { conflict, type LockMode, type LockRole, lockedError } from './lock-rules.ts'

export type { LockMode, LockRole } from './lock-rules.ts'

/** Options of {@link acquireLock}. */
export interface LockOptions {
  /** Milliseconds to wait for holders to let go. Default 0: refuse at once. */
  readonly timeout?: number
  /** Gives the waiting up. */
  readonly signal?: AbortSignal | undefined
  /**
   * Locks of the caller that do not hinder an exclusive lock: a handle's own shared and append locks. They are held
   * again as before once the exclusive lock is released. Released ones and those of other stores are ignored.
   */
  readonly excluding?: readonly Lock[]
}

// An attempt that is under way, and may be withdrawn, is no reason to refuse yet: that takes microseconds. After so
// many milliseconds it counts as a holder.
const GRACE = 100
const FIRST_PAUSE = 5
const LONGEST_PAUSE = 100

interface Parts {
  readonly store: string
  readonly flocks: Flocks | undefined
  readonly note: OwnNote | undefined
}

let partsOf: (lock: Lock) => Parts | undefined

/** A lock that is held until it is released or its process ends. */
export class Lock {
  /** Directory of the store. */
  readonly path: string
  /** What it excludes. */
  readonly mode: LockMode
  /** What it is held for. */
  readonly role: LockRole
  #parts: Parts | undefined

  static {
    partsOf = (lock) => lock.#parts
  }

  /** @internal Use {@link acquireLock}. */
  constructor(path: string, mode: LockMode, role: LockRole, parts: Parts) {
    this.path = path
    this.mode = mode
    this.role = role
    this.#parts = parts
  }

  /** Lets go. A second call does nothing. */
  release(): void {
    const parts = this.#parts
    this.#parts = undefined
    parts?.flocks?.release()
    parts?.note?.withdraw()
  }

  /** {@link release}, for `using`. */
  [Symbol.dispose](): void {
    this.release()
  }
}

/** Why an attempt failed. */
interface Refusal {
  readonly holders: readonly LockHolder[]
  /** Whether a lock that is held is among the reasons, and not only attempts of others. */
  readonly settled: boolean
}

/**
 * Locks the store in the directory `path`, which must have its meta.zr and 0.zr. Nothing in the directory changes.
 * @throws LOADERX_LOCKED when others hold it longer than `timeout`; LOADERX_NOT_FOUND, LOADERX_NOT_A_STORE, LOADERX_IO;
 * LOADERX_INVALID_ARGUMENT; the signal's reason
 */
export async function acquireLock(
  path: string,
  mode: LockMode,
  role: LockRole,
  options: LockOptions = {},
): Promise<Lock> {
  const { timeout = 0, signal, excluding = [] } = options
  if (typeof timeout !== 'number' || !(timeout >= 0)) {
    const message = `the timeout of a lock is ${String(timeout)}; give milliseconds, 0 or more, or Infinity`
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { path, actual: timeout })
  }
  signal?.throwIfAborted()
  const started = performance.now()
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    const result = attempt(path, mode, role, excluding)
    if (result instanceof Lock) return result
    const left = started + Math.max(timeout, result.settled ? 0 : GRACE) - performance.now()
    if (left <= 0) throw refused(path, mode, role, result, timeout)
    await sleep(Math.min(left, jitter(pause)), undefined, { signal }).catch(() => signal?.throwIfAborted())
  }
}

/** As {@link acquireLock} without a timeout, at once. */
export function acquireLockSync(path: string, mode: LockMode, role: LockRole, excluding: readonly Lock[] = []): Lock {
  const started = performance.now()
  for (;;) {
    const result = attempt(path, mode, role, excluding)
    if (result instanceof Lock) return result
    if (result.settled || performance.now() - started > GRACE) throw refused(path, mode, role, result, 0)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, jitter(2))
  }
}

// Two attempts that met would otherwise meet again and again.
function jitter(milliseconds: number): number {
  return milliseconds * (0.5 + Math.random() / 2)
}

function refused(path: string, mode: LockMode, role: LockRole, { holders }: Refusal, waited: number): LoaderxError {
  return lockedError(path, mode, role, holders, waited, process.pid)
}

function attempt(path: string, mode: LockMode, role: LockRole, excluding: readonly Lock[]): Lock | Refusal {
  const notes = new LockNotes(path)
  const own = mode === 'exclusive' ? excluding.flatMap((lock) => partsOf(lock) ?? []) : []
  const here = own.filter((parts) => parts.store === notes.store)
  const nonces = new Set(here.map((parts) => parts.note?.nonce))
  const inTheWay = () => notes.list((note) => conflict(mode, note.mode) && !nonces.has(note.nonce))

  // To look first keeps an attempt that will be refused from getting in the way of others.
  const canFlock = hasFlock()
  const before = usable(path, inTheWay)
  const decided = before.value?.filter((note) => !(canFlock && note.flock)) ?? []
  if (decided.length > 0) return refusal(decided)

  const ownFlocks = here.flatMap((parts) => parts.flocks ?? [])
  const taken = Flocks.take(path, mode, ownFlocks)
  if (taken === 'busy') return refusal(usable(path, inTheWay).value ?? [])
  const flocks = taken === 'unsupported' ? undefined : taken
  let note: OwnNote | undefined
  let lock: Lock | undefined
  try {
    const after = usable(path, () => {
      note = notes.announce(mode, role, flocks !== undefined)
      nonces.add(note.nonce)
      return inTheWay().filter((other) => !(flocks !== undefined && other.flock))
    })
    if (after.value === undefined && flocks === undefined && mode !== 'shared') throw cannotLock(path, after.error)
    if (after.value !== undefined && after.value.length > 0) return refusal(after.value)
    note?.confirm()
    lock = new Lock(path, mode, role, { store: notes.store, flocks, note })
    return lock
  } finally {
    if (lock === undefined) {
      flocks?.release()
      note?.withdraw()
    }
  }
}

/** The result of what needs the notes, or why they cannot be used. */
function usable<T>(path: string, action: () => T): { readonly value?: T; readonly error?: unknown } {
  try {
    return { value: action() }
  } catch (error) {
    // That would pass for a machine without notes, and the next moment they are there again.
    if (['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '')) throw ioError('lock', path, error)
    return { error }
  }
}

function refusal(notes: readonly Note[]): Refusal {
  const found = notes.map(readNote).filter((one) => one !== undefined)
  const held = found.filter((one) => one.held)
  const holders = (held.length > 0 ? held : found).map((one) => one.holder)
  return { holders, settled: held.length > 0 }
}

function cannotLock(path: string, cause: unknown): LoaderxError {
  const message = `${path} cannot be locked to change it: this system has no flock (koffi is missing or the file system lacks it), and notes cannot be left in the lock directory (${(cause as Error).message}); set LOADERX_LOCK_DIR to a directory that all users of the store may write`
  return new LoaderxError('LOADERX_IO', message, { path }, { cause })
}
