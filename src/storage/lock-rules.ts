// storage/: what locks mean, as pure functions: which exclude each other, how a holder's note is named, when its holder
// is dead, and what a refused call says. No I/O.

import { LoaderxError, type LockHolder } from '../errors.ts'

/** `shared`: others may read and append. `append`: others may read. `exclusive`: nobody else. */
export type LockMode = 'shared' | 'append' | 'exclusive'

/** What a lock is held for; shown to those whom it refuses. */
export type LockRole = 'reader' | 'loader' | 'append' | 'delete' | 'compact' | 'trim' | 'seal' | 'repair'

/** Whether two locks of different owners exclude each other. */
export function conflict(a: LockMode, b: LockMode): boolean {
  return a === 'exclusive' || b === 'exclusive' || (a === 'append' && b === 'append')
}

/** A process, as far as another process can tell. */
export interface ProcessMark {
  readonly pid: number
  /** When it started, in the kernel's ticks since boot; '0' where the system does not say. */
  readonly start: string
  /** Number of its PID namespace (a container has its own); '0' where there are none. */
  readonly space: string
  /** Id of the system's boot; '0' where there is none. */
  readonly boot: string
  /** As {@link hostMark} gives it. */
  readonly host: string
}

/** A host name as it can stand in a file name between dots. */
export function hostMark(hostname: string): string {
  return hostname.replaceAll(/[^\w-]/g, '_').slice(0, 64)
}

/** What a note's name says. All that decides is in the name, because a file appears with its name at once. */
export interface NoteName extends ProcessMark {
  /** The store that is locked: device and inode of its directory. */
  readonly store: string
  readonly mode: LockMode
  /** Whether the lock is also held with flock, so that those who can ask flock need not believe the note. */
  readonly flock: boolean
  readonly nonce: string
}

const NAME =
  /^([\da-f]+-[\da-f]+)\.(shared|append|exclusive)\.(flock|note)\.(\d+)\.(\d+)\.(\d+)\.(\w+)\.([\w-]*)\.(\w+)\.json$/

/** The file name of a note. */
export function formatNoteName(note: NoteName): string {
  const { store, mode, flock, pid, start, space, boot, host, nonce } = note
  return [store, mode, flock ? 'flock' : 'note', pid, start, space, boot, host, nonce, 'json'].join('.')
}

/** What a note's file name says, or undefined when it is no note. */
export function parseNoteName(name: string): NoteName | undefined {
  const match = NAME.exec(name)
  if (match === null) return undefined
  const [, store, mode, means, pid, start, space, boot, host, nonce] = match as unknown as string[]
  return {
    store: store!,
    mode: mode as LockMode,
    flock: means === 'flock',
    pid: Number(pid),
    start: start!,
    space: space!,
    boot: boot!,
    host: host!,
    nonce: nonce!,
  }
}

/**
 * Whether the process that left a note still lives: `unknown` when it cannot be seen from here (another container,
 * another machine).
 * @param startOf start of the process with this pid, '0' where it cannot be told, undefined when there is none
 */
export function judge(
  note: ProcessMark,
  own: ProcessMark,
  startOf: (pid: number) => string | undefined,
): 'alive' | 'dead' | 'unknown' {
  // The same machine, started anew since.
  if (note.boot !== own.boot) return note.host === own.host ? 'dead' : 'unknown'
  // Where the system names no boot, machines are told apart by their names alone.
  if (note.boot === '0' && note.host !== own.host) return 'unknown'
  if (note.space !== own.space) return 'unknown'
  const start = startOf(note.pid)
  if (start === undefined) return 'dead'
  return start === '0' || note.start === '0' || start === note.start ? 'alive' : 'dead'
}

const PURPOSE: Readonly<Record<LockRole, string>> = {
  reader: 'cannot be opened to read',
  loader: 'cannot be opened for a loader',
  append: 'cannot be appended to',
  delete: 'cannot have records deleted',
  compact: 'cannot be compacted',
  trim: 'cannot be trimmed',
  seal: 'cannot be sealed',
  repair: 'cannot be repaired',
}

/** The error of a call that found the store at `path` locked. `holders` may be empty when none left a note. */
export function lockedError(
  path: string,
  mode: LockMode,
  role: LockRole,
  holders: readonly LockHolder[],
  waited: number,
  ownPid: number,
): LoaderxError {
  const names = holders.map((holder) => describe(holder, ownPid)).join('; ')
  const why = mode === 'exclusive' ? 'it needs the store to itself, and the store is held by ' : 'it is held by '
  const after = waited > 0 ? ` after ${waited} ms of waiting` : ''
  const close = mode === 'exclusive' ? 'close the other handles and loaders' : 'let the holder finish, or close it'
  const wait = waited > 0 ? 'wait longer (timeout)' : 'wait (timeout: milliseconds)'
  const unseen = holders
    .filter((holder) => !holder.verified)
    .map(({ pid, host, note }) => `; if pid ${pid} on ${host} no longer runs, remove its note ${note}`)
  const message = `${path} ${PURPOSE[role]}${after}: ${why}${names || 'a process that left no note'}; ${close}, or ${wait}${unseen.join('')}`
  return new LoaderxError('LOADERX_LOCKED', message, { path, holders })
}

function describe(holder: LockHolder, ownPid: number): string {
  const self = holder.verified && holder.pid === ownPid ? ' (this process)' : ''
  const since = holder.since === undefined ? '' : ` since ${holder.since}`
  return `pid ${holder.pid}${self} on ${holder.host} (${holder.role ?? holder.mode}${since})`
}
