import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Dataset,
  isLoaderxError,
  type NDArray,
  ndarray,
  openNpy,
  type RowInput,
  type RowSource,
  type WriteOptions,
  type WriteProgress,
  Zrecord,
} from 'loaderx'
import { describe, expect, test } from 'vitest'
import { encodeSchema } from '#dist/format/schema.js'
import { golden, goldenCases, restoreStore, tempDir, vectors } from '../support/stores.ts'

async function refusal(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    if (isLoaderxError(error)) return `${error.code} ${error.message}`
    throw error
  }
  return 'accepted'
}

const root = tempDir()
let made = 0
const fresh = (): string => join(root, `${made++}`, 'deep', 'store')

async function contents(path: string): Promise<NDArray> {
  await using dataset = await Dataset.open(path)
  return dataset.slice()
}

const rows = (count: number, from = 0): NDArray<'uint16'> =>
  ndarray(
    'uint16',
    [count, 2],
    Uint16Array.from({ length: count * 2 }, (_, i) => from + i),
  )

describe('Dataset.write', () => {
  test('makes parent directories, the schema and the store, and says what it did', async () => {
    const path = fresh()
    expect(await Dataset.write(path, rows(5))).toEqual({ rows: 5, bytes: 20, length: 5 })
    expect(readdirSync(path).sort()).toEqual(['0.zr', 'meta.zr', 'schema.json', 'sums.zr'])
    expect(readFileSync(join(path, 'schema.json'), 'utf8')).toBe(
      '{\n  "format": "loaderx-zrecord",\n  "version": 1,\n  "dtype": "<u2",\n  "shape": [\n    2\n  ],\n  "codec": "flate"\n}\n',
    )
    expect(await contents(path)).toEqual(rows(5))
  })

  test('appends to a dataset of the same samples, which keeps its codec', async () => {
    const path = fresh()
    await Dataset.write(path, rows(2), { codec: 'raw' })
    const before = readFileSync(join(path, 'schema.json'))
    expect(await Dataset.write(path, rows(3, 4), { codec: 'flate' })).toEqual({ rows: 3, bytes: 12, length: 5 })
    expect(readFileSync(join(path, 'schema.json'))).toEqual(before)
    expect(await contents(path)).toEqual(rows(5))
    await Dataset.write(path, ndarray('uint16', [1, 2], new Uint16Array(2)))
    const store = await Zrecord.open(path)
    expect(store.length).toBe(6)
    await store.close()
  })

  test('keeps a schema with unknown keys and other white space as it is', async () => {
    const path = fresh()
    await Dataset.write(path, rows(1))
    const text = '{"extra":{"a":1},"format":"loaderx-zrecord","version":1,"dtype":"<u2","shape":[2],"codec":"flate"}'
    writeFileSync(join(path, 'schema.json'), text)
    await Dataset.write(path, rows(1, 2))
    expect(readFileSync(join(path, 'schema.json'), 'utf8')).toBe(text)
    expect(await contents(path)).toEqual(rows(2))
  })

  test('appends to what the original wrote, in its byte order', async () => {
    const path = restoreStore(golden('dtype_be_f32').dir, fresh())
    const before = await contents(path)
    const input = ndarray(
      'float32',
      [1, 10],
      Float32Array.from({ length: 10 }, (_, i) => -i),
    )
    const copy = input.data.slice()
    // As large as a chunk, so that the block is the caller's own memory.
    await Dataset.write(path, input, { chunkBytes: 40 })
    expect(input.data).toEqual(copy)
    const after = await contents(path)
    expect([...after.data]).toEqual([...before.data, ...copy])
    const store = await Zrecord.open(path)
    expect([...(await store.get(6)).subarray(4, 8)]).toEqual([0xbf, 0x80, 0, 0])
    await store.close()
  })

  test.each(goldenCases.filter((name) => golden(name).expected.schema !== null))(
    'golden dataset %s, read and written anew, has the same schema and samples',
    async (name) => {
      const from = restoreStore(golden(name).dir, fresh())
      const array = await contents(from)
      const to = fresh()
      const { codec, dtype } = golden(name).expected.schema!
      await Dataset.write(to, array, { codec: codec as 'raw' })
      expect(await contents(to)).toEqual(array)
      if (!dtype.startsWith('>')) {
        expect(readFileSync(join(to, 'schema.json'))).toEqual(readFileSync(join(from, 'schema.json')))
      }
    },
  )

  const inputs: [string, () => RowInput | Promise<RowInput>, WriteOptions][] = [
    ['a list of rows', () => [Uint16Array.of(0, 1), Uint16Array.of(2, 3), Uint16Array.of(4, 5)], {}],
    ['an iterable of rows', () => new Set([Uint16Array.of(0, 1), Uint16Array.of(2, 3), Uint16Array.of(4, 5)]), {}],
    [
      'an async iterable of blocks',
      async function* () {
        yield rows(1)
        yield rows(2, 2)
      } as unknown as () => RowInput,
      { blocks: true },
    ],
    ['a .npy file', async () => openNpy(join(vectors, 'npy', 'u2_be.npy')), {}],
  ]
  test.each(inputs.slice(0, 3))('takes %s', async (_, input, options) => {
    for (const chunkBytes of [1, 4, 9, 100]) {
      const path = fresh()
      const seen: WriteProgress[] = []
      const summary = await Dataset.write(path, await input(), {
        ...options,
        chunkBytes,
        onProgress: (p) => seen.push(p),
      })
      expect(summary).toEqual({ rows: 3, bytes: 12, length: 3 })
      expect(await contents(path)).toEqual(rows(3))
      expect(seen.at(-1)).toMatchObject({ rows: 3, bytes: 12 })
      expect(seen.length).toBe(Math.ceil(3 / Math.max(1, Math.floor(chunkBytes / 4))))
    }
  })

  test('takes .npy files and says how far it is', async () => {
    const path = fresh()
    const seen: WriteProgress[] = []
    const npy = await openNpy(join(vectors, 'npy', 'u2_be.npy'))
    await Dataset.write(path, npy, { chunkBytes: 13, onProgress: (progress) => seen.push(progress) })
    expect(seen).toEqual([
      { rows: 2, bytes: 12, totalRows: 5 },
      { rows: 4, bytes: 24, totalRows: 5 },
      { rows: 5, bytes: 30, totalRows: 5 },
    ])
    await Dataset.write(path, await openNpy(join(vectors, 'npy', 'u2_le.npy')))
    const { data } = await contents(path)
    expect(data.slice(15)).toEqual(data.slice(0, 15))
  })

  test('makes an empty dataset of no rows', async () => {
    const path = fresh()
    expect(await Dataset.write(path, ndarray('float32', [0, 3], new Float32Array(0)))).toEqual({
      rows: 0,
      bytes: 0,
      length: 0,
    })
    expect(await contents(path)).toEqual(ndarray('float32', [0, 3], new Float32Array(0)))
  })

  test('finishes a dataset that was killed between its two files', async () => {
    const path = fresh()
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'schema.json'), encodeSchema({ dtype: '<u2', shape: [2], codec: 'raw' }))
    await Dataset.write(path, rows(1))
    const store = restoreStore(golden('empty').dir, fresh())
    writeFileSync(join(store, 'schema.json.new'), 'half')
    await Dataset.write(store, rows(1))
    expect(await contents(path)).toEqual(await contents(store))
    expect(existsSync(join(store, 'schema.json.new'))).toBe(false)
  })

  test('two writes at once make one dataset with all rows', async () => {
    const path = fresh()
    await Promise.all([0, 1, 2].map((i) => Dataset.write(path, rows(50, i * 1000), { chunkBytes: 40 })))
    const { data } = await contents(path)
    const expected = [0, 1, 2].flatMap((i) => [...rows(50, i * 1000).data])
    expect([...data].sort((a, b) => Number(a) - Number(b))).toEqual(expected)
  })
})

describe('refusals, which leave the disk as it was', () => {
  const large = ndarray('uint8', [1, 2 ** 20 + 1], new Uint8Array(2 ** 20 + 1))
  test.each<[string, () => unknown, WriteOptions, RegExp]>([
    ['a row above 1 MiB', () => large, {}, /^LOADERX_RECORD_TOO_LARGE .*1048577 bytes each/],
    ['rows without bytes', () => ndarray('uint8', [3, 0], new Uint8Array(0)), {}, /^LOADERX_EMPTY_RECORD/],
    [
      'longdouble',
      () => ({ dtype: '<f16', rowShape: [], blocks: () => [] }),
      {},
      /^LOADERX_UNSUPPORTED_DTYPE source: <f16/,
    ],
    ['a negative shape', () => ({ dtype: 'uint8', rowShape: [-1], blocks: () => [] }), {}, /^LOADERX_INVALID_ARGUMENT/],
    [
      'too many rows',
      () => ({ dtype: 'uint8', rowShape: [], length: 2 ** 24 + 1, blocks: () => [] }),
      {},
      /^LOADERX_STORE_FULL .*Dataset\.concat/,
    ],
    ['no elements', () => [], {}, /^LOADERX_INVALID_ARGUMENT/],
    ['a .npy of objects', () => openNpy(join(vectors, 'npy', 'object.npy')), {}, /^LOADERX_UNSUPPORTED_DTYPE/],
    ['a cut .npy', () => openNpy(join(vectors, 'npy', 'cut_by_one.npy')), {}, /^LOADERX_TRUNCATED/],
    [
      'a bad second element',
      () => new Set([Uint16Array.of(0, 1), Uint16Array.of(1)]),
      {},
      /^LOADERX_SCHEMA_MISMATCH element 1/,
    ],
    ['chunkBytes 0', () => rows(1), { chunkBytes: 0 }, /^LOADERX_INVALID_ARGUMENT chunkBytes is 0/],
    ['chunkBytes 1.5', () => rows(1), { chunkBytes: 1.5 }, /^LOADERX_INVALID_ARGUMENT chunkBytes is 1.5/],
    ['another codec', () => rows(1), { codec: 'zstd' as 'raw' }, /^LOADERX_INVALID_ARGUMENT codec is "zstd"/],
  ])('%s', async (_, input, options, message) => {
    const path = fresh()
    expect(await refusal(async () => Dataset.write(path, (await input()) as RowInput, options))).toMatch(message)
    expect(existsSync(join(path, '..', '..'))).toBe(false)
    const existing = fresh()
    await Dataset.write(existing, rows(2))
    const before = readdirSync(existing)
    expect(await refusal(async () => Dataset.write(existing, (await input()) as RowInput, options))).toMatch(message)
    expect(await contents(existing)).toEqual(rows(2))
    expect(readdirSync(existing)).toEqual(before)
  })

  test('rows of another dtype or shape than the dataset', async () => {
    const path = fresh()
    await Dataset.write(path, rows(2))
    expect(await refusal(() => Dataset.write(path, ndarray('uint16', [1, 3], new Uint16Array(3))))).toMatch(
      /^LOADERX_SCHEMA_MISMATCH .*samples of uint16 \[2\], but the rows to write are uint16 \[3\]/,
    )
    expect(await refusal(() => Dataset.write(path, ndarray('int16', [1, 2], new Int16Array(2))))).toMatch(
      /^LOADERX_SCHEMA_MISMATCH .*int16 \[2\]/,
    )
    expect(await contents(path)).toEqual(rows(2))
  })

  test('a store of plain records, a file, a schema that does not fit the records', async () => {
    const plain = restoreStore(golden('ragged').dir, fresh())
    expect(await refusal(() => Dataset.write(plain, rows(1)))).toMatch(/^LOADERX_SCHEMA_MISMATCH .*plain records/)
    expect(existsSync(join(plain, 'schema.json'))).toBe(false)
    writeFileSync(join(root, 'file'), '')
    expect(await refusal(() => Dataset.write(join(root, 'file'), rows(1)))).toMatch(/^LOADERX_NOT_A_DIRECTORY/)
    expect(await refusal(() => Dataset.write(join(root, 'file', 'x'), rows(1)))).toMatch(/^LOADERX_NOT_A_DIRECTORY/)
    writeFileSync(join(plain, 'schema.json'), encodeSchema({ dtype: '<u2', shape: [2], codec: 'raw' }))
    expect(await refusal(() => Dataset.write(plain, rows(1)))).toMatch(/^LOADERX_SCHEMA_MISMATCH .*records of 1 bytes/)
    await using store = await Zrecord.open(plain)
    expect(store.length).toBe(golden('ragged').expected.count)
  })

  test('a directory in which no store can be made', async () => {
    const path = fresh()
    mkdirSync(join(path, '0.zr'), { recursive: true })
    expect(await refusal(() => Dataset.write(path, rows(1)))).toMatch(/^LOADERX_NOT_A_STORE/)
    expect(readdirSync(path)).toEqual(['0.zr'])
    const other = fresh()
    mkdirSync(join(other, 'schema.json.new'), { recursive: true })
    expect(await refusal(() => Dataset.write(other, rows(1)))).toMatch(/^LOADERX_IO/)
    expect(readdirSync(other)).toEqual(['schema.json.new'])
  })
})

describe('writes that end early', () => {
  /** Gives blocks of one row until `after`, then does `end`. */
  const source = (after: number, end: () => void): RowSource => ({
    dtype: 'uint16',
    rowShape: [2],
    async *blocks() {
      for (let i = 0; ; i++) {
        if (i === after) end()
        yield new Uint8Array(rows(1, i * 2).data.buffer)
      }
    },
  })

  test('an abort leaves the whole samples that were appended', async () => {
    for (const [after, kept] of [
      [0, undefined],
      [3, 3],
    ] as const) {
      const path = fresh()
      const controller = new AbortController()
      const reason = new Error('enough')
      const write = Dataset.write(
        path,
        source(after, () => controller.abort(reason)),
        { signal: controller.signal },
      )
      await expect(write).rejects.toBe(reason)
      if (kept === undefined) expect(existsSync(join(path, '..', '..'))).toBe(false)
      else expect(await contents(path)).toEqual(rows(kept))
    }
  })

  test('an abort before the write touches nothing', async () => {
    const path = fresh()
    const reason = new Error('enough')
    const unread: RowSource = { dtype: 'uint8', rowShape: [], blocks: () => expect.unreachable() }
    for (const input of [rows(1), unread]) {
      await expect(Dataset.write(path, input, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    }
    expect(existsSync(join(path, '..', '..'))).toBe(false)
  })

  test('a source that fails leaves what was appended, and the error says how much', async () => {
    const cause = new Error('sensor broke')
    const path = fresh()
    await expect(
      Dataset.write(
        path,
        source(2, () => {
          throw cause
        }),
      ),
    ).rejects.toBe(cause)
    expect(await contents(path)).toEqual(rows(2))
    async function* mixed() {
      yield rows(2)
      yield rows(1, 4)
      yield ndarray('uint16', [1, 3], new Uint16Array(3))
    }
    const other = fresh()
    expect(await refusal(() => Dataset.write(other, mixed(), { blocks: true, chunkBytes: 8 }))).toMatch(
      /^LOADERX_SCHEMA_MISMATCH element 2 .* keeps the 2 rows that were written before$/,
    )
    expect(await contents(other)).toEqual(rows(2))
  })

  test('a failing first append leaves nothing of a new dataset, and what else was there', async () => {
    // The store has been made when the append finds that the block is not of whole rows.
    let ended = 0
    const uneven: RowSource = {
      dtype: 'uint16',
      rowShape: [2],
      async *blocks() {
        try {
          yield new Uint8Array(5)
        } finally {
          ended++
        }
      },
    }
    const path = fresh()
    expect(await refusal(() => Dataset.write(path, uneven))).toMatch(/^LOADERX_INVALID_ARGUMENT .*5 bytes/)
    expect(existsSync(join(path, '..', '..'))).toBe(false)
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'notes.txt'), 'mine')
    expect(await refusal(() => Dataset.write(path, uneven))).toMatch(/^LOADERX_INVALID_ARGUMENT/)
    expect(readdirSync(path)).toEqual(['notes.txt'])
    const store = restoreStore(golden('empty').dir, fresh())
    expect(await refusal(() => Dataset.write(store, uneven))).toMatch(/^LOADERX_INVALID_ARGUMENT/)
    expect(readdirSync(store).sort()).toEqual(['0.zr', 'meta.zr'])
    expect(ended).toBe(3)
  })

  test('an iterator is told to stop, whether rows were refused or the write was aborted', async () => {
    let stopped = 0
    async function* endless() {
      try {
        for (let i = 0; ; i++) yield rows(1, i * 2)
      } finally {
        stopped++
      }
    }
    const path = fresh()
    await Dataset.write(path, Int8Array.of(1))
    expect(await refusal(() => Dataset.write(path, endless(), { blocks: true }))).toMatch(/^LOADERX_SCHEMA_MISMATCH/)
    expect(stopped).toBe(1)
    const controller = new AbortController()
    const onProgress = ({ rows }: WriteProgress) => rows >= 5 && controller.abort(new Error('enough'))
    const write = Dataset.write(fresh(), endless(), {
      blocks: true,
      chunkBytes: 4,
      signal: controller.signal,
      onProgress,
    })
    await expect(write).rejects.toThrow('enough')
    await new Promise((resolve) => setImmediate(resolve))
    expect(stopped).toBe(2)
  })

  test('what onProgress throws ends the write', async () => {
    const path = fresh()
    const onProgress = () => {
      throw new Error('no more')
    }
    await expect(Dataset.write(path, rows(4), { chunkBytes: 4, onProgress })).rejects.toThrow('no more')
    expect(await contents(path)).toEqual(rows(1))
  })
})
