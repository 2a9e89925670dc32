// Test support: a directory that logs every operation on its files and can be told to fail.
import { NodeDirectory, type StoreDirectory, type StoreFile } from '#dist/storage/files.js'

/** One operation: `write 0.zr 100+50` is 50 bytes at byte 100. */
export type Operation = string

/** A directory with a log. `fail` is asked before every operation; what it returns is thrown. */
export class RecordedDirectory implements StoreDirectory {
  readonly path: string
  readonly log: Operation[] = []
  fail: (operation: Operation) => unknown = () => undefined
  readonly #real: NodeDirectory

  constructor(path: string) {
    this.path = path
    this.#real = new NodeDirectory(path)
  }

  /** The operations that change something, since the last call. */
  takeChanges(): Operation[] {
    return this.log.splice(0).filter((one) => !/^(read|look|open \S+ (read|write)$)/.test(one))
  }

  #note(operation: Operation): void {
    this.log.push(operation)
    const error = this.fail(operation)
    if (error !== undefined) throw error
  }

  look: StoreDirectory['look'] = (name) => {
    this.#note(`look ${name}`)
    return this.#real.look(name)
  }

  open: StoreDirectory['open'] = (name, mode) => {
    this.#note(`open ${name} ${mode}`)
    const file = this.#real.open(name, mode)
    const note = (operation: string): void => this.#note(operation)
    return {
      path: file.path,
      fd: file.fd,
      size: () => file.size(),
      readSync: (into, position) => {
        note(`read ${name} ${position}+${into.length}`)
        file.readSync(into, position)
      },
      read: async (into, position) => {
        note(`read ${name} ${position}+${into.length}`)
        await file.read(into, position)
      },
      write: async (bytes, position) => {
        note(`write ${name} ${position}+${bytes.length}`)
        await file.write(bytes, position)
      },
      truncate: async (bytes) => {
        note(`truncate ${name} ${bytes}`)
        await file.truncate(bytes)
      },
      sync: async () => {
        note(`sync ${name}`)
        await file.sync()
      },
      close: () => file.close(),
    } satisfies StoreFile
  }

  rename: StoreDirectory['rename'] = async (from, to) => {
    this.#note(`rename ${from} ${to}`)
    await this.#real.rename(from, to)
  }

  remove: StoreDirectory['remove'] = async (name) => {
    this.#note(`remove ${name}`)
    await this.#real.remove(name)
  }

  sync: StoreDirectory['sync'] = async () => {
    this.#note('sync')
    await this.#real.sync()
  }

  make: StoreDirectory['make'] = async () => {
    this.#note('make')
    return this.#real.make()
  }
}
