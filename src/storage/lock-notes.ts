// storage/: the notes that holders of locks leave in a directory of the machine, so that a refused call can name them,
// and so that there are locks where there is no flock. Nothing is ever written into the store.

import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'
import { LoaderxError, type LockHolder } from '../errors.ts'
import { ioError } from './io-error.ts'
import { formatNoteName, judge, type LockMode, type LockRole, type NoteName, parseNoteName } from './lock-rules.ts'
import { ownMark, startOf } from './process-mark.ts'

/** A note of a process that lives, or may live. */
export interface Note extends NoteName {
  readonly path: string
  /** Whether the process was seen to live. */
  readonly verified: boolean
}

/** A note as its owner has it. */
export interface OwnNote {
  readonly nonce: string
  /** Says that the lock is held, and no longer only tried for. */
  confirm(): void
  /** Removes the note. A second call does nothing. */
  withdraw(): void
}

// `held` stands first and is one digit, so that one byte written in place changes it.
const HELD_AT = '{"held":'.length

let count = 0
const left = new Set<() => void>()
let hooked = false

/** The notes about one store. */
export class LockNotes {
  /** The store's identity on this machine; two paths to one store have the same. */
  readonly store: string
  readonly #directory: string

  /** @throws LOADERX_NOT_FOUND, LOADERX_NOT_A_DIRECTORY, LOADERX_IO when there is nothing at `path` */
  constructor(path: string) {
    try {
      const { dev, ino } = statSync(path, { bigint: true })
      this.store = `${dev.toString(16)}-${ino.toString(16)}`
      // 256 directories hold the notes of all stores, so that few have to be read and none has to be made for long.
      this.#directory = join(rootDirectory(), (ino % 256n).toString(16).padStart(2, '0'))
    } catch (cause) {
      throw ioError('lock', path, cause)
    }
  }

  /**
   * The notes, of processes that live or may live, whose mode satisfies `matters`; those of the dead are removed.
   * Throws when it cannot look.
   */
  list(matters: (note: NoteName) => boolean): Note[] {
    let names: string[]
    try {
      names = readdirSync(this.#directory)
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return []
      throw error
    }
    const all = names.flatMap((name) => (name.startsWith(`${this.store}.`) ? (parseNoteName(name) ?? []) : []))
    const notes = all.filter(matters)
    const found = notes.flatMap((note) => this.#look(note) ?? [])
    // Of the others, which may be many, one at a time: so the dead disappear without much work for anybody.
    const other = all[Math.floor(Math.random() * all.length)]
    if (other !== undefined && !notes.includes(other)) this.#look(other)
    return found
  }

  #look(note: NoteName): Note | undefined {
    const path = join(this.#directory, formatNoteName(note))
    const state = judge(note, ownMark(), startOf)
    if (state === 'dead') attempt(() => unlinkSync(path))
    return state === 'dead' ? undefined : { ...note, path, verified: state === 'alive' }
  }

  /** Leaves a note. Throws when that is not possible. */
  announce(mode: LockMode, role: LockRole, flock: boolean): OwnNote {
    const nonce = newNonce()
    const path = join(this.#directory, formatNoteName({ ...ownMark(), store: this.store, mode, flock, nonce }))
    let fd: number | undefined = this.#create(path)
    const close = () => {
      if (fd !== undefined) closeSync(fd)
      fd = undefined
    }
    const facts = { held: 0, pid: process.pid, host: hostname(), mode, role, since: new Date().toISOString() }
    // The name alone decides; on a full disk the note stays empty, and only messages say less.
    attempt(() => fchmodSync(fd!, 0o644))
    attempt(() => writeSync(fd!, JSON.stringify(facts), 0))
    const withdraw = () => {
      close()
      if (!left.delete(withdraw)) return
      attempt(() => unlinkSync(path))
    }
    leaveOnExit()
    left.add(withdraw)
    const confirm = () => {
      attempt(() => writeSync(fd!, '1', HELD_AT))
      close()
    }
    return { nonce, confirm, withdraw }
  }

  #create(path: string): number {
    for (let tries = 1; ; tries += 1) {
      try {
        return openSync(path, 'wx', 0o644)
      } catch (error) {
        // The second time something removes what has just been made.
        if (!hasCode(error, 'ENOENT') || tries === 3) throw error
        makeShared(join(this.#directory, '..'))
        makeShared(this.#directory)
      }
    }
  }
}

/**
 * What a note says, and whether its lock is held (and not only tried for); undefined when the note is gone.
 */
export function readNote(note: Note): { readonly holder: LockHolder; readonly held: boolean } | undefined {
  const { pid, mode, verified, path } = note
  let facts: Record<string, unknown> = {}
  try {
    facts = Object(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
  }
  const text = (name: string) => (typeof facts[name] === 'string' ? facts[name] : undefined)
  const holder = { pid, host: text('host') ?? note.host, mode, role: text('role'), since: text('since'), verified }
  return { holder: { ...holder, note: path }, held: facts['held'] === 1 }
}

/** The directory of all notes of this machine. Not TMPDIR, which batch systems set anew for every job. */
function rootDirectory(): string {
  const chosen = process.env['LOADERX_LOCK_DIR']
  if (chosen !== undefined && chosen !== '') return chosen
  const shared = '/tmp'
  return join(process.platform !== 'win32' && existsSync(shared) ? shared : tmpdir(), 'loaderx-locks')
}

function leaveOnExit(): void {
  if (hooked) return
  hooked = true
  process.once('exit', () => {
    for (const withdraw of left) withdraw()
  })
}

// Every user leaves notes there, and removes only their own: so it must not appear before its mode is set. A link could
// lead anywhere, so none is followed.
function makeShared(directory: string): void {
  const found = lstatSync(directory, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (found !== undefined) {
    const message = `${directory} is not a directory; remove it`
    throw new LoaderxError('LOADERX_NOT_A_DIRECTORY', message, { path: directory })
  }
  const fresh = `${directory}~${newNonce()}`
  mkdirSync(fresh)
  try {
    chmodSync(fresh, 0o1777)
    renameSync(fresh, directory)
  } catch {
    // Another was faster.
    attempt(() => rmdirSync(fresh))
  }
}

function newNonce(): string {
  count += 1
  return [process.pid, threadId, count, Math.random().toString(36).slice(2)].join('x')
}

function hasCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code
}

function attempt(action: () => void): void {
  try {
    action()
  } catch {
    // What fails here changes no lock.
  }
}
