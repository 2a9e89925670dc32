// `loaderx info`: what it says of sound stores, compared with the original's own figures, and of damaged ones.
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Dataset, ndarray, Zrecord } from 'loaderx'
import { beforeEach, describe, expect, it, test } from 'vitest'
import { cli } from '../support/cli.ts'
import { broken, golden, goldenCases, restoreStore, tempDir } from '../support/stores.ts'

let dir: string
beforeEach(() => {
  dir = tempDir()
})

interface Info {
  records: number
  lengths: { min: number; median: number; max: number } | null
  problems: { code: string; message: string }[]
  [fact: string]: unknown
}

async function info(store: string): Promise<{ code: number | null; stderr: string; facts: Info }> {
  const { code, stdout, stderr } = await cli(['info', store, '--json'])
  return { code, stderr, facts: JSON.parse(stdout) as Info }
}

test.each(goldenCases)('%s: what the original says of it', async (name) => {
  const { dir: vector, expected } = golden(name)
  const store = restoreStore(vector, join(dir, name))
  const { code, stderr, facts } = await info(store)
  const lengths = expected.records.map(({ length }) => length).sort((a, b) => a - b)
  const logical = lengths.reduce((sum, length) => sum + length, 0)
  expect([code, stderr]).toEqual([0, ''])
  expect(facts).toMatchObject({
    path: store,
    formatVersion: expected.header.version,
    records: expected.stats.records,
    storedBytes: expected.stats.live_bytes,
    reclaimableBytes: expected.stats.reclaimable,
    logicalBytes: logical,
    ratio: logical === 0 ? null : expected.stats.live_bytes / logical,
    chunks: expected.header.tail_chunk + 1,
    compressedRecords: expected.records.filter((record) => record.codec === 1).length,
    shape: expected.schema?.shape ?? null,
    codec: expected.schema?.codec ?? null,
    problems: [],
  })
  expect(facts.lengths).toEqual(
    lengths.length === 0
      ? null
      : { min: lengths[0], median: lengths[Math.ceil(lengths.length / 2) - 1], max: lengths.at(-1) },
  )
  const allocated = readdirSync(store).reduce((sum, file) => sum + statSync(join(store, file)).blocks * 512, 0)
  expect(facts['allocatedBytes']).toBe(allocated)
})

describe('as text', () => {
  it('of a dataset', async () => {
    const data = Float32Array.from({ length: 12 }, (_, i) => i)
    await Dataset.write(join(dir, 'd.zr'), ndarray('float32', [2, 3, 2], data), { codec: 'raw' })
    const { code, stdout } = await cli(['info', 'd.zr'], { cwd: dir })
    expect(code).toBe(0)
    expect(stdout.replace(/on disk .*/, 'on disk   ...').replace(dir, '')).toBe(
      [
        'store     /d.zr',
        'samples   2',
        'dtype     float32',
        'shape     [3, 2]',
        'sample    24 bytes',
        'codec     raw',
        'logical   48 bytes',
        'stored    48 bytes, 100.0 %',
        'deflated  0 of 2 records',
        'chunks    1',
        'free      0 bytes',
        'on disk   ...',
        'format    version 1',
        '',
      ].join('\n'),
    )
  })

  it('of plain records', async () => {
    const store = await Zrecord.open(join(dir, 'r.zr'), { create: true })
    await store.append([1000, 10, 20, 30].map((length) => new Uint8Array(length)))
    await store.close()
    const { stdout } = await cli(['info', 'r.zr'], { cwd: dir })
    expect(stdout).toMatch(/^records {3}4, plain \(there is no schema\.json\)$/m)
    expect(stdout).toMatch(/^lengths {3}10 … 1,000 bytes, median 20$/m)
    expect(stdout).toMatch(/^deflated {2}3 of 4 records$/m)
  })

  it('of big-endian samples and of none', async () => {
    const be = await cli(['info', restoreStore(golden('dtype_be_f32').dir, join(dir, 'be'))])
    expect(be.stdout).toMatch(/^dtype {5}float32, big-endian$/m)
    const none = await cli(['info', restoreStore(golden('empty').dir, join(dir, 'none'))])
    expect(none.stdout).toMatch(/^lengths {3}-$/m)
    expect(none.stdout).toMatch(/^stored {4}0 bytes$/m)
  })
})

describe('damage', () => {
  test.each([
    ['bad_magic', 3, 'NOT_A_STORE'],
    ['version_2', 3, 'NEWER_VERSION'],
    ['length_over_table', 1, 'CORRUPT_STORE'],
    ['chunk_missing', 1, 'CORRUPT_STORE'],
    ['schema_not_json', 3, 'INVALID_SCHEMA'],
    ['schema_dtype_object', 3, 'UNSUPPORTED_DTYPE'],
  ])('%s is refused', async (name, exit, error) => {
    const store = restoreStore(broken(name).dir, join(dir, name))
    const { code, stdout, stderr } = await cli(['info', store])
    expect([code, stdout]).toEqual([exit, ''])
    expect(stderr).toMatch(new RegExp(`^loaderx: .*${name}.* \\[LOADERX_${error}\\]\n`))
  })

  test.each([
    ['chunk_cut', 1, 'CORRUPT_RECORD', '4 records with a damaged table entry, the first is 2'],
    ['offset_past_frontier', 1, 'CORRUPT_RECORD', '1 record with a damaged table entry, the first is 1'],
    ['codec_2', 1, 'CORRUPT_RECORD', '1 record with a damaged table entry, the first is 3'],
    ['tail_before_last', 1, 'CORRUPT_STORE', 'nothing can be appended'],
    ['schema_dtype_larger', 3, 'SCHEMA_MISMATCH', '6 records that are not the'],
  ])('%s is shown with what is known', async (name, exit, error, message) => {
    const store = restoreStore(broken(name).dir, join(dir, name))
    const { code, stderr, facts } = await info(store)
    const problem = { code: `LOADERX_${error}`, message: expect.stringContaining(message) }
    expect([code, facts.records, facts.problems]).toEqual([exit, 6, [problem]])
    expect(stderr).toBe(`loaderx: ${facts.problems[0]!.message} [LOADERX_${error}]\n`)
  })

  test.each([
    ['nothing', 'none.zr', 'NOT_FOUND'],
    ['a directory that is no store', '.', 'NOT_A_STORE'],
    ['a file', 'data/digits.npy', 'NOT_A_DIRECTORY'],
  ])('%s has a hint beside the refusal', async (_, path, error) => {
    const { code, stdout, stderr } = await cli(['info', path])
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toMatch(new RegExp(`\\[LOADERX_${error}\\]\nloaderx import <file.npy> <store> makes a store`))
  })
})
