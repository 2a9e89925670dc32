// Test support: a process or worker thread that takes locks as it is told (lockers.ts is its other end).
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parentPort } from 'node:worker_threads'
import { acquireLock, acquireLockSync } from '#dist/storage/lock.js'

const locks = new Map()
const named = (names = []) => names.map((name) => locks.get(name))

const commands = {
  ready: () => process.pid,
  async acquire({ name, path, mode, role = mode, timeout = 0, excluding }) {
    locks.set(name, await acquireLock(path, mode, role, { timeout, excluding: named(excluding) }))
  },
  acquireSync({ name, path, mode, role = mode, excluding }) {
    locks.set(name, acquireLockSync(path, mode, role, named(excluding)))
  },
  release: ({ name }) => locks.get(name).release(),
  /** Gives up root's rights, which see no read-only directory. */
  becomeNobody() {
    if (process.getuid?.() !== 0) return
    process.setgroups([])
    process.setgid(65534)
    process.setuid(65534)
  },
  umask: ({ mask }) => void process.umask(mask),
  end: () => process.exit(),
  hammer,
}

/**
 * Takes locks of all kinds for `ms` milliseconds and looks in the directory `board` that no other that is excluded is
 * at work. Gives how often the counter was raised, and how many calls were refused.
 */
async function hammer({ path, board, ms }) {
  const counter = join(board, 'counter')
  const end = performance.now() + ms
  let raised = 0
  let refused = 0
  while (performance.now() < end) {
    const kind = Math.random()
    if (kind < 0.7) {
      const lock = await take(path, 'append', 'append')
      const sign = put(board, 'append')
      await raise(counter)
      raised += 1
      expectNone(board, ['alone'])
      rmSync(sign)
      lock.release()
    } else {
      const shared = await take(path, 'shared', 'reader')
      const sign = put(board, `reader-${process.pid}`)
      expectNone(board, ['alone'])
      await new Promise(setImmediate)
      if (kind < 0.85) {
        try {
          const alone = await acquireLock(path, 'exclusive', 'delete', { excluding: [shared], timeout: 2 })
          rmSync(sign)
          const aloneSign = put(board, 'alone')
          expectNone(board, ['append', 'reader'])
          await raise(counter)
          raised += 1
          rmSync(aloneSign)
          put(board, `reader-${process.pid}`)
          alone.release()
        } catch (error) {
          if (error.code !== 'LOADERX_LOCKED') throw error
          refused += 1
        }
      }
      expectNone(board, ['alone'])
      rmSync(sign)
      shared.release()
    }
  }
  return { raised, refused }
}

/** As a call without an end, with shorter pauses than such a call makes. */
async function take(path, mode, role) {
  for (;;) {
    try {
      return await acquireLock(path, mode, role, { timeout: 2 })
    } catch (error) {
      if (error.code !== 'LOADERX_LOCKED') throw error
    }
  }
}

async function raise(counter) {
  const before = existsSync(counter) ? Number(readFileSync(counter, 'utf8')) : 0
  await new Promise(setImmediate)
  writeFileSync(counter, String(before + 1))
}

function put(board, name) {
  const path = join(board, name)
  closeSync(openSync(path, 'wx'))
  return path
}

function expectNone(board, kinds) {
  const found = readdirSync(board).filter((name) => kinds.includes(name.split('-')[0]))
  if (found.length > 0) throw new Error(`at work at the same time: ${found.join(', ')}`)
}

async function answer(message, reply) {
  const { id, command, ...rest } = message
  try {
    reply({ id, value: await commands[command](rest) })
  } catch (error) {
    reply({ id, error: { code: error.code, message: error.message, details: error.details } })
  }
}

if (parentPort !== null) {
  parentPort.on('message', (message) => void answer(message, (reply) => parentPort.postMessage(reply)))
} else {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    void answer(JSON.parse(line), (reply) => process.stdout.write(`${JSON.stringify(reply)}\n`))
  })
  lines.on('close', () => process.exit())
}
