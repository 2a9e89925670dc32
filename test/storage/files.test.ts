// storage/: a directory of plain files on the local file system.
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { NodeDirectory, openPlainFile } from '#dist/storage/files.js'
import { noise } from '../support/bytes.ts'
import { tempDir } from '../support/stores.ts'

const coded = (code: string): object => expect.objectContaining({ code })

describe('a file', () => {
  const make = (bytes: Uint8Array) => {
    const path = join(tempDir(), 'file')
    writeFileSync(path, bytes)
    return { path, file: new NodeDirectory(join(path, '..')).open('file', 'write') }
  }

  it('is read whole, at once and waiting, also into shared memory', async () => {
    const bytes = noise(100_000, 1)
    const { file } = make(bytes)
    for (const into of [new Uint8Array(70_000), new Uint8Array(new SharedArrayBuffer(70_000))]) {
      file.readSync(into, 20_000)
      expect(Buffer.compare(into, bytes.subarray(20_000, 90_000))).toBe(0)
      into.fill(0)
      await file.read(into, 30_000)
      expect(Buffer.compare(into, bytes.subarray(30_000))).toBe(0)
    }
    file.close()
  })

  it('is written at a position, also past its end, from shared memory', async () => {
    const { path, file } = make(noise(100, 1))
    const bytes = new Uint8Array(new SharedArrayBuffer(50))
    bytes.set(noise(50, 2))
    await file.write(bytes, 10)
    await file.write(bytes, 2 ** 32 + 7)
    await file.sync()
    expect(file.size()).toBe(2 ** 32 + 57)
    await file.truncate(200)
    file.close()
    const now = readFileSync(path)
    expect(now.length).toBe(200)
    expect(Buffer.compare(now.subarray(10, 60), bytes)).toBe(0)
    expect(Buffer.compare(now.subarray(0, 10), noise(10, 1))).toBe(0)
  })

  it('that ends too early says so, with the counts', async () => {
    const { path, file } = make(noise(100, 1))
    const message = `${path} ends at byte 100, but bytes 90 … 110 are needed: the file was cut; restore it from a copy`
    const error = { code: 'LOADERX_TRUNCATED', message, details: { path, offset: 90, expected: 20, actual: 10 } }
    expect(() => file.readSync(new Uint8Array(20), 90)).toThrow(expect.objectContaining(error))
    await expect(file.read(new Uint8Array(20), 90)).rejects.toMatchObject(error)
    expect(() => file.readSync(new Uint8Array(1), 500)).toThrow(coded('LOADERX_TRUNCATED'))
    file.readSync(new Uint8Array(0), 500)
    file.close()
  })

  it('is closed once, however often it is asked to', async () => {
    const { file } = make(noise(100, 1))
    const other = make(noise(50, 2)).file
    file.close()
    const reused = make(noise(10, 3)).file
    file.close()
    expect(reused.size()).toBe(10)
    expect(other.size()).toBe(50)
    reused.close()
    other.close()
    for (const use of [() => file.size(), () => file.readSync(new Uint8Array(1), 0)]) {
      expect(use).toThrow(coded('LOADERX_IO'))
    }
    for (const use of [
      file.read(new Uint8Array(1), 0),
      file.write(new Uint8Array(1), 0),
      file.truncate(0),
      file.sync(),
    ]) {
      await expect(use).rejects.toMatchObject({ code: 'LOADERX_IO' })
    }
  })
})

describe('a directory', () => {
  it('refuses what is not a plain file, in every mode and without waiting', async () => {
    const dir = tempDir()
    const directory = new NodeDirectory(dir)
    writeFileSync(join(dir, 'plain'), 'x')
    symlinkSync('plain', join(dir, 'link'))
    symlinkSync('nowhere', join(dir, 'dangling'))
    mkdirSync(join(dir, 'dir'))
    execFileSync('mkfifo', [join(dir, 'pipe')])
    const server = createServer().listen(join(dir, 'socket'))
    for (const name of ['link', 'dangling', 'dir', 'pipe', 'socket']) {
      expect(directory.look(name), name).toMatchObject({ plain: false })
      for (const mode of ['read', 'write'] as const) {
        const message = `${join(dir, name)} is not a plain file (a link, directory, pipe or device stands there); a store has only plain files`
        expect(() => directory.open(name, mode), `${name} ${mode}`).toThrow(
          expect.objectContaining({ code: 'LOADERX_NOT_A_STORE', message }),
        )
      }
      expect(() => directory.open(name, 'create'), name).toThrow(coded('LOADERX_IO'))
    }
    expect(directory.look('plain')).toMatchObject({ plain: true, bytes: 1 })
    await new Promise((done) => server.close(done))
  })

  it('makes a file that nobody but the umask restricts, and only where there is none', () => {
    const dir = tempDir()
    const before = process.umask(0o027)
    try {
      new NodeDirectory(dir).open('new', 'create').close()
    } finally {
      process.umask(before)
    }
    expect(statSync(join(dir, 'new')).mode & 0o777).toBe(0o640)
    expect(() => new NodeDirectory(dir).open('new', 'create')).toThrow(coded('LOADERX_IO'))
  })

  it('says what is missing, and what is a file on the way', async () => {
    const dir = tempDir()
    writeFileSync(join(dir, 'file'), '')
    const missing = new NodeDirectory(join(dir, 'no'))
    expect(missing.look('x')).toBeUndefined()
    expect(() => missing.open('x', 'read')).toThrow(coded('LOADERX_NOT_FOUND'))
    await expect(missing.rename('a', 'b')).rejects.toMatchObject({ code: 'LOADERX_NOT_FOUND' })
    await expect(missing.remove('a')).rejects.toMatchObject({ code: 'LOADERX_NOT_FOUND' })
    const file = new NodeDirectory(join(dir, 'file'))
    const message = `${join(dir, 'file')} is a file, not a directory; a store is a directory: check the path`
    expect(() => file.look('x')).toThrow(expect.objectContaining({ code: 'LOADERX_NOT_A_DIRECTORY', message }))
    await expect(file.make()).rejects.toMatchObject({ code: 'LOADERX_NOT_A_DIRECTORY' })
    const below = new NodeDirectory(join(dir, 'file', 'below'))
    expect(() => below.look('x')).toThrow(coded('LOADERX_NOT_A_DIRECTORY'))
    await expect(below.make()).rejects.toMatchObject({ code: 'LOADERX_NOT_A_DIRECTORY' })
  })

  it('is made with its parents, and names the first that it made', async () => {
    const dir = tempDir()
    const deep = new NodeDirectory(join(dir, 'a', 'b', 'c'))
    expect(await deep.make()).toBe(join(dir, 'a'))
    expect(await deep.make()).toBeUndefined()
    writeFileSync(join(deep.path, 'one'), '1')
    await deep.rename('one', 'two')
    await deep.remove('two')
    expect(existsSync(join(deep.path, 'two'))).toBe(false)
  })
})

it('opens a plain file anywhere, through links, and gives nothing for a pipe or directory', () => {
  const dir = tempDir()
  writeFileSync(join(dir, 'plain'), 'abc')
  linkSync(join(dir, 'plain'), join(dir, 'hard'))
  symlinkSync('hard', join(dir, 'soft'))
  execFileSync('mkfifo', [join(dir, 'pipe')])
  const file = openPlainFile(join(dir, 'soft'))!
  expect(file.size()).toBe(3)
  truncateSync(join(dir, 'plain'), 2)
  expect(file.size()).toBe(2)
  file.close()
  expect(openPlainFile(dir)).toBeUndefined()
  expect(openPlainFile(join(dir, 'pipe'))).toBeUndefined()
  expect(() => openPlainFile(join(dir, 'none'))).toThrow(coded('LOADERX_NOT_FOUND'))
})
