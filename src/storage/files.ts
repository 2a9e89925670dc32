// storage/: bytes from somewhere; knows no records. This file: a directory of plain files on a local file system,
// behind two small interfaces so that tests can record or break every operation.

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsync,
  ftruncate,
  lstatSync,
  mkdirSync,
  openSync,
  read,
  readSync,
  rmdirSync,
  statSync,
  write,
} from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { LoaderxError } from '../errors.ts'
import { ioError, notAFile, truncated } from './io-error.ts'

const readAsync = promisify(read)
const writeAsync = promisify(write)
const truncateAsync = promisify(ftruncate)
const syncAsync = promisify(fsync)

/** How a file is opened: to read, to read and write, or to be made (it must not exist) and written. */
export type FileMode = 'read' | 'write' | 'create'

/** One open file. Reads and writes are positional and whole: fewer bytes than asked are an error. */
export interface StoreFile {
  readonly path: string
  /** Descriptor, for mapping the file. */
  readonly fd: number
  /** Bytes in the file now. */
  size(): number
  /** @throws LOADERX_TRUNCATED when the file ends before `into` is full, LOADERX_IO */
  readSync(into: Uint8Array, position: number): void
  /** @throws LOADERX_TRUNCATED when the file ends before `into` is full, LOADERX_IO */
  read(into: Uint8Array, position: number): Promise<void>
  /** @throws LOADERX_IO */
  write(bytes: Uint8Array, position: number): Promise<void>
  /** Sets the file's size; new bytes are zero and, where the file system can, take no space. */
  truncate(bytes: number): Promise<void>
  /** Flushes the file to the disk. */
  sync(): Promise<void>
  close(): void
}

/** What a look at a name tells. */
export interface FileFacts {
  /** Whether it is a plain file, and not a link, directory, pipe or device. */
  readonly plain: boolean
  readonly bytes: number
  /** Bytes that it takes on the disk; a sparse file takes fewer than it has. */
  readonly allocated: number
}

/** The files of one directory. Names are plain names without a separator. */
export interface StoreDirectory {
  readonly path: string
  /** What stands under `name`, or undefined when nothing does. Links are not followed. */
  look(name: string): FileFacts | undefined
  open(name: string, mode: FileMode): StoreFile
  rename(from: string, to: string): Promise<void>
  remove(name: string): Promise<void>
  /** Makes the directory and its parents. Returns the first directory that was made, if any. */
  make(): Promise<string | undefined>
}

class NodeFile implements StoreFile {
  readonly path: string
  readonly fd: number
  #open = true

  constructor(path: string, fd: number) {
    this.path = path
    this.fd = fd
  }

  size(): number {
    try {
      return fstatSync(this.fd).size
    } catch (cause) {
      throw ioError('look at', this.path, cause)
    }
  }

  readSync(into: Uint8Array, position: number): void {
    let done = 0
    while (done < into.byteLength) {
      let count: number
      try {
        count = readSync(this.fd, into, done, into.byteLength - done, position + done)
      } catch (cause) {
        throw ioError('read', this.path, cause, position + done)
      }
      if (count === 0) throw truncated(this.path, position, into.byteLength, done)
      done += count
    }
  }

  async read(into: Uint8Array, position: number): Promise<void> {
    let done = 0
    while (done < into.byteLength) {
      let count: number
      try {
        count = (await readAsync(this.fd, into, done, into.byteLength - done, position + done)).bytesRead
      } catch (cause) {
        throw ioError('read', this.path, cause, position + done)
      }
      if (count === 0) throw truncated(this.path, position, into.byteLength, done)
      done += count
    }
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    let done = 0
    while (done < bytes.byteLength) {
      try {
        done += (await writeAsync(this.fd, bytes, done, bytes.byteLength - done, position + done)).bytesWritten
      } catch (cause) {
        throw ioError('write', this.path, cause, position + done)
      }
    }
  }

  async truncate(bytes: number): Promise<void> {
    try {
      await truncateAsync(this.fd, bytes)
    } catch (cause) {
      throw ioError('set the size of', this.path, cause)
    }
  }

  async sync(): Promise<void> {
    try {
      await syncAsync(this.fd)
    } catch (cause) {
      throw ioError('flush', this.path, cause)
    }
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    closeSync(this.fd)
  }
}

// A pipe must not block the open, and a link must not lead out of the store.
const SAFE = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
const FLAGS: Record<FileMode, number> = {
  read: constants.O_RDONLY | SAFE,
  write: constants.O_RDWR | SAFE,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | SAFE,
}

/** What opening a link, a directory and a socket gives. */
const NOT_A_FILE = new Set(['ELOOP', 'EISDIR', 'ENXIO'])

/** The directory at `path` on the local file system. Nothing is touched until a method is called. */
export class NodeDirectory implements StoreDirectory {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  look(name: string): FileFacts | undefined {
    const path = join(this.path, name)
    try {
      const facts = lstatSync(path)
      return { plain: facts.isFile(), bytes: facts.size, allocated: (facts.blocks ?? 0) * 512 }
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      if (code === 'ENOENT') return undefined
      if (code === 'ENOTDIR' && isFile(this.path)) {
        const message = `${this.path} is a file, not a directory; a store is a directory: check the path`
        throw new LoaderxError('LOADERX_NOT_A_DIRECTORY', message, { path: this.path }, { cause })
      }
      throw ioError('look at', path, cause)
    }
  }

  open(name: string, mode: FileMode): StoreFile {
    const path = join(this.path, name)
    let fd: number
    try {
      fd = openSync(path, FLAGS[mode], 0o666)
    } catch (cause) {
      throw NOT_A_FILE.has((cause as NodeJS.ErrnoException).code ?? '') ? notAFile(path) : ioError('open', path, cause)
    }
    if (fstatSync(fd).isFile()) return new NodeFile(path, fd)
    closeSync(fd)
    throw notAFile(path)
  }

  async rename(from: string, to: string): Promise<void> {
    try {
      await rename(join(this.path, from), join(this.path, to))
    } catch (cause) {
      throw ioError('rename', join(this.path, from), cause)
    }
  }

  async remove(name: string): Promise<void> {
    try {
      await rm(join(this.path, name))
    } catch (cause) {
      throw ioError('remove', join(this.path, name), cause)
    }
  }

  async make(): Promise<string | undefined> {
    try {
      return await mkdir(this.path, { recursive: true })
    } catch (reported) {
      const cause = (reported as NodeJS.ErrnoException).code === 'ENOENT' ? whyNotMade(this.path, reported) : reported
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') {
        const message = `${this.path} is a file where a store's directory is wanted; choose another path`
        throw new LoaderxError('LOADERX_NOT_A_DIRECTORY', message, { path: this.path }, { cause })
      }
      throw ioError('make the directory', this.path, cause)
    }
  }
}

/** mkdir of missing parents reports some failures (a read-only disk) as a missing directory. */
function whyNotMade(path: string, reported: unknown): unknown {
  let at = path
  while (!existsSync(dirname(at)) && dirname(at) !== at) at = dirname(at)
  try {
    mkdirSync(at)
    rmdirSync(at)
    return reported
  } catch (cause) {
    return cause
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/**
 * Opens the plain file at `path`, which need not be in a store, to read it. Links are followed; a pipe, device or
 * directory gives undefined.
 * @throws LOADERX_NOT_FOUND, LOADERX_IO
 */
export function openPlainFile(path: string): StoreFile | undefined {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    throw ioError('open', path, cause)
  }
  if (fstatSync(fd).isFile()) return new NodeFile(path, fd)
  closeSync(fd)
  return undefined
}
