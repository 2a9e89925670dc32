// Test support: processes and worker threads that take locks on a store (locker.mjs), and stores to lock.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { onTestFinished } from 'vitest'
import type { LockHolder } from '#dist/errors.js'
import type { LockMode, LockRole } from '#dist/storage/lock.js'
import { tempDir } from './stores.ts'

const script = fileURLToPath(new URL('locker.mjs', import.meta.url))

/** One lock as a locker is told to take it. */
interface Wish {
  readonly name?: string
  readonly path: string
  readonly mode: LockMode
  readonly role?: LockRole
  readonly timeout?: number
  /** Names of the locker's own locks. */
  readonly excluding?: readonly string[]
}

/** An error as it came back from a locker. */
interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { readonly holders?: LockHolder[] }
}

/** A process or thread that takes locks. It is ended when the test is. */
export interface Locker {
  readonly pid: number
  acquire(wish: Wish): Promise<void>
  acquireSync(wish: Wish): Promise<void>
  /** The error with which it was refused; throws when it was not. */
  refusal(wish: Wish): Promise<Refusal>
  release(name?: string): Promise<void>
  call(command: string, args?: object): Promise<unknown>
  /** Ends it without a chance to release anything, and waits until it is gone. */
  kill(): Promise<void>
}

/** What is locked, and where the notes are. */
export interface Place {
  readonly store: string
  readonly notes: string
}

/** A directory with the two files that are locked, and an empty directory for the notes, which the test's process uses too. */
export function newPlace(): Place {
  const directory = tempDir()
  const store = join(directory, 'store')
  mkdirSync(store)
  for (const name of ['meta.zr', '0.zr']) writeFileSync(join(store, name), 'x')
  const place = { store, notes: join(directory, 'notes') }
  process.env['LOADERX_LOCK_DIR'] = place.notes
  return place
}

/** The files among the notes. */
export function noteFiles({ notes }: Place): string[] {
  if (!existsSync(notes)) return []
  return readdirSync(notes, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'))
}

/** Starts a process or a thread of this process. */
export async function startLocker(
  place: Place,
  options: { readonly koffi: boolean; readonly where?: 'process' | 'thread' },
): Promise<Locker> {
  const env = { ...process.env, LOADERX_LOCK_DIR: place.notes, LOADERX_NO_KOFFI: options.koffi ? '0' : '1' }
  const pending = new Map<number, (reply: Reply) => void>()
  const receive = (reply: Reply) => {
    pending.get(reply.id)?.(reply)
    pending.delete(reply.id)
  }
  const { send, kill } = options.where === 'thread' ? startThread(env, receive) : startProcess(env, receive)
  onTestFinished(kill)
  let count = 0
  const ask = async (command: string, args: object = {}) => {
    const id = count++
    const reply = new Promise<Reply>((resolve) => pending.set(id, resolve))
    send({ ...args, id, command })
    return reply
  }
  const call = async (command: string, args?: object) => {
    const { value, error } = await ask(command, args)
    if (error !== undefined) throw Object.assign(new Error(error.message), error)
    return value
  }
  const named = (wish: Wish) => ({ name: 'lock', ...wish })
  return {
    pid: (await call('ready')) as number,
    call,
    kill,
    acquire: async (wish) => void (await call('acquire', named(wish))),
    acquireSync: async (wish) => void (await call('acquireSync', named(wish))),
    refusal: async (wish) => {
      const { error } = await ask('acquire', named(wish))
      if (error === undefined) throw new Error(`${wish.mode} was not refused`)
      return error
    },
    release: async (name = 'lock') => void (await call('release', { name })),
  }
}

interface Reply {
  readonly id: number
  readonly value?: unknown
  readonly error?: Refusal
}
type Receive = (reply: Reply) => void

function startThread(env: NodeJS.ProcessEnv, receive: Receive) {
  const worker = new Worker(script, { env })
  worker.on('message', receive)
  return { send: (message: object) => worker.postMessage(message), kill: async () => void (await worker.terminate()) }
}

function startProcess(env: NodeJS.ProcessEnv, receive: Receive) {
  const child: ChildProcess = spawn(process.execPath, [script], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  createInterface({ input: child.stdout! }).on('line', (line) => receive(JSON.parse(line)))
  const gone = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await gone
  }
  return { send: (message: object) => void child.stdin!.write(`${JSON.stringify(message)}\n`), kill }
}
