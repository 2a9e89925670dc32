// Test support: a disk in memory that notes every change, so that each state a crash may leave can be rebuilt. Files are
// sparse, in sectors of 512 bytes that copies of the disk share until one writes to them.
import { LoaderxError } from '#dist/errors.js'
import type { FileFacts, FileMode, StoreDirectory, StoreFile } from '#dist/storage/files.js'

export const SECTOR = 512

/** One change or flush. Names are whole paths; a file is known by its number, whatever its name. */
export type Effect =
  | { readonly kind: 'write'; readonly file: number; readonly offset: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly file: number; readonly size: number }
  | { readonly kind: 'create'; readonly name: string; readonly file: number }
  | { readonly kind: 'rename'; readonly from: string; readonly name: string; readonly file: number }
  | { readonly kind: 'remove'; readonly name: string }
  | { readonly kind: 'flush'; readonly file: number }
  | { readonly kind: 'flushDirectory'; readonly directory: string }
  /** An operation of the history, by number, was begun or has returned. */
  | { readonly kind: 'begin' | 'end'; readonly operation: number }

/** A file's size and the sectors of it that were written. */
interface Content {
  size: number
  sectors: Map<number, Uint8Array>
}

export const directoryOf = (name: string): string => name.slice(0, name.lastIndexOf('/'))

/** The files of any number of directories. */
export class Disk {
  readonly names: Map<string, number>
  readonly #files: Map<number, Content>
  #next: number

  constructor(from?: Disk) {
    this.names = new Map(from?.names)
    this.#files = new Map()
    this.#next = from === undefined ? 0 : from.#next
    if (from !== undefined) {
      for (const [file, { size, sectors }] of from.#files) this.#files.set(file, { size, sectors: new Map(sectors) })
    }
  }

  newFile(): number {
    return this.#next++
  }

  #content(file: number): Content {
    let content = this.#files.get(file)
    if (content === undefined) {
      content = { size: 0, sectors: new Map() }
      this.#files.set(file, content)
      this.#next = Math.max(this.#next, file + 1)
    }
    return content
  }

  size(file: number): number {
    return this.#content(file).size
  }

  allocated(file: number): number {
    return this.#content(file).sectors.size * SECTOR
  }

  read(file: number, into: Uint8Array, position: number): void {
    const { sectors } = this.#content(file)
    for (let done = 0; done < into.length; ) {
      const at = position + done
      const from = at % SECTOR
      const bytes = Math.min(SECTOR - from, into.length - done)
      const sector = sectors.get((at - from) / SECTOR)
      if (sector === undefined) into.fill(0, done, done + bytes)
      else into.set(sector.subarray(from, from + bytes), done)
      done += bytes
    }
  }

  /** Does one effect; flushes and marks change nothing. */
  apply(effect: Effect): void {
    if (effect.kind === 'write') this.#write(effect.file, effect.offset, effect.bytes)
    else if (effect.kind === 'truncate') this.#truncate(effect.file, effect.size)
    else if (effect.kind === 'create') this.names.set(effect.name, effect.file)
    else if (effect.kind === 'remove') this.names.delete(effect.name)
    else if (effect.kind === 'rename') {
      this.names.delete(effect.from)
      this.names.set(effect.name, effect.file)
    }
  }

  #write(file: number, offset: number, bytes: Uint8Array): void {
    const content = this.#content(file)
    content.size = Math.max(content.size, offset + bytes.length)
    for (let done = 0; done < bytes.length; ) {
      const at = offset + done
      const from = at % SECTOR
      const part = bytes.subarray(done, done + SECTOR - from)
      const number = (at - from) / SECTOR
      const sector = Uint8Array.from(content.sectors.get(number) ?? new Uint8Array(SECTOR))
      sector.set(part, from)
      content.sectors.set(number, sector)
      done += part.length
    }
  }

  #truncate(file: number, size: number): void {
    const content = this.#content(file)
    content.size = size
    for (const [number, sector] of content.sectors) {
      const end = size - number * SECTOR
      if (end <= 0) content.sectors.delete(number)
      else if (end < SECTOR)
        content.sectors.set(
          number,
          Uint8Array.from({ length: SECTOR }, (_, i) => (i < end ? sector[i]! : 0)),
        )
    }
  }
}

/** The same failure as the local file system reports it. */
export function diskError(path: string, code: string): LoaderxError {
  const cause = Object.assign(new Error(`${code}: injected`), { code })
  return new LoaderxError('LOADERX_IO', `cannot change ${path}: ${code}`, { path }, { cause })
}

/**
 * A directory of a {@link Disk}. Changes are noted in `log`; `fail` is asked before each, and what it returns is thrown.
 */
export class DiskDirectory implements StoreDirectory {
  readonly path: string
  readonly disk: Disk
  readonly log: Effect[]
  fail: (effect: Effect) => Error | undefined = () => undefined

  /** @param path must exist on the real file system: it is the key under which a process takes turns */
  constructor(path: string, disk: Disk, log: Effect[]) {
    this.path = path
    this.disk = disk
    this.log = log
  }

  #do(effect: Effect): void {
    const error = this.fail(effect)
    if (error !== undefined) throw error
    this.log.push(effect)
    this.disk.apply(effect)
  }

  #name(name: string): string {
    return `${this.path}/${name}`
  }

  look(name: string): FileFacts | undefined {
    if (name === '.') return { plain: false, bytes: 0, allocated: 0 }
    const file = this.disk.names.get(this.#name(name))
    if (file === undefined) return undefined
    return { plain: true, bytes: this.disk.size(file), allocated: this.disk.allocated(file) }
  }

  open(name: string, mode: FileMode): StoreFile {
    const path = this.#name(name)
    const { disk } = this
    const known = disk.names.get(path)
    if ((known !== undefined) === (mode === 'create')) throw diskError(path, mode === 'create' ? 'EEXIST' : 'ENOENT')
    const file = known ?? disk.newFile()
    if (known === undefined) this.#do({ kind: 'create', name: path, file })
    const readSync = (into: Uint8Array, position: number): void => {
      if (position + into.length > disk.size(file)) {
        throw new LoaderxError('LOADERX_TRUNCATED', `${path} ends before byte ${position + into.length}`, { path })
      }
      disk.read(file, into, position)
    }
    return {
      path,
      fd: -1,
      size: () => disk.size(file),
      readSync,
      read: async (into, position) => readSync(into, position),
      write: async (bytes, offset) => this.#do({ kind: 'write', file, offset, bytes: Uint8Array.from(bytes) }),
      truncate: async (size) => this.#do({ kind: 'truncate', file, size }),
      sync: async () => this.#do({ kind: 'flush', file }),
      close: () => {},
    }
  }

  async rename(from: string, to: string): Promise<void> {
    const file = this.disk.names.get(this.#name(from))
    if (file === undefined) throw diskError(this.#name(from), 'ENOENT')
    this.#do({ kind: 'rename', from: this.#name(from), name: this.#name(to), file })
  }

  async remove(name: string): Promise<void> {
    if (!this.disk.names.has(this.#name(name))) throw diskError(this.#name(name), 'ENOENT')
    this.#do({ kind: 'remove', name: this.#name(name) })
  }

  async sync(): Promise<void> {
    this.#do({ kind: 'flushDirectory', directory: this.path })
  }

  async make(): Promise<string | undefined> {
    return undefined
  }
}
