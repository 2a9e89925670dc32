// What locks mean: which exclude each other, the names of notes, when a holder is dead, the words of a refusal.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LockHolder } from '#dist/errors.js'
import {
  conflict,
  formatNoteName,
  hostMark,
  judge,
  lockedError,
  type NoteName,
  type ProcessMark,
  parseNoteName,
} from '#dist/storage/lock-rules.js'
import { ownMark, startOf } from '#dist/storage/process-mark.js'

const modes = ['shared', 'append', 'exclusive'] as const

it('lets readers in beside readers and one appender, and nobody beside an exclusive lock', () => {
  const together = modes.flatMap((a) => modes.filter((b) => !conflict(a, b)).map((b) => `${a} ${b}`))
  expect(together).toEqual(['shared shared', 'shared append', 'append shared'])
})

describe('names of notes', () => {
  const digits = fc.nat().map(String)
  const note = fc.record<NoteName>({
    store: fc.stringMatching(/^[0-9a-f]{1,16}-[0-9a-f]{1,16}$/),
    mode: fc.constantFrom(...modes),
    flock: fc.boolean(),
    pid: fc.nat(),
    start: digits,
    space: digits,
    boot: fc.stringMatching(/^[0-9a-f]{1,32}$/),
    host: fc.string({ unit: 'binary' }).map(hostMark),
    nonce: fc.stringMatching(/^[0-9a-z]{1,20}$/),
  })

  it('say what they were made from, and are file names', () => {
    fc.assert(
      fc.property(note, (made) => {
        const name = formatNoteName(made)
        expect(parseNoteName(name)).toEqual(made)
        expect(name).toMatch(/^[\w.-]{1,255}$/)
      }),
    )
  })

  it('are told from other files', () => {
    for (const name of ['', 'x.json', 'shared.flock.1.2.3.4.json', '1-2.other.flock.1.2.3.4.h.n.json']) {
      expect(parseNoteName(name)).toBeUndefined()
    }
  })
})

describe('a holder', () => {
  const own: ProcessMark = { pid: 10, start: '500', space: '7', boot: 'b1', host: 'here' }
  const seen = (note: Partial<ProcessMark>, start?: string, self: Partial<ProcessMark> = {}) =>
    judge({ ...own, pid: 20, ...note }, { ...own, ...self }, (pid) => (pid === 20 ? start : undefined))

  it.each<[string, ReturnType<typeof seen>, string]>([
    ['lives when its process is there', seen({}, '500'), 'alive'],
    ['is dead when it is not', seen({}, undefined), 'dead'],
    ['is dead when its pid was used again', seen({}, '501'), 'dead'],
    ['lives when the system does not say when its process started', seen({}, '0'), 'alive'],
    ['lives when it did not know its own start', seen({ start: '0' }, '501'), 'alive'],
    ['is dead when the machine was started anew', seen({ boot: 'b0' }, '500'), 'dead'],
    ['is unknown on another machine', seen({ boot: 'b0', host: 'there' }, undefined), 'unknown'],
    ['is unknown in another container', seen({ space: '8' }, undefined), 'unknown'],
    ['is seen under another host name of the same system', seen({ host: 'there' }, undefined), 'dead'],
    [
      'is unknown under another name where boots have none',
      seen({ boot: '0', host: 'x' }, '500', { boot: '0' }),
      'unknown',
    ],
    ['is seen under the same name where boots have none', seen({ boot: '0' }, undefined, { boot: '0' }), 'dead'],
  ])('%s', (_, state, expected) => {
    expect(state).toBe(expected)
  })
})

describe('processes', () => {
  it('see themselves', () => {
    expect(ownMark()).toMatchObject({ pid: process.pid, start: startOf(process.pid) })
    expect(startOf(process.ppid)).toMatch(/^\d+$/)
  })

  it('see that another has ended, also when nobody waited for it', async () => {
    // The shell becomes a process that knows nothing of the child that it had.
    const parent = spawn('sh', ['-c', 'sleep 0.01 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] })
    const gone = once(parent, 'exit')
    try {
      const [line] = (await once(parent.stdout, 'data')) as [Buffer]
      await expect.poll(() => startOf(Number(line)), { timeout: 10_000 }).toBeUndefined()
    } finally {
      parent.kill()
      await gone
    }
    await expect.poll(() => startOf(parent.pid!), { timeout: 10_000 }).toBeUndefined()
  })
})

describe('a refusal', () => {
  const holder: LockHolder = {
    pid: 7,
    host: 'box',
    mode: 'shared',
    role: 'loader',
    since: '2026-01-02T03:04:05.006Z',
    verified: true,
    note: 'notes/n.json',
  }

  it('names every holder and what to do', () => {
    const error = lockedError('data/x', 'exclusive', 'compact', [holder, { ...holder, pid: 8 }], 250, 8)
    expect(error.code).toBe('LOADERX_LOCKED')
    expect(error.details).toEqual({ path: 'data/x', holders: [holder, { ...holder, pid: 8 }] })
    expect(error.message).toBe(
      'data/x cannot be compacted after 250 ms of waiting: it needs the store to itself, and the store is held by ' +
        'pid 7 on box (loader since 2026-01-02T03:04:05.006Z); pid 8 (this process) on box (loader since ' +
        '2026-01-02T03:04:05.006Z); close the other handles and loaders, or wait longer (timeout)',
    )
  })

  it('says how to remove the note of one that cannot be seen', () => {
    const unseen = { ...holder, role: undefined, since: undefined, verified: false }
    expect(lockedError('data/x', 'append', 'append', [unseen], 0, 7).message).toBe(
      'data/x cannot be appended to: it is held by pid 7 on box (shared); let the holder finish, or close it, or wait ' +
        '(timeout: milliseconds); if pid 7 on box no longer runs, remove its note notes/n.json',
    )
  })

  it('says so when nobody left a note', () => {
    expect(lockedError('data/x', 'shared', 'reader', [], 0, 7).message).toContain('a process that left no note')
  })
})
