// Test support: the golden and broken stores of test/vectors, and temporary directories to restore them in.
// Importing this file registers the clean-up of the test file that imports it.
import {
  closeSync,
  copyFileSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll } from 'vitest'

/** The directory of the vectors. */
export const vectors: string = fileURLToPath(new URL('../vectors/', import.meta.url))

/** One file of a store: `pieces` are written at their offsets, then the file gets its `size`. */
interface StoreFile {
  name: string
  size: number
  pieces: { file: string; offset: number; length: number }[]
}

/** What the original says about a golden store; docs/reference-behaviour.md §14 explains the fields. */
export interface GoldenCase {
  case: string
  description: string
  count: number
  stats: { records: number; live_bytes: number; chunk_bytes: number; reclaimable: number }
  schema: { format: string; version: number; dtype: string; shape: number[]; codec: string } | null
  header: { magic: string; version: number; tail_chunk: number; tail_offset: number; length: number }
  files: StoreFile[]
  records: { length: number; sha256: string; chunk: number; offset: number; phys: number; codec: number }[]
}

/** A damaged store: what the original does with it, and what a careful reader does. */
export interface BrokenCase {
  case: string
  kind: 'store' | 'schema'
  what: string
  files: StoreFile[]
  reference: Record<string, unknown>
  careful: {
    open: string
    fail_records: number[]
    may_differ_from_base: number[]
    append: string
    compact: string
    note: string
  }
}

const brokenFile = JSON.parse(readFileSync(join(vectors, 'broken', 'expected.json'), 'utf8')) as {
  base_sha256: string[]
  record_length: number
  cases: BrokenCase[]
}

/** SHA-256 of the six undamaged records that every broken store starts from; each has `brokenRecordLength` bytes. */
export const brokenBase: readonly string[] = brokenFile.base_sha256

/** Length of each record of {@link brokenBase}. */
export const brokenRecordLength: number = brokenFile.record_length

/** The names of the golden stores. */
export const goldenCases: readonly string[] = readdirSync(join(vectors, 'golden')).sort()

/** The names of the broken stores. */
export const brokenCases: readonly string[] = brokenFile.cases.map((one) => one.case)

/** The directory and the expectations of the golden store `name`. */
export function golden(name: string): { dir: string; expected: GoldenCase } {
  const dir = join(vectors, 'golden', name)
  return { dir, expected: JSON.parse(readFileSync(join(dir, 'expected.json'), 'utf8')) as GoldenCase }
}

/** The directory and the expectations of the broken store `name`. */
export function broken(name: string): { dir: string; expected: BrokenCase } {
  const expected = brokenFile.cases.find((one) => one.case === name)
  if (expected === undefined) throw new Error(`no broken store is named ${name}`)
  return { dir: join(vectors, 'broken', name), expected }
}

/**
 * Rebuilds the store of a case directory (of test/vectors/golden or test/vectors/broken) at `dest`, which is emptied
 * first. The files are sparse: a restored store takes a few KiB of disk. Returns `dest`.
 */
export function restoreStore(caseDir: string, dest: string): string {
  const name = caseDir.replace(/[\\/]+$/, '').replace(/^.*[\\/]/, '')
  const own = join(caseDir, 'expected.json')
  const files = existsSync(own)
    ? (JSON.parse(readFileSync(own, 'utf8')) as { files: StoreFile[] }).files
    : broken(name).expected.files
  rmSync(dest, { recursive: true, force: true })
  mkdirSync(dest, { recursive: true })
  for (const file of files) {
    const fd = openSync(join(dest, file.name), 'w')
    try {
      for (const piece of file.pieces) {
        const data = readFileSync(join(caseDir, piece.file))
        if (data.length !== piece.length) {
          throw new Error(`${caseDir}/${piece.file} has ${data.length} bytes, its manifest says ${piece.length}`)
        }
        for (let done = 0; done < data.length; ) {
          done += writeSync(fd, data, done, data.length - done, piece.offset + done)
        }
      }
      ftruncateSync(fd, file.size)
    } finally {
      closeSync(fd)
    }
  }
  if (existsSync(join(caseDir, 'schema.json'))) copyFileSync(join(caseDir, 'schema.json'), join(dest, 'schema.json'))
  return dest
}

/**
 * An empty store at `dest` whose frontier leaves `left` bytes of chunk 0, so that a few small records roll over to
 * chunk 1. Returns `dest`.
 */
export function nearlyFullStore(dest: string, left: number): string {
  restoreStore(golden('empty').dir, dest)
  const tail = Buffer.alloc(4)
  tail.writeUInt32LE(2 ** 32 - left)
  const fd = openSync(join(dest, 'meta.zr'), 'r+')
  writeSync(fd, tail, 0, 4, 8)
  closeSync(fd)
  return dest
}

const temporary: string[] = []

afterAll(() => {
  for (const dir of temporary.splice(0)) rmSync(dir, { recursive: true, force: true })
})

/** A new empty directory that is removed after the test file. */
export function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'loaderx-test-'))
  temporary.push(dir)
  return dir
}
