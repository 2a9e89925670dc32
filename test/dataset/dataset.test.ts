import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import {
  Dataset,
  type DType,
  decodeStrings,
  isLoaderxError,
  ndarray,
  type Residency,
  type SampleIndices,
  Zrecord,
} from 'loaderx'
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from 'vitest'
import { dtypeInfo } from '#dist/dataset/dtype.js'
import { encodeSchema } from '#dist/format/schema.js'
import { broken, brokenCases, golden, goldenCases, restoreStore, tempDir } from '../support/stores.ts'

async function refusal(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    if (isLoaderxError(error)) return `${error.code} ${error.message}`
    throw error
  }
  return 'accepted'
}

const dir = tempDir()
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const bytesOf = (data: ArrayBufferView): Buffer => Buffer.from(data.buffer, data.byteOffset, data.byteLength)

describe.each(['memory', 'mapped', 'file'] as Residency[])('golden datasets, %s', (residency) => {
  test.each(goldenCases.filter((name) => golden(name).expected.schema !== null))('%s', async (name) => {
    const { dir: from, expected } = golden(name)
    const store = restoreStore(from, join(dir, name))
    await using dataset = await Dataset.open(store, { residency })
    const info = dtypeInfo(expected.schema!.dtype)
    expect([dataset.length, dataset.dtype, dataset.shape]).toEqual([expected.count, info.name, expected.schema!.shape])
    for (const [i, record] of expected.records.entries()) {
      const { data, shape } = await dataset.at(i)
      expect(shape).toEqual(dataset.shape)
      // The record's bytes again: swapped back item by item where the store is big endian.
      const bytes = Buffer.from(bytesOf(data))
      if (info.bigEndian) {
        for (let at = 0; at < bytes.length; at += info.elementBytes)
          bytes.subarray(at, at + info.elementBytes).reverse()
      }
      expect(sha256(bytes)).toBe(record.sha256)
    }
  })
})

describe('values of the golden datasets', () => {
  const all = async (name: string) => {
    await using dataset = await Dataset.open(restoreStore(golden(name).dir, join(dir, name)))
    return dataset.slice()
  }

  test('big-endian float32', async () => {
    const { data } = await all('dtype_be_f32')
    expect(data).toEqual(Float32Array.from({ length: 60 }, (_, i) => i / 4))
  })

  test('uint64, datetime64, complex64, bool', async () => {
    expect((await all('dtype_u64')).data).toEqual(
      BigUint64Array.of(0n, 1n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n),
    )
    expect(await all('dtype_datetime_ns')).toEqual({
      dtype: 'datetime64[ns]',
      shape: [3],
      data: BigInt64Array.of(1577923200000000000n, -1n, -(2n ** 63n)),
    })
    expect(await all('dtype_c64')).toEqual({
      dtype: 'complex64',
      shape: [4, 3],
      data: Float32Array.from({ length: 24 }, (_, i) => (i % 2 === 0 ? i / 2 : 11 - (i - 1) / 2)),
    })
    expect((await all('dtype_bool')).data).toEqual(Uint8Array.from({ length: 60 }, (_, i) => (i % 3 === 0 ? 1 : 0)))
  })

  test('strings and bytes', async () => {
    expect(decodeStrings((await all('dtype_unicode5')) as never)).toEqual(['ab', 'héllo', '日本'])
    expect(decodeStrings((await all('dtype_bytes3')) as never)).toEqual(['ab', 'c', 'xyz'])
  })
})

describe('broken schemas', () => {
  test.each(brokenCases.filter((name) => broken(name).expected.kind === 'schema'))('%s', async (name) => {
    const { dir: from, expected } = broken(name)
    const store = restoreStore(from, join(dir, name))
    const before = readdirSync(store)
    const opened = await refusal(async () => (await Dataset.open(store)).close())
    if (expected.careful.open === 'ok') expect(opened).toBe('accepted')
    else expect(opened).toMatch(/^LOADERX_(INVALID_SCHEMA|UNSUPPORTED_DTYPE|SCHEMA_MISMATCH|NEWER_VERSION) /)
    expect(await refusal(async () => (await Zrecord.open(store)).close())).toBe('accepted')
    const rows = ndarray('uint8', [1, 200], new Uint8Array(200))
    const written = await refusal(() => Dataset.write(store, rows))
    if (expected.careful.open === 'ok') expect(written).toBe('accepted')
    else expect(written).toMatch(/^LOADERX_/)
    expect(readdirSync(store).filter((name) => name !== 'sums.zr')).toEqual(before)
  })
})

describe('reading', () => {
  let dataset: Dataset<'int16'>
  const values = (i: number): number[] => [i * 3, i * 3 + 1, i * 3 + 2]
  const array = (...indices: number[]) => ({
    dtype: 'int16',
    shape: [indices.length, 3],
    data: Int16Array.from(indices.flatMap(values)),
  })

  beforeAll(async () => {
    const path = join(dir, 'reading')
    await Dataset.write(
      path,
      ndarray(
        'int16',
        [10, 3],
        Int16Array.from({ length: 30 }, (_, i) => i),
      ),
    )
    dataset = await Dataset.open(path, { dtype: 'int16' })
  })
  afterAll(() => dataset.close())

  test('at counts from either end', async () => {
    expect(await dataset.at(0)).toEqual({ dtype: 'int16', shape: [3], data: Int16Array.from(values(0)) })
    expect(await dataset.at(-1)).toEqual(await dataset.at(9))
    expect(await refusal(() => dataset.at(10))).toMatch(/^LOADERX_INDEX_OUT_OF_RANGE index 10/)
    expect(await refusal(() => dataset.at(-11))).toMatch(/^LOADERX_INDEX_OUT_OF_RANGE index -11/)
    expect(await refusal(() => dataset.at(0.5))).toMatch(/^LOADERX_INVALID_INDEX/)
  })

  test('slice', async () => {
    expect(await dataset.slice(2, 5)).toEqual(array(2, 3, 4))
    expect(await dataset.slice(undefined, undefined, -4)).toEqual(array(9, 5, 1))
    expect(await dataset.slice(5, 2)).toEqual(array())
    expect((await dataset.slice()).shape).toEqual([10, 3])
  })

  const mask = Array.from({ length: 10 }, (_, i) => i % 4 === 1)
  test.each<[string, SampleIndices, number[]]>([
    ['a list', [3, 3, 0], [3, 3, 0]],
    ['no indices', [], []],
    ['a Uint8Array', Uint8Array.of(1, 0), [1, 0]],
    ['a BigInt64Array', BigInt64Array.of(9n, 2n), [9, 2]],
    ['whole floats', Float64Array.of(4, 2), [4, 2]],
    ['an array', ndarray('int64', [2], BigInt64Array.of(1n, 8n)), [1, 8]],
    ['a mask', mask, [1, 5, 9]],
    ['a bool array', ndarray('bool', [10], Uint8Array.from(mask, Number)), [1, 5, 9]],
  ])('gather and gatherSync take %s', async (_, indices, expected) => {
    expect(await dataset.gather(indices)).toEqual(array(...expected))
    expect(dataset.gatherSync(indices)).toEqual(array(...expected))
  })

  test.each<[string, unknown, RegExp]>([
    ['an index out of range', [0, 10], /^LOADERX_INDEX_OUT_OF_RANGE index 10 at position 1/],
    ['a negative index', [0, -1], /^LOADERX_INDEX_OUT_OF_RANGE index -1 at position 1 is negative/],
    ['a negative bigint', BigInt64Array.of(-1n), /^LOADERX_INDEX_OUT_OF_RANGE/],
    ['an index above 2^32', [2 ** 40], /^LOADERX_INDEX_OUT_OF_RANGE/],
    ['a fraction', [1.9], /^LOADERX_INVALID_INDEX index 1.9/],
    ['NaN', Float64Array.of(Number.NaN), /^LOADERX_INVALID_INDEX index NaN/],
    ['a string', ['1'], /^LOADERX_INVALID_INDEX index "1"/],
    ['a mask of another length', [true, false], /^LOADERX_LENGTH_MISMATCH/],
    ['nothing', undefined, /^LOADERX_INVALID_ARGUMENT/],
  ])('gather and gatherSync refuse %s', async (_, indices, message) => {
    const into = new Int16Array(3 * ((indices as { length?: number } | undefined)?.length ?? 0)).fill(-7)
    expect(await refusal(() => dataset.gather(indices as number[], { into }))).toMatch(message)
    expect(await refusal(() => dataset.gatherSync(indices as number[], { into }))).toMatch(message)
    expect(into.every((value) => value === -7)).toBe(true)
  })

  test('into: the caller’s memory, shared memory too', async () => {
    const shared = new Int16Array(new SharedArrayBuffer(32), 4, 6)
    const { data } = await dataset.gather([2, 4], { into: shared })
    expect(data).toBe(shared)
    expect([...shared]).toEqual([...values(2), ...values(4)])
    expect([...dataset.gatherSync([1, 0], { into: shared }).data]).toEqual([...values(1), ...values(0)])
  })

  test('into of another kind or size is refused', async () => {
    expect(await refusal(() => dataset.gather([0], { into: new Int16Array(2) }))).toMatch(
      /^LOADERX_BUFFER_TOO_SMALL into has 2 elements, but .* have 3/,
    )
    expect(await refusal(() => dataset.gather([0], { into: new Int16Array(4) }))).toMatch(
      /^LOADERX_INVALID_ARGUMENT .*subarray\(0, 3\)/,
    )
    expect(await refusal(() => dataset.gather([0], { into: new Uint16Array(3) as unknown as Int16Array }))).toMatch(
      /^LOADERX_INVALID_ARGUMENT into is a Uint16Array/,
    )
  })

  test('any list of indices gives these samples in this order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(9), { maxLength: 40 }), async (indices) => {
        expect(await dataset.gather(indices)).toEqual(array(...indices))
      }),
    )
  })

  test('follows appends of another writer', async () => {
    const path = join(dir, 'live')
    await Dataset.write(path, Int32Array.of(1, 2))
    await using live = await Dataset.open(path)
    await Dataset.write(path, Int32Array.of(3))
    expect(live.length).toBe(3)
    expect((await live.slice()).data).toEqual(Int32Array.of(1, 2, 3))
  })

  test('after close everything is refused, and a second close does nothing', async () => {
    const closed = await Dataset.open(join(dir, 'reading'))
    await closed.close()
    await closed.close()
    for (const use of [
      () => closed.length,
      () => closed.at(0),
      () => closed.slice(),
      () => closed.gather([]),
      () => closed.gather([0]),
      () => closed.gatherSync([0]),
    ]) {
      expect(await refusal(use)).toMatch(/^LOADERX_ALREADY_CLOSED/)
    }
  })

  test('types follow the dtype', () => {
    const any = () => Dataset.open('x')
    const strings = () => Dataset.open('x', { dtype: 'U5' })
    const data = async () => (await dataset.at(0)).data
    expectTypeOf(any).returns.resolves.toEqualTypeOf<Dataset<DType>>()
    expectTypeOf(strings).returns.resolves.toEqualTypeOf<Dataset<'U5'>>()
    expectTypeOf(data).returns.resolves.toEqualTypeOf<Int16Array>()
    expectTypeOf(Dataset.concat(dataset, dataset)).toEqualTypeOf<Dataset<'int16'>>()
  })
})

describe('opening', () => {
  test('what is not there, not a directory, not a store, not a dataset', async () => {
    expect(await refusal(() => Dataset.open(join(dir, 'none')))).toMatch(/^LOADERX_NOT_FOUND/)
    expect(existsSync(join(dir, 'none'))).toBe(false)
    writeFileSync(join(dir, 'file'), '')
    expect(await refusal(() => Dataset.open(join(dir, 'file')))).toMatch(/^LOADERX_NOT_A_DIRECTORY/)
    mkdirSync(join(dir, 'folder'))
    expect(await refusal(() => Dataset.open(join(dir, 'folder')))).toMatch(/^LOADERX_NOT_A_STORE/)
    const plain = restoreStore(golden('ragged').dir, join(dir, 'plain'))
    expect(await refusal(() => Dataset.open(plain))).toMatch(/^LOADERX_INVALID_SCHEMA .*no schema\.json.*Zrecord\.open/)
    for (const path of ['', 'a\0b', undefined, 5]) {
      expect(await refusal(() => Dataset.open(path as string))).toMatch(
        /^LOADERX_INVALID_ARGUMENT the path of a dataset/,
      )
    }
  })

  test('another dtype than the one asked for', async () => {
    const path = restoreStore(golden('dtype_be_f32').dir, join(dir, 'expected'))
    expect(await refusal(() => Dataset.open(path, { dtype: 'float64' }))).toMatch(
      /^LOADERX_SCHEMA_MISMATCH .*float32, not of float64/,
    )
    await (await Dataset.open(path, { dtype: 'float32' })).close()
  })

  test('a schema of samples above 1 MiB, and one of samples without bytes', async () => {
    const path = restoreStore(golden('empty').dir, join(dir, 'large'))
    const schema = (dtype: string, shape: number[]) =>
      writeFileSync(join(path, 'schema.json'), encodeSchema({ dtype, shape, codec: 'raw' }))
    schema('<f8', [2 ** 17 + 1])
    expect(await refusal(() => Dataset.open(path))).toMatch(/^LOADERX_INVALID_SCHEMA .*1048584 bytes/)
    schema('<f8', [3, 0])
    await using dataset = await Dataset.open(path)
    expect([dataset.length, (await dataset.slice()).shape]).toEqual([0, [0, 3, 0]])
  })

  test('a schema that is longer than the limit, though its start is one', async () => {
    const path = restoreStore(golden('dtype_i8').dir, join(dir, 'long'))
    writeFileSync(join(path, 'schema.json'), readFileSync(join(path, 'schema.json'), 'utf8').padEnd(2 ** 16))
    await (await Dataset.open(path)).close()
    writeFileSync(join(path, 'schema.json'), readFileSync(join(path, 'schema.json'), 'utf8').padEnd(2 ** 16 + 1))
    expect(await refusal(() => Dataset.open(path))).toMatch(/^LOADERX_INVALID_SCHEMA .*more than 65536 bytes/)
  })

  test('a refused open leaves no file open', async () => {
    const path = restoreStore(broken('schema_dtype_smaller').dir, join(dir, 'left-open'))
    const open = () => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0)
    const before = open()
    for (let i = 0; i < 5; i++) expect(await refusal(() => Dataset.open(path))).toMatch(/^LOADERX_SCHEMA_MISMATCH/)
    expect(open()).toBe(before)
  })

  test('a damaged first record does not hide the others', async () => {
    const path = restoreStore(golden('scalars_i64').dir, join(dir, 'damaged'))
    const meta = readFileSync(join(path, 'meta.zr')).subarray(0, 16 + 500 * 16)
    meta[16 + 14] = 9
    writeFileSync(join(path, 'meta.zr'), meta)
    await using dataset = await Dataset.open(path)
    expect((await dataset.at(1)).data).toEqual(BigInt64Array.of((1_000_003n % 997n) - 300n))
    expect(await refusal(() => dataset.at(0))).toMatch(/^LOADERX_CORRUPT_RECORD/)
  })

  test('a record of another length is refused where it is read', async () => {
    const path = join(dir, 'mixed')
    await Dataset.write(path, ndarray('uint8', [2, 4], new Uint8Array(8).fill(1)))
    const store = await Zrecord.open(path)
    await store.append([new Uint8Array(3), new Uint8Array(5)])
    await store.close()
    await using dataset = await Dataset.open(path)
    for (const i of [2, 3]) {
      const into = new Uint8Array(8).fill(9)
      expect(await refusal(() => dataset.gather([0, i], { into }))).toMatch(/^LOADERX_SCHEMA_MISMATCH record/)
      expect(into).toEqual(new Uint8Array(8).fill(9))
    }
    expect((await dataset.gather([0, 1])).shape).toEqual([2, 4])
  })
})

describe('concat', () => {
  const part = async (name: string, from: number, count: number): Promise<Dataset<'float32'>> => {
    const path = join(dir, name)
    await Dataset.write(
      path,
      ndarray(
        'float32',
        [count, 2],
        Float32Array.from({ length: count * 2 }, (_, i) => from + i / 2),
      ),
    )
    return Dataset.open(path, { dtype: 'float32' })
  }

  test('the samples of all, in order, also of big-endian and empty stores', async () => {
    const a = await part('a', 0, 3)
    const none = await part('none-of-them', 0, 0)
    const path = restoreStore(golden('dtype_be_f32').dir, join(dir, 'be'))
    writeFileSync(join(path, 'schema.json'), encodeSchema({ dtype: '>f4', shape: [10], codec: 'flate' }))
    const b = await part('b', 3, 4)
    const whole = Dataset.concat(Dataset.concat(a, none), b)
    expect([whole.length, whole.dtype, whole.shape]).toEqual([7, 'float32', [2]])
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(6), { maxLength: 20 }), async (indices) => {
        const expected = Float32Array.from(indices.flatMap((i) => [i, i + 0.5]))
        expect((await whole.gather(indices)).data).toEqual(expected)
        expect(whole.gatherSync(Float64Array.from(indices)).data).toEqual(expected)
      }),
    )
    expect((await whole.at(-1)).data).toEqual(Float32Array.of(6, 6.5))
    expect((await whole.slice(1, 6, 2)).data).toEqual(Float32Array.of(1, 1.5, 3, 3.5, 5, 5.5))
    await Dataset.write(join(dir, 'b'), ndarray('float32', [1, 2], Float32Array.of(9, 9)))
    expect([b.length, whole.length]).toEqual([5, 7])
    expect(await refusal(() => whole.gather([6, 7]))).toMatch(
      /^LOADERX_INDEX_OUT_OF_RANGE index 7 at position 1 .* 0 … 6/,
    )
    expect(await refusal(() => whole.gather([-1]))).toMatch(/^LOADERX_INDEX_OUT_OF_RANGE/)
    expect(await refusal(() => whole.gather([0.5]))).toMatch(/^LOADERX_INVALID_INDEX/)
    await whole.close()
    expect(await refusal(() => a.length)).toMatch(/^LOADERX_ALREADY_CLOSED/)
    expect(await refusal(() => whole.length)).toMatch(/^LOADERX_ALREADY_CLOSED/)
  })

  test('byte orders may differ', async () => {
    const path = restoreStore(golden('dtype_be_f32').dir, join(dir, 'order-be'))
    const big = await Dataset.open(path, { dtype: 'float32' })
    const { data } = await big.slice()
    await Dataset.write(join(dir, 'order-le'), ndarray('float32', [6, 10], data))
    await using whole = Dataset.concat(await Dataset.open(join(dir, 'order-le'), { dtype: 'float32' }), big)
    expect((await whole.gather([1, 7, 0, 6])).data).toEqual((await big.gather([1, 1, 0, 0])).data)
  })

  test('a failure names the position in the batch', async () => {
    const path = join(dir, 'concat-mixed')
    await Dataset.write(path, ndarray('float32', [1, 2], new Float32Array(2)))
    const store = await Zrecord.open(path)
    await store.append([new Uint8Array(3)])
    await store.close()
    await using whole = Dataset.concat(await part('c', 0, 3), await Dataset.open(path, { dtype: 'float32' }))
    await expect(whole.gather([0, 1, 4])).rejects.toMatchObject({
      code: 'LOADERX_SCHEMA_MISMATCH',
      details: { path, index: 1, position: 2 },
    })
  })

  test('refuses nothing, and datasets of another dtype or shape', async () => {
    const a = await part('d', 0, 1)
    await Dataset.write(join(dir, 'other'), ndarray('float32', [1, 3], new Float32Array(3)))
    const other = await Dataset.open(join(dir, 'other'), { dtype: 'float32' })
    expect(await refusal(() => Dataset.concat())).toMatch(/^LOADERX_INVALID_ARGUMENT/)
    expect(await refusal(() => Dataset.concat(a, other))).toMatch(
      /^LOADERX_SCHEMA_MISMATCH .*float32 \[3\].*float32 \[2\]/,
    )
    await Promise.all([a.close(), other.close()])
  })
})
