// zrecord/: which operations on files an append and a gather take, in which order, and what a failing one leaves.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openStore } from '#dist/zrecord/zrecord.js'
import { noise, runs } from '../support/bytes.ts'
import { RecordedDirectory } from '../support/recorded.ts'
import { nearlyFullStore, tempDir } from '../support/stores.ts'
import { readHeader } from '../support/table.ts'

const META = 16 + 2 ** 28
const SUMS = 32 + 2 ** 27
const noSpace = (): Error => Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })

async function makeStore() {
  const directory = new RecordedDirectory(join(tempDir(), 'store'))
  const store = await openStore(directory, { create: true, codec: 'raw', residency: 'file' })
  return { directory, store }
}

describe('an append', () => {
  it('writes each contiguous run with one call: bytes and sums, then entries, then the header, then the stamp', async () => {
    const { directory, store } = await makeStore()
    expect(directory.takeChanges()).toEqual([
      'make',
      'open 0.zr create',
      `truncate 0.zr ${2 ** 32}`,
      'open meta.zr.new create',
      'write meta.zr.new 0+16',
      `truncate meta.zr.new ${META}`,
      'rename meta.zr.new meta.zr',
    ])
    await store.append(noise(100_000, 1), 100)
    expect(directory.takeChanges()).toEqual([
      'write 0.zr 0+100000',
      'open sums.zr create',
      `truncate sums.zr ${SUMS}`,
      'write sums.zr 32+8000',
      'write meta.zr 16+16000',
      'write meta.zr 0+16',
      'write sums.zr 0+32',
    ])
    await store.append([noise(10, 1), noise(20, 2)])
    expect(directory.takeChanges()).toEqual([
      'write 0.zr 100000+30',
      'write sums.zr 8032+16',
      'write meta.zr 16016+32',
      'write meta.zr 0+16',
      'write sums.zr 0+32',
    ])
    await store.sync()
    expect(directory.takeChanges()).toEqual(['sync 0.zr', 'sync sums.zr', 'sync', 'sync meta.zr'])
    await store.close()
    expect(directory.takeChanges()).toEqual([])
  })

  it('writes one run on each side of a rollover', async () => {
    const path = nearlyFullStore(join(tempDir(), 'store'), 1000)
    const directory = new RecordedDirectory(path)
    const store = await openStore(directory, { codec: 'raw', residency: 'file' })
    await store.append(noise(2100, 1), 300)
    expect(directory.takeChanges()).toEqual([
      `write 0.zr ${2 ** 32 - 1000}+900`,
      'open 1.zr create',
      `truncate 1.zr ${2 ** 32}`,
      'write 1.zr 0+1200',
      'open sums.zr create',
      `truncate sums.zr ${SUMS}`,
      'write sums.zr 32+56',
      'write meta.zr 16+112',
      'write meta.zr 0+16',
      'write sums.zr 0+32',
    ])
    await store.close()
  })

  it('that fails at any of its operations leaves the store as it was, and the next one works', async () => {
    const records = [noise(3 * 2 ** 20, 1), runs(3 * 2 ** 20, 2)].map((source) => ({ source, bytes: 2 ** 18 }))
    for (const codec of ['raw', 'flate'] as const) {
      for (let failing = 0; ; failing++) {
        const directory = new RecordedDirectory(nearlyFullStore(join(tempDir(), 'store'), 2 ** 21))
        const store = await openStore(directory, { codec, residency: 'memory' })
        await store.append([noise(50, 9)])
        const before = readHeader(directory.path)
        directory.takeChanges()
        let count = 0
        directory.fail = (operation) => {
          if (!/^(write|truncate|open \S+ create)/.test(operation)) return undefined
          return count++ === failing ? noSpace() : undefined
        }
        const { source, bytes } = records[failing % 2]!
        const appended = await store.append(source, bytes).then(
          () => 'done',
          (error) => (error as Error).message,
        )
        directory.fail = () => undefined
        if (appended === 'done') {
          expect(failing).toBeGreaterThan(4)
          await store.close()
          break
        }
        expect(appended).toMatch('ENOSPC')
        expect(readHeader(directory.path)).toEqual(before)
        expect(store.length).toBe(1)
        expect(await store.append(source, bytes)).toBe(1)
        expect(Buffer.compare(await store.get(0), noise(50, 9))).toBe(0)
        expect(Buffer.compare(await store.get(12), source.subarray(11 * bytes))).toBe(0)
        await store.close()
      }
    }
  })

  it('that is given up stops at once', async () => {
    const { directory, store } = await makeStore()
    directory.takeChanges()
    const abort = new AbortController()
    directory.fail = (operation) => {
      if (operation.startsWith('write')) abort.abort()
      return undefined
    }
    const appended = store.append(new Uint8Array(9 * 2 ** 20), 2 ** 20, { signal: abort.signal })
    await expect(appended).rejects.toMatchObject({ name: 'AbortError' })
    expect(directory.takeChanges()).toHaveLength(1)
    await store.close()
  })

  it('that has been committed is not called failed when following it fails', async () => {
    const { directory, store } = await makeStore()
    let committed = false
    directory.fail = (operation) => {
      if (operation === 'write meta.zr 0+16') committed = true
      else if (committed) return noSpace()
      return undefined
    }
    expect(await store.append([noise(10, 1)])).toBe(0)
    expect(() => store.length).toThrow('ENOSPC')
    directory.fail = () => undefined
    expect(store.length).toBe(1)
    expect(Buffer.compare(await store.get(0), noise(10, 1))).toBe(0)
    await store.close()
  })
})

describe('making a store', () => {
  it('that fails at any of its operations leaves nothing behind', async () => {
    for (let failing = 0; ; failing++) {
      const top = join(tempDir(), 'a')
      const directory = new RecordedDirectory(join(top, 'b', 'store'))
      let count = 0
      directory.fail = (operation) => {
        if (/^(read|look|remove)/.test(operation)) return undefined
        return count++ === failing ? noSpace() : undefined
      }
      const opened = await openStore(directory, { create: true }).catch((error: Error) => error.message)
      if (typeof opened !== 'string') {
        expect(failing).toBeGreaterThan(6)
        await opened.close()
        break
      }
      expect(opened).toBe(noSpace().message)
      expect(existsSync(top), `operation ${failing}`).toBe(false)
    }
  })

  it('goes on from what a killed process left', async () => {
    for (const last of ['open 0.zr create', 'open meta.zr.new create', 'write meta.zr.new', 'rename meta.zr.new']) {
      const directory = new RecordedDirectory(join(tempDir(), 'store'))
      let dead = false
      directory.fail = (operation) => {
        dead ||= operation.startsWith(last)
        return dead ? noSpace() : undefined
      }
      await expect(openStore(directory, { create: true })).rejects.toThrow('ENOSPC')
      directory.fail = () => undefined
      const store = await openStore(directory, { create: true })
      await store.append([noise(10, 1)])
      expect(readdirSync(directory.path).sort()).toEqual(['0.zr', 'meta.zr', 'sums.zr'])
      await store.close()
    }
  })
})

describe('a gather from the files', () => {
  it('reads neighbours together and only the part of the table that it needs', async () => {
    const { directory, store } = await makeStore()
    await store.append(noise(1_000_000, 1), 100)
    await store.close()
    directory.log.length = 0
    const reader = await openStore(directory, { residency: 'file' })
    expect(directory.log.filter((one) => one.startsWith('read'))).toEqual([
      'read meta.zr 0+16',
      'read meta.zr 160000+16',
      'read sums.zr 0+32',
      'read sums.zr 0+32',
    ])
    directory.log.length = 0
    await reader.gather([5, 6, 7, 4, 5, 100, 9000, 9001], new Uint8Array(800), 100)
    expect(directory.log.filter((one) => one.startsWith('read'))).toEqual([
      'read meta.zr 0+65536',
      'read meta.zr 131072+28944',
      'read sums.zr 0+65536',
      'read sums.zr 65536+14496',
      'read 0.zr 400+400',
      'read 0.zr 10000+100',
      'read 0.zr 900000+200',
    ])
    directory.log.length = 0
    reader.gatherSync([5, 20], new Uint8Array(200), 100)
    expect(directory.log).toEqual(['read 0.zr 500+1600'])
    await reader.close()
  })

  it('that fails says where', async () => {
    const { directory, store } = await makeStore()
    await store.append(noise(1000, 1), 100)
    directory.fail = (operation) => (operation.startsWith('read 0.zr') ? noSpace() : undefined)
    await expect(store.gather([1, 9], new Uint8Array(200), 100)).rejects.toThrow('ENOSPC')
    directory.fail = () => undefined
    await store.gather([1, 9], new Uint8Array(200), 100)
    await store.close()
  })
})
