// storage/: the flock(2) half of a store's locks. The system itself drops a dead process's locks. Each lock has open
// files of its own, so that handles of one process exclude each other too.

import { chunkName, META_NAME } from '../format/limits.ts'
import { type FileMode, NodeDirectory, type StoreFile } from './files.ts'
import { koffi } from './koffi.ts'
import type { LockMode } from './lock-rules.ts'

// shared:    meta.zr shared
// append:    0.zr alone
// exclusive: 0.zr alone, then meta.zr alone
// Who wants meta.zr alone must have 0.zr first. So the holder of 0.zr can let go of its own shared locks on meta.zr and
// take them again without anybody slipping in between: flock cannot turn a shared lock into an exclusive one atomically.
// Both files are only ever changed in place, never replaced, or the locks would be on files that nobody looks at.
const GATE = chunkName(0)

const LOCK_SH = 1
const LOCK_EX = 2
const LOCK_NB = 4
const LOCK_UN = 8

/** Somebody else holds it, or the file system or machine has no flock. */
export type Refused = 'busy' | 'unsupported'

type Call = (fd: number, operation: number) => 'done' | Refused
let flock: Call | null | undefined

function flockCall(): Call | null {
  if (flock === undefined) {
    const library = koffi()
    const native = library
      ?.load(null)
      .func<(fd: number, operation: number) => number>('int flock(int fd, int operation)')
    const busy = library?.os.errno['EWOULDBLOCK']
    flock =
      native === undefined
        ? null
        : (fd, operation) => (native(fd, operation) === 0 ? 'done' : library?.errno() === busy ? 'busy' : 'unsupported')
  }
  return flock
}

/** Whether this process can call flock at all. */
export function hasFlock(): boolean {
  return flockCall() !== null
}

/** What one lock holds through flock. */
export class Flocks {
  #meta: StoreFile | undefined
  #gate: StoreFile | undefined
  #released = false
  /** Locks of the same owner whose share of meta.zr rests while this one has it alone. */
  #resting: readonly Flocks[] = []
  /** The lock of the same owner that lent this one 0.zr. */
  #lender: Flocks | undefined

  /**
   * Takes the locks of `mode` without waiting. An exclusive lock is not hindered by the locks in `own`.
   * @throws LOADERX_NOT_FOUND, LOADERX_NOT_A_STORE, LOADERX_IO when a file cannot be opened
   */
  static take(path: string, mode: LockMode, own: readonly Flocks[]): Flocks | Refused {
    const call = flockCall()
    if (call === null) return 'unsupported'
    const flocks = new Flocks()
    let result: 'done' | Refused | undefined
    try {
      result = flocks.#take(new NodeDirectory(path), mode, own, call)
    } finally {
      if (result !== 'done') flocks.release()
    }
    return result === 'done' ? flocks : result
  }

  #take(directory: NodeDirectory, mode: LockMode, own: readonly Flocks[], call: Call): 'done' | Refused {
    if (mode !== 'shared') {
      const result = this.#takeGate(directory, mode === 'exclusive' ? own : [], call)
      if (result !== 'done' || mode === 'append') return result
    }
    return this.#takeMeta(directory, mode, own, call)
  }

  #takeGate(directory: NodeDirectory, own: readonly Flocks[], call: Call): 'done' | Refused {
    this.#lender = own.find((lock) => lock.#gate !== undefined)
    if (this.#lender !== undefined) {
      this.#gate = this.#lender.#gate
      this.#lender.#gate = undefined
      return 'done'
    }
    // Network file systems want a file that is open to write before they lock it alone.
    const gate = lockFile(directory, GATE, 'write', LOCK_EX, call)
    if (typeof gate === 'string') return gate
    this.#gate = gate
    return 'done'
  }

  #takeMeta(directory: NodeDirectory, mode: LockMode, own: readonly Flocks[], call: Call): 'done' | Refused {
    const alone = mode === 'exclusive'
    if (alone) {
      this.#resting = own
      for (const lock of own) lock.#onMeta(LOCK_UN)
    }
    const meta = lockFile(directory, META_NAME, alone ? 'write' : 'read', alone ? LOCK_EX : LOCK_SH, call)
    if (typeof meta === 'string') return meta
    this.#meta = meta
    return 'done'
  }

  /** Lets go, and gives back what locks of the same owner lent. A second call does nothing. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.#meta?.close()
    this.#meta = undefined
    // Nobody can be in the way: only the holder of 0.zr, which this still is, locks meta.zr alone.
    for (const lock of this.#resting) lock.#onMeta(LOCK_SH | LOCK_NB)
    if (this.#lender !== undefined && !this.#lender.#released) this.#lender.#gate = this.#gate
    else this.#gate?.close()
    this.#gate = undefined
  }

  #onMeta(operation: number): void {
    if (this.#meta !== undefined) flockCall()?.(this.#meta.fd, operation)
  }
}

function lockFile(
  directory: NodeDirectory,
  name: string,
  mode: FileMode,
  operation: number,
  call: Call,
): StoreFile | Refused {
  const file = directory.open(name, mode)
  const result = call(file.fd, operation | LOCK_NB)
  if (result === 'done') return file
  file.close()
  return result
}
