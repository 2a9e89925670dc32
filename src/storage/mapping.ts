// storage/: maps a file over a stretch of a WebAssembly memory, through koffi's prebuilt platform package (optional).
// The pages then come from the page cache as they are touched, and every thread that has the memory sees them.

import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createMemory, WASM_PAGE } from '../kernel/kernel.ts'
import { type Koffi, koffi } from './koffi.ts'

type Mmap = (at: Uint8Array, bytes: number, prot: number, flags: number, fd: number, offset: number) => bigint

const PROT_READ = 1
const PROT_WRITE = 2
const MAP_SHARED = 1
const MAP_PRIVATE = 2
const MAP_FIXED = 0x10
const MAP_ANONYMOUS = process.platform === 'darwin' ? 0x1000 : 0x20
const MAP_FAILED = 2n ** 64n - 1n

let mapper: Mapper | null | undefined

/** Maps files over memories of this process. */
export interface Mapper {
  /**
   * Puts `bytes` bytes of the file `fd` from `position` (a multiple of 64 KiB) at `address` (likewise) of `memory`,
   * to read. Bytes past the end of the file must never be touched: the process would die.
   */
  map(memory: WebAssembly.Memory, address: number, fd: number, position: number, bytes: number): boolean
  /** Puts zeros there again and so lets go of the file. */
  unmap(memory: WebAssembly.Memory, address: number, bytes: number): void
}

/** The mapper, or null where files cannot be mapped (no koffi, Windows, or the self-test failed). */
export function fileMapper(): Mapper | null {
  if (mapper === undefined) mapper = loadMapper()
  return mapper
}

function loadMapper(): Mapper | null {
  const library = koffi()
  if (library === null) return null
  try {
    const candidate = makeMapper(library)
    return selfTest(candidate) ? candidate : null
  } catch {
    return null
  }
}

function makeMapper(library: Koffi): Mapper {
  const mmap = library
    .load(null)
    .func<Mmap>('uintptr_t mmap(void *addr, size_t length, int prot, int flags, int fd, int64_t offset)')
  const put = (
    memory: WebAssembly.Memory,
    address: number,
    bytes: number,
    prot: number,
    flags: number,
    fd: number,
    at: number,
  ) => {
    const view = new Uint8Array(memory.buffer, address, bytes)
    return BigInt(mmap(view, bytes, prot, flags | MAP_FIXED, fd, at)) !== MAP_FAILED
  }
  return {
    map: (memory, address, fd, position, bytes) => put(memory, address, bytes, PROT_READ, MAP_SHARED, fd, position),
    unmap: (memory, address, bytes) => {
      put(memory, address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    },
  }
}

// Maps a real file over a throw-away memory and compares, before any store's bytes are trusted to it.
function selfTest(candidate: Mapper): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'loaderx-'))
  const fd = openSync(join(directory, 'self-test'), 'w+')
  try {
    const page = Uint8Array.from({ length: WASM_PAGE }, (_, i) => (i * 31 + (i >> 8)) & 255)
    writeSync(fd, new Uint8Array(WASM_PAGE), 0, WASM_PAGE, 0)
    writeSync(fd, page, 0, WASM_PAGE, WASM_PAGE)
    const memory = createMemory(4)
    const bytes = new Uint8Array(memory.buffer)
    bytes.fill(7)
    if (!candidate.map(memory, 2 * WASM_PAGE, fd, WASM_PAGE, WASM_PAGE)) return false
    const mapped = page.every((byte, i) => bytes[2 * WASM_PAGE + i] === byte)
    const around = bytes[2 * WASM_PAGE - 1] === 7 && bytes[3 * WASM_PAGE] === 7
    writeSync(fd, Uint8Array.of(255), 0, 1, WASM_PAGE + 5)
    const live = bytes[2 * WASM_PAGE + 5] === 255
    candidate.unmap(memory, 2 * WASM_PAGE, WASM_PAGE)
    return mapped && around && live && bytes[2 * WASM_PAGE + 5] === 0
  } finally {
    closeSync(fd)
    rmSync(directory, { recursive: true, force: true })
  }
}

// Where a page may fail to arrive (network, FUSE), reading a mapping kills the process instead of giving an error.
// Magic numbers: statfs(2).
const REMOTE = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x65735546, 0x01021997, 0x5346414f, 0x00c36400, 0x0bd00bd0, 0x47504653,
  0x73757245, 0x564c, 0x7461636f,
])

/** Whether `path` lies on a network or FUSE file system, where mapping is not safe. Unknown counts as remote. */
export function isRemote(path: string): boolean {
  try {
    return REMOTE.has(statfsSync(path).type)
  } catch {
    return true
  }
}
