// Locks between handles of a thread, threads of a process and processes, with flock, without, and mixed.
import { chmodSync, existsSync, fstatSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { koffi } from '#dist/storage/koffi.js'
import { acquireLock, acquireLockSync, type LockMode } from '#dist/storage/lock.js'
import { LockNotes } from '#dist/storage/lock-notes.js'
import { formatNoteName, type NoteName } from '#dist/storage/lock-rules.js'
import { ownMark } from '#dist/storage/process-mark.js'
import { type Locker, newPlace, noteFiles, type Place, startLocker } from '../support/lockers.ts'

const modes: readonly LockMode[] = ['shared', 'append', 'exclusive']
const together = new Set(['shared shared', 'shared append', 'append shared'])
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Who takes the first lock and who the second. */
async function startPair(place: Place, where: string, first: boolean, second: boolean): Promise<[Locker, Locker]> {
  const kind = where === 'processes' ? 'process' : 'thread'
  const a = await startLocker(place, { koffi: first, where: kind })
  return [a, where === 'one thread' ? a : await startLocker(place, { koffi: second, where: kind })]
}

const means = [
  ['flock', true, true],
  ['notes alone', false, false],
  ['flock, then notes alone', true, false],
  ['notes alone, then flock', false, true],
] as const
const settings = ['one thread', 'two threads', 'processes'].flatMap((where) =>
  means
    .filter(([, first, second]) => where !== 'one thread' || first === second)
    .map(([name, first, second]) => ({ where, name, first, second })),
)

it('uses flock where the tests say so', () => {
  expect(koffi() !== null).toBe(process.platform !== 'win32')
})

describe.each(settings)('$where with $name', ({ where, first, second }) => {
  it('exclude each other as they should, say who holds the store, and leave nothing behind', async () => {
    const place = newPlace()
    const path = place.store
    const [a, b] = await startPair(place, where, first, second)
    for (const held of modes) {
      for (const wanted of modes) {
        await a.acquire({ name: 'a', path, mode: held, role: 'loader' })
        expect(noteFiles(place)).toHaveLength(1)
        if (together.has(`${held} ${wanted}`)) {
          await b.acquire({ name: 'b', path, mode: wanted })
          expect(noteFiles(place)).toHaveLength(2)
          await b.release('b')
          await a.release('a')
        } else {
          const { code, message, details } = await b.refusal({ name: 'b', path, mode: wanted, role: 'compact' })
          expect(code).toBe('LOADERX_LOCKED')
          const [holder, ...others] = details.holders!
          expect(others).toEqual([])
          expect(holder).toMatchObject({ pid: a.pid, host: hostname(), mode: held, role: 'loader', verified: true })
          expect(holder!.since).toMatch(ISO)
          for (const part of [path, String(a.pid), hostname(), 'loader', holder!.since!])
            expect(message).toContain(part)
          await a.release('a')
          await b.acquire({ name: 'b', path, mode: wanted })
          await b.release('b')
        }
        expect(noteFiles(place)).toEqual([])
      }
    }
    expect(readdirSync(path).sort()).toEqual(['0.zr', 'meta.zr'])
  })

  it('let an owner of shared and append locks have the store alone, and hold them again afterwards', async () => {
    const place = newPlace()
    const path = place.store
    const [a, b] = await startPair(place, where, first, second)
    await a.acquire({ name: 'shared', path, mode: 'shared', role: 'reader' })
    await a.acquire({ name: 'append', path, mode: 'append' })
    const alone = { name: 'alone', path, mode: 'exclusive', excluding: ['shared', 'append'] } as const

    // While another reads, it is refused, and keeps what it had.
    await b.acquire({ name: 'reader', path, mode: 'shared' })
    expect((await a.refusal(alone)).details.holders).toMatchObject([{ pid: b.pid, mode: 'shared' }])
    await b.release('reader')
    expect((await b.refusal({ path, mode: 'append' })).details.holders).toMatchObject([{ mode: 'append' }])

    await a.acquire(alone)
    for (const mode of modes) {
      const { holders } = (await b.refusal({ path, mode })).details
      expect(holders).toContainEqual(expect.objectContaining({ pid: a.pid, mode: 'exclusive' }))
    }
    await a.release('alone')

    const holders = (await b.refusal({ path, mode: 'exclusive' })).details.holders!
    expect(holders.map((holder) => holder.mode).sort()).toEqual(['append', 'shared'])
    await b.acquire({ name: 'reader', path, mode: 'shared' })
    await b.release('reader')

    // Also when the shared lock is all that it has: after a refusal, and after a success.
    await a.release('append')
    const fromShared = { ...alone, excluding: ['shared'] }
    await b.acquire({ name: 'reader', path, mode: 'shared' })
    expect((await a.refusal(fromShared)).details.holders).toMatchObject([{ mode: 'shared' }])
    await b.release('reader')
    expect((await b.refusal({ path, mode: 'exclusive' })).details.holders).toMatchObject([{ mode: 'shared' }])
    await a.acquire(fromShared)
    await a.release('alone')
    expect((await b.refusal({ path, mode: 'exclusive' })).details.holders).toMatchObject([{ mode: 'shared' }])
    await a.acquire({ name: 'append', path, mode: 'append' })

    // What is released under the exclusive lock is not taken again.
    await a.acquire(alone)
    await a.release('append')
    await a.release('shared')
    expect((await b.refusal({ path, mode: 'shared' })).code).toBe('LOADERX_LOCKED')
    await a.release('alone')
    await b.acquire({ path, mode: 'exclusive' })
    await b.release()
    expect(noteFiles(place)).toEqual([])
  })
})

describe.each(means)('between processes with %s', (_, first, second) => {
  it.each(modes)('a killed holder of a lock (%s) frees it at once', async (mode) => {
    const place = newPlace()
    const holder = await startLocker(place, { koffi: first })
    const other = await startLocker(place, { koffi: second })
    await holder.acquire({ path: place.store, mode })
    const wanted = { path: place.store, mode: 'exclusive' } as const
    expect((await other.refusal(wanted)).code).toBe('LOADERX_LOCKED')
    await holder.kill()
    await other.acquire(wanted)
    expect(noteFiles(place)).toHaveLength(1)
    await other.release()
  })

  it('a waiting call gets the lock when the holder lets go, and names the holder when it does not', async () => {
    const place = newPlace()
    const path = place.store
    const holder = await startLocker(place, { koffi: first })
    const other = await startLocker(place, { koffi: second })
    await holder.acquire({ path, mode: 'exclusive', role: 'compact' })
    const { message, details } = await other.refusal({ path, mode: 'shared', timeout: 30 })
    expect(message).toContain('after 30 ms of waiting')
    expect(details.holders).toMatchObject([{ pid: holder.pid, role: 'compact' }])

    let got = false
    const waiting = other.acquire({ path, mode: 'shared', timeout: 60_000 }).then(() => {
      got = true
    })
    await sleep(50)
    expect(got).toBe(false)
    // A call that waits is in nobody's way.
    expect(noteFiles(place)).toHaveLength(1)
    await holder.release()
    await waiting
    await other.release()
  })
})

it('removes the note of a process that ends without letting go', async () => {
  const place = newPlace()
  for (const where of ['process', 'thread'] as const) {
    const locker = await startLocker(place, { koffi: true, where })
    await locker.acquire({ path: place.store, mode: 'exclusive' })
    void locker.call('end')
    await expect.poll(() => noteFiles(place), { timeout: 10_000 }).toEqual([])
  }
  const lock = await acquireLock(place.store, 'exclusive', 'compact', { timeout: 10_000 })
  lock.release()
})

describe('notes that somebody left', () => {
  /** Writes a note as another process would have. */
  function leave(place: Place, facts: Partial<NoteName>, text = '{"held":1}'): string {
    const { store } = new LockNotes(place.store)
    const name = formatNoteName({ ...ownMark(), store, mode: 'exclusive', flock: false, nonce: 'left', ...facts })
    const directory = join(
      place.notes,
      (statSync(place.store, { bigint: true }).ino % 256n).toString(16).padStart(2, '0'),
    )
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }

  it.each([true, false])('do not count when their process is dead (flock: %s)', async (flock) => {
    const place = newPlace()
    const dead = await startLocker(place, { koffi: true })
    await dead.kill()
    const locker = await startLocker(place, { koffi: flock })
    leave(place, { pid: dead.pid, start: '1', nonce: 'gone' })
    // A pid that lives, but started at another time.
    if (process.platform === 'linux') leave(place, { start: '1', nonce: 'reused' })
    await locker.acquire({ path: place.store, mode: 'exclusive' })
    expect(noteFiles(place)).toHaveLength(1)
    await locker.release()
    expect(noteFiles(place)).toEqual([])
  })

  it('count when their process cannot be seen, and the message says what to remove', async () => {
    const place = newPlace()
    const note = leave(place, { space: '1', pid: 4_000_000 })
    const error = await (await startLocker(place, { koffi: false })).refusal({ path: place.store, mode: 'append' })
    expect(error.details.holders).toMatchObject([{ pid: 4_000_000, verified: false, note }])
    expect(error.message).toContain(`remove its note ${note}`)
    expect(existsSync(note)).toBe(true)
  })

  it('are not believed when flock knows better', async () => {
    const place = newPlace()
    leave(place, { space: '1', flock: true })
    acquireLockSync(place.store, 'exclusive', 'compact').release()
  })

  it('count after a while even if they were never finished', async () => {
    const place = newPlace()
    const locker = await startLocker(place, { koffi: false })
    for (const text of ['', '{"held":0,"role":"delete"}', '[1', 'null']) {
      leave(place, {}, text)
      const { details } = await locker.refusal({ path: place.store, mode: 'shared' })
      expect(details.holders).toMatchObject([{ pid: process.pid, mode: 'exclusive' }])
    }
  })

  it('and other files there do not matter', async () => {
    const place = newPlace()
    const note = leave(place, { mode: 'shared' })
    writeFileSync(join(dirname(note), 'exclusive.txt'), '')
    acquireLockSync(place.store, 'append', 'append').release()
    expect(readdirSync(dirname(note)).sort()).toEqual(['exclusive.txt', basename(note)])
  })
})

describe('the place for notes', () => {
  function placeWithout(): Place {
    const place = newPlace()
    writeFileSync(place.notes, 'a file, not a directory')
    return place
  }

  it('may be missing: flock alone locks', async () => {
    const place = placeWithout()
    const locker = await startLocker(place, { koffi: true })
    await locker.acquire({ path: place.store, mode: 'append' })
    await expect(acquireLock(place.store, 'append', 'append')).rejects.toMatchObject({
      code: 'LOADERX_LOCKED',
      details: { holders: [] },
    })
    expect(() => acquireLockSync(place.store, 'exclusive', 'delete')).toThrow('left no note')
    acquireLockSync(place.store, 'shared', 'reader').release()
  })

  it('may be missing: without flock, reading goes on and changes are refused', async () => {
    const place = placeWithout()
    const locker = await startLocker(place, { koffi: false })
    await locker.acquireSync({ path: place.store, mode: 'shared' })
    for (const mode of ['append', 'exclusive'] as const) {
      const error = await locker.refusal({ path: place.store, mode })
      expect(error.code).toBe('LOADERX_IO')
      expect(error.message).toContain('LOADERX_LOCK_DIR')
    }
  })

  it('is open to all users whatever the umask', async () => {
    const place = newPlace()
    const locker = await startLocker(place, { koffi: false })
    await locker.call('umask', { mask: 0o077 })
    await locker.acquire({ path: place.store, mode: 'append' })
    const [note] = noteFiles(place)
    const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8)
    expect([place.notes, dirname(join(place.notes, note!)), join(place.notes, note!)].map(modeOf)).toEqual(
      process.platform === 'win32' ? ['666', '666', '666'] : ['1777', '1777', '644'],
    )
  })

  it('is no link', async () => {
    const place = newPlace()
    const elsewhere = join(dirname(place.notes), 'elsewhere')
    symlinkSync(elsewhere, place.notes)
    const locker = await startLocker(place, { koffi: false })
    expect((await locker.refusal({ path: place.store, mode: 'append' })).code).toBe('LOADERX_IO')
    mkdirSync(elsewhere)
    expect((await locker.refusal({ path: place.store, mode: 'append' })).code).toBe('LOADERX_IO')
    expect(readdirSync(elsewhere)).toEqual([])
  })
})

it.each([true, false])('locks a store that cannot be written, to read (flock: %s)', async (flock) => {
  const place = newPlace()
  const { store } = place
  const locker = await startLocker(place, { koffi: flock })
  // Loads all that it needs while it may still read everything.
  await locker.acquire({ path: store, mode: 'shared' })
  await locker.release()
  for (const name of readdirSync(store)) chmodSync(join(store, name), 0o444)
  chmodSync(store, 0o555)
  chmodSync(dirname(store), 0o755)
  await locker.call('becomeNobody')
  const look = () =>
    [store, ...readdirSync(store).map((name) => join(store, name))].map((path) => [path, statSync(path).mtimeMs])
  const before = look()
  await locker.acquireSync({ path: store, mode: 'shared' })
  await locker.release()
  expect(look()).toEqual(before)
  chmodSync(store, 0o755)
})

describe('a call', () => {
  it('is given up by its signal, with the reason, while it waits and before', async () => {
    const { store } = newPlace()
    const lock = await acquireLock(store, 'exclusive', 'delete')
    const reason = new Error('enough')
    const controller = new AbortController()
    const waiting = acquireLock(store, 'shared', 'reader', { timeout: Infinity, signal: controller.signal })
    setTimeout(() => controller.abort(reason), 20)
    await expect(waiting).rejects.toBe(reason)
    lock.release()
    await expect(acquireLock(store, 'shared', 'reader', { signal: controller.signal })).rejects.toBe(reason)
    acquireLockSync(store, 'exclusive', 'delete').release()
  })

  it.each([-1, Number.NaN, '5' as unknown as number])('refuses the timeout %s', async (timeout) => {
    const { store } = newPlace()
    await expect(acquireLock(store, 'shared', 'reader', { timeout })).rejects.toMatchObject({
      code: 'LOADERX_INVALID_ARGUMENT',
    })
  })

  it('for what is no store fails, and keeps nothing', async () => {
    const place = newPlace()
    await expect(acquireLock(join(place.store, 'none'), 'shared', 'reader')).rejects.toMatchObject({
      code: 'LOADERX_NOT_FOUND',
    })
    const empty = join(dirname(place.store), 'empty')
    mkdirSync(empty)
    writeFileSync(join(empty, '0.zr'), '')
    const { fds } = openFiles()
    await expect(acquireLock(empty, 'exclusive', 'delete')).rejects.toMatchObject({ code: 'LOADERX_NOT_FOUND' })
    expect(openFiles().fds).toBe(fds)
    expect(noteFiles(place)).toEqual([])
  })

  it('sees one store under two paths, and other stores not at all', async () => {
    const { store } = newPlace()
    const other = newPlace()
    const link = join(dirname(store), 'link')
    symlinkSync(store, link)
    using lock = await acquireLock(store, 'exclusive', 'delete')
    expect(() => acquireLockSync(link, 'shared', 'reader')).toThrow(link)
    acquireLockSync(other.store, 'exclusive', 'delete').release()
    // A lock of another store, and a released one, do not help.
    const elsewhere = acquireLockSync(other.store, 'shared', 'reader')
    const released = acquireLockSync(other.store, 'shared', 'reader')
    released.release()
    expect(() => acquireLockSync(store, 'exclusive', 'compact', [elsewhere, released])).toThrow('delete')
    acquireLockSync(other.store, 'exclusive', 'compact', [elsewhere, released]).release()
    expect(() => acquireLockSync(other.store, 'exclusive', 'compact', [released])).toThrow('reader')
    elsewhere.release()
    expect(lock.mode).toBe('exclusive')
  })

  it('and its release leave no open file', async () => {
    const { store } = newPlace()
    const shared = acquireLockSync(store, 'shared', 'reader')
    acquireLockSync(store, 'exclusive', 'delete', [shared]).release()
    const { fds } = openFiles()
    for (let i = 0; i < 100; i += 1) {
      const append = acquireLockSync(store, 'append', 'append')
      expect(() => acquireLockSync(store, 'append', 'append')).toThrow('appended')
      expect(() => acquireLockSync(store, 'exclusive', 'delete', [shared])).toThrow('append')
      acquireLockSync(store, 'exclusive', 'delete', [shared, append]).release()
      append.release()
      append.release()
    }
    expect(openFiles().fds).toBe(fds)
    shared.release()
    expect(openFiles().fds).toBe(fds - (koffi() === null ? 0 : 1))
  })
})

function openFiles(): { fds: number } {
  let fds = 0
  for (let fd = 0; fd < 1024; fd += 1) {
    try {
      fstatSync(fd)
      fds += 1
    } catch {
      // Not open.
    }
  }
  return { fds }
}
