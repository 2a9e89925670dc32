// zrecord/: opening and making stores, and what is refused without a trace.

import { execFileSync } from 'node:child_process'
import {
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { Zrecord, type ZrecordOptions } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { noise } from '../support/bytes.ts'
import { needs } from '../support/parts.ts'
import { golden, restoreStore, tempDir } from '../support/stores.ts'
import { fingerprint, writeAt } from '../support/table.ts'
import { closeAfterEach, coded, variants } from './suites/variants.ts'

closeAfterEach()
const restored = (name = 'raw_u8'): string => restoreStore(golden(name).dir, join(tempDir(), name))

describe('opening', () => {
  it('what is no store is a coded error that names the path, and makes nothing', async () => {
    const dir = tempDir()
    writeFileSync(join(dir, 'file'), 'x')
    mkdirSync(join(dir, 'empty'))
    mkdirSync(join(dir, 'other'))
    writeFileSync(join(dir, 'other', '0.zr'), 'x')
    const cases = [
      ['missing', 'LOADERX_NOT_FOUND', 'does not exist'],
      ['missing/below', 'LOADERX_NOT_FOUND', 'does not exist'],
      ['file', 'LOADERX_NOT_A_DIRECTORY', 'is a file, not a directory'],
      ['file/below', 'LOADERX_NOT_A_DIRECTORY', 'a part of the path is a file'],
      ['empty', 'LOADERX_NOT_A_STORE', 'it has no meta.zr'],
      ['other', 'LOADERX_NOT_A_STORE', 'it has no meta.zr'],
    ] as const
    const before = [dir, join(dir, 'empty'), join(dir, 'other')].map(fingerprint)
    for (const [name, code, text] of cases) {
      for (const residency of ['auto', 'memory', 'mapped', 'file'] as const) {
        const opened = Zrecord.open(join(dir, name), { residency })
        await expect(opened, name).rejects.toThrow(coded(code, text))
        await expect(opened, name).rejects.toThrow(coded(code, join(dir, name.split('/')[0]!)))
      }
    }
    expect([dir, join(dir, 'empty'), join(dir, 'other')].map(fingerprint)).toEqual(before)
  })

  it('a path or an option that makes no sense', async () => {
    const dir = tempDir()
    for (const path of ['', 'a\0b', undefined, null, 5, {}]) {
      await expect(Zrecord.open(path as string)).rejects.toThrow(coded('LOADERX_INVALID_ARGUMENT', 'path'))
    }
    const options: [object, string][] = [
      [{ codec: 'gzip' }, 'codec'],
      [{ codec: null }, 'codec'],
      [{ residency: 'ram' }, 'residency'],
      [{ readOnly: true }, 'readOnly'],
    ]
    for (const [option, text] of options) {
      const opened = Zrecord.open(join(dir, 'x'), { create: true, ...(option as ZrecordOptions) })
      await expect(opened).rejects.toThrow(coded('LOADERX_INVALID_ARGUMENT', text))
    }
    expect(readdirSync(dir)).toEqual([])
  })

  it('a relative path gives an absolute one', async () => {
    const path = restored()
    const store = await Zrecord.open(relative(process.cwd(), path))
    expect(store.path).toBe(path)
    await store.close()
  })

  it('through a link to the directory, but not through links inside of it', async () => {
    const path = restored()
    symlinkSync(path, `${path}-link`)
    const store = await Zrecord.open(`${path}-link`)
    expect(store.length).toBe(40)
    await Promise.all([store.append([noise(9, 1)]), (await Zrecord.open(path)).append([noise(9, 2)])])
    expect(store.length).toBe(42)
    await store.close()
    for (const [name, code] of [
      ['meta.zr', 'LOADERX_NOT_A_STORE'],
      ['0.zr', 'LOADERX_CORRUPT_STORE'],
    ] as const) {
      const linked = restored()
      renameSync(join(linked, name), join(linked, 'elsewhere'))
      for (const stand of ['link', 'pipe', 'dir']) {
        if (stand === 'link') symlinkSync('elsewhere', join(linked, name))
        else if (stand === 'dir') mkdirSync(join(linked, name))
        else execFileSync('mkfifo', [join(linked, name)])
        for (const create of [false, true]) {
          await expect(Zrecord.open(linked, { create })).rejects.toThrow(coded(code, 'is not a plain file'))
        }
        rmSync(join(linked, name), { recursive: true })
      }
    }
  })

  it('a header that names a newer version, or more than there is', async () => {
    const path = restored()
    writeAt(join(path, 'meta.zr'), 4, Uint8Array.of(2, 0))
    await expect(Zrecord.open(path)).rejects.toThrow(coded('LOADERX_NEWER_VERSION', 'version 2'))
    writeAt(join(path, 'meta.zr'), 4, Uint8Array.of(1, 0, 1, 0))
    await expect(Zrecord.open(path)).rejects.toThrow(coded('LOADERX_CORRUPT_STORE', '1.zr is missing'))
    writeAt(join(path, 'meta.zr'), 4, Uint8Array.of(1, 0, 0, 0))
    truncateSync(join(path, 'meta.zr'), 16 + 16 * 40 - 1)
    await expect(Zrecord.open(path)).rejects.toThrow(coded('LOADERX_CORRUPT_STORE', 'has 655 bytes'))
  })
})

describe('making', () => {
  it('an empty store, once, also when several do it at the same time', async () => {
    const path = join(tempDir(), 'a', 'store')
    const stores = await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        const store = await Zrecord.open(path, { create: true })
        await store.append([noise(50, i)])
        return store
      }),
    )
    expect(stores.map((store) => store.length)).toEqual(new Array(8).fill(8))
    expect(readdirSync(path).sort()).toEqual(['0.zr', 'meta.zr', 'sums.zr'])
    await Promise.all(stores.map((store) => store.close()))
  })

  it('leaves a store that is there as it is', async () => {
    const path = restored()
    const before = fingerprint(path)
    const store = await Zrecord.open(path, { create: true })
    expect(store.length).toBe(40)
    await store.close()
    expect(fingerprint(path)).toEqual(before)
  })

  it('refuses to give data a new, empty table', async () => {
    const path = restored()
    unlinkSync(join(path, 'meta.zr'))
    const before = fingerprint(path)
    const refused = coded('LOADERX_NOT_A_STORE', '0.zr has data, but there is no meta.zr beside it')
    await expect(Zrecord.open(path, { create: true })).rejects.toThrow(refused)
    expect(fingerprint(path)).toEqual(before)
  })

  it('in a directory with other files, but not where a file stands', async () => {
    const dir = tempDir()
    writeFileSync(join(dir, 'notes.txt'), 'x')
    await (await Zrecord.open(dir, { create: true })).close()
    expect(readdirSync(dir).sort()).toEqual(['0.zr', 'meta.zr', 'notes.txt'])
    for (const path of [join(dir, 'notes.txt'), join(dir, 'notes.txt', 'below')]) {
      await expect(Zrecord.open(path, { create: true })).rejects.toThrow(coded('LOADERX_NOT_A_DIRECTORY'))
    }
  })
})

describe('a trimmed store', () => {
  const SIZES = { 'meta.zr': 16 + 16 * 40, '0.zr': 4000 }
  it.each(variants)('$name: opens, reads and is appended to', async (variant) => {
    const whole = await variant.open(restored())
    const path = restored()
    for (const [name, size] of Object.entries(SIZES)) truncateSync(join(path, name), size)
    const store = await variant.open(path)
    const indices = Array.from({ length: 40 }, (_, i) => i)
    const [one, other] = [new Uint8Array(4000), new Uint8Array(4000)]
    await store.gather(indices, one, 100)
    await whole.gather(indices, other, 100)
    expect(Buffer.compare(one, other)).toBe(0)
    const reader = await variant.open(path)
    expect(await store.append(noise(70_000, 1), 1000)).toBe(40)
    for (const handle of [store, reader, await variant.open(path)]) {
      expect(handle.length).toBe(110)
      expect(Buffer.compare(await handle.get(39), other.subarray(3900))).toBe(0)
      expect(Buffer.compare(await handle.get(109), noise(70_000, 1).subarray(69_000))).toBe(0)
    }
    expect(fingerprint(path).map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      '0.zr 4294967296',
      'meta.zr 268435472',
      expect.stringContaining('schema.json'),
      'sums.zr 134217760',
    ])
  })

  it.each(variants)('$name: that was cut too short fails by the record and lives on', async (variant) => {
    const path = restored()
    truncateSync(join(path, '0.zr'), 2050)
    const store = await variant.open(path)
    const before = fingerprint(path)
    const into = new Uint8Array(200).fill(0xee)
    await expect(store.gather([19, 20], into, 100)).rejects.toThrow(coded('LOADERX_CORRUPT_RECORD', 'record 20 '))
    expect(into.every((byte) => byte === 0xee)).toBe(true)
    await expect(store.get(39)).rejects.toThrow(coded('LOADERX_CORRUPT_RECORD', 'reach past 2050'))
    await store.gather([19, 0], into, 100)
    // Growing the file would turn the lost records into zeros that read without an error.
    for (let i = 0; i < 2; i++) {
      await expect(store.append([noise(5, 1)])).rejects.toThrow(coded('LOADERX_TRUNCATED', '0.zr ends at byte 2050'))
    }
    expect(fingerprint(path)).toEqual(before)
  })

  it.each(variants)('$name: whose last records were removed can be appended to', async (variant) => {
    const path = restored('all_deleted')
    truncateSync(join(path, '0.zr'), 0)
    const store = await variant.open(path)
    expect(await store.append([noise(100, 1)])).toBe(0)
    expect(Buffer.compare(await store.get(0), noise(100, 1))).toBe(0)
  })
})

needs('mount').describe('on a file system', () => {
  const mounted = async (args: string[], work: (path: string) => Promise<void>): Promise<void> => {
    const path = tempDir()
    execFileSync('mount', [...args, path])
    try {
      await work(path)
    } finally {
      execFileSync('umount', ['--lazy', path])
    }
  }

  it('that is read-only: opens and reads, and an append says so', async () => {
    const parent = join(restored(), '..')
    for (const variant of variants) {
      await mounted(['-o', 'ro,bind', parent], async (path) => {
        const store = await variant.open(join(path, 'raw_u8'))
        expect(store.length).toBe(40)
        await store.get(39)
        await expect(store.append([noise(5, 1)])).rejects.toThrow(coded('LOADERX_IO', 'read-only (EROFS)'))
        await expect(Zrecord.open(join(path, 'new'), { create: true })).rejects.toThrow(coded('LOADERX_IO', 'EROFS'))
        await store.close()
      })
    }
  })

  it('that is full: an append fails, the store is as before and works once there is space', async () => {
    for (const variant of variants) {
      await mounted(['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs'], async (path) => {
        const store = await variant.open(join(path, 'store'), { create: true, codec: 'raw' })
        await store.append([noise(300, 1)])
        writeFileSync(join(path, 'other'), new Uint8Array(700_000))
        for (let i = 0; i < 3; i++) {
          await expect(store.append(noise(600_000, 2), 1000)).rejects.toThrow(coded('LOADERX_IO', 'ENOSPC'))
          expect(store.length).toBe(1)
        }
        const other = await variant.open(join(path, 'store'))
        for (const handle of [store, other]) {
          expect(handle.length).toBe(1)
          expect(Buffer.compare(await handle.get(0), noise(300, 1))).toBe(0)
        }
        unlinkSync(join(path, 'other'))
        expect(await store.append(noise(600_000, 2), 1000)).toBe(1)
        for (const handle of [store, other]) {
          expect(Buffer.compare(await handle.get(600), noise(600_000, 2).subarray(599_000))).toBe(0)
        }
        await store.close()
        await other.close()
      })
    }
  })
})
