import fc from 'fast-check'
import { isLoaderxError, ndarray, type RowInput, type RowSource } from 'loaderx'
import { describe, expect, test } from 'vitest'
import { openSource, rowBytes } from '#dist/dataset/source.js'

/** Reads everything; a block is copied before the next one is asked for. */
async function blocksOf(source: RowSource, maxBytes: number, signal?: AbortSignal): Promise<Uint8Array[]> {
  const blocks: Uint8Array[] = []
  for await (const block of source.blocks({ maxBytes, signal })) blocks.push(block.slice())
  return blocks
}

async function open(input: RowInput, { blocks = false, maxBytes = 2 ** 20 } = {}) {
  const source = await openSource(input, blocks)
  const parts = await blocksOf(source, maxBytes)
  await source.close()
  const { dtype, rowShape, length } = source
  return { dtype, rowShape, length, bytes: [...Buffer.concat(parts)], sizes: parts.map((part) => part.length) }
}

const refusal = (input: unknown, blocks = false): Promise<string> =>
  open(input as RowInput, { blocks }).then(
    () => 'accepted',
    (error) => (isLoaderxError(error) ? `${error.code} ${error.message}` : Promise.reject(error)),
  )

const pair = (a: number, b: number) => ndarray('int16', [2], Int16Array.of(a, b))

async function* later<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) yield item
}

describe('openSource', () => {
  test('an array: its first dimension counts the rows', async () => {
    expect(await open(ndarray('uint16', [2, 1, 2], Uint16Array.of(1, 2, 3, 4)), { maxBytes: 4 })).toEqual({
      dtype: 'uint16',
      rowShape: [1, 2],
      length: 2,
      bytes: [1, 0, 2, 0, 3, 0, 4, 0],
      sizes: [4, 4],
    })
  })

  test('a typed array: scalars', async () => {
    expect(await open(Int8Array.of(1, -1, 5), { maxBytes: 2 })).toEqual({
      dtype: 'int8',
      rowShape: [],
      length: 3,
      bytes: [1, 255, 5],
      sizes: [2, 1],
    })
  })

  test('a row wider than a block is a block of its own', async () => {
    expect((await open(ndarray('uint8', [3, 5], new Uint8Array(15)), { maxBytes: 2 })).sizes).toEqual([5, 5, 5])
  })

  test('an array without rows', async () => {
    expect(await open(ndarray('uint8', [0, 5], new Uint8Array(0)))).toMatchObject({
      rowShape: [5],
      length: 0,
      sizes: [],
    })
  })

  const rows = [pair(1, 2), pair(3, 4), pair(5, 6)]
  test.each<[string, () => RowInput, number | undefined]>([
    ['list', () => rows, 3],
    ['list of typed arrays', () => rows.map((row) => row.data), 3],
    ['iterable', () => new Set(rows), undefined],
    ['async iterable', () => later(rows), undefined],
  ])('a %s of rows', async (_, input, length) => {
    expect(await open(input(), { maxBytes: 8 })).toEqual({
      dtype: 'int16',
      rowShape: [2],
      length,
      bytes: [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0],
      sizes: [8, 4],
    })
  })

  test('an iterable of blocks, of any sizes', async () => {
    const block = (from: number, rows: number) =>
      ndarray(
        'uint8',
        [rows, 2],
        Uint8Array.from({ length: rows * 2 }, (_, i) => from + i),
      )
    for (const input of [[block(0, 1), block(2, 0), block(2, 4)], later([block(0, 1), block(2, 0), block(2, 4)])]) {
      expect(await open(input, { blocks: true, maxBytes: 5 })).toMatchObject({
        rowShape: [2],
        length: Array.isArray(input) ? 5 : undefined,
        bytes: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        sizes: [4, 4, 2],
      })
    }
  })

  test('any split into blocks gives the same bytes, in full blocks but for the last', async () => {
    const given = fc.tuple(fc.array(fc.nat(9), { minLength: 1, maxLength: 8 }), fc.integer({ min: 1, max: 20 }))
    await fc.assert(
      fc.asyncProperty(given, async ([counts, maxBytes]) => {
        let next = 0
        const blocks = counts.map((rows) =>
          ndarray(
            'uint8',
            [rows, 3],
            Uint8Array.from({ length: rows * 3 }, () => next++ % 251),
          ),
        )
        const { bytes, sizes } = await open(later(blocks), { blocks: true, maxBytes })
        expect(bytes).toEqual(Array.from({ length: next }, (_, i) => i % 251))
        const full = Math.max(1, Math.floor(maxBytes / 3)) * 3
        expect(sizes.slice(0, -1).every((size) => size === full)).toBe(true)
        expect(sizes.every((size) => size > 0 && size <= full)).toBe(true)
      }),
    )
  })

  test('what an iterable gives is copied: it may fill one array again and again', async () => {
    const row = new Uint8Array(2)
    function* refill() {
      for (let i = 1; i < 5; i++) yield row.fill(i)
    }
    expect((await open(refill())).bytes).toEqual([1, 1, 2, 2, 3, 3, 4, 4])
  })

  test('a source of the caller’s own is taken as it is', async () => {
    const source: RowSource = { dtype: '>f4', rowShape: [], blocks: () => later([Uint8Array.of(1, 2, 3, 4)]) }
    expect(await open(source)).toEqual({
      dtype: '>f4',
      rowShape: [],
      length: undefined,
      bytes: [1, 2, 3, 4],
      sizes: [4],
    })
    expect(rowBytes({ dtype: '>f4', rowShape: [2, 3] })).toBe(24)
  })

  test.each<[string, unknown, boolean, RegExp]>([
    ['nothing', undefined, false, /^LOADERX_INVALID_ARGUMENT source is a undefined/],
    ['null', null, false, /source is a null/],
    ['a number', 5, false, /source is a number, which has no dtype/],
    ['a path', 'data.npy', false, /source is a string.*openNpy/],
    ['a list of numbers', [1, 2], false, /element 0 is a number.*typed array/],
    ['a list of lists', [[1], [2]], false, /element 0 is a plain array/],
    ['an empty list', [], false, /no elements/],
    ['an empty iterable', new Set(), false, /no elements/],
    [
      'an array that does not fit its shape',
      { dtype: 'uint8', shape: [3], data: new Uint8Array(2) },
      false,
      /needs 3 elements, but data has 2/,
    ],
    ['a scalar as a source of rows', ndarray('uint8', [], new Uint8Array(1)), false, /without dimensions/],
    [
      'a scalar as a block',
      [ndarray('uint8', [], new Uint8Array(1))],
      true,
      /element 0 is an array without|source is an array without/,
    ],
    [
      'a list with another shape',
      [pair(1, 2), ndarray('int16', [1], new Int16Array(1))],
      false,
      /^LOADERX_SCHEMA_MISMATCH element 1 has rows of int16 \[1\], but element 0 has rows of int16 \[2\]/,
    ],
    [
      'an iterable with another dtype',
      new Set([pair(1, 2), new Uint16Array(2)]),
      false,
      /^LOADERX_SCHEMA_MISMATCH element 1 .*uint16/,
    ],
    ['an iterable with a number in it', new Set([pair(1, 2), 7]), false, /element 1 is a number/],
    ['a DataView', new DataView(new ArrayBuffer(2)), false, /^LOADERX_UNSUPPORTED_DTYPE/],
  ])('refuses %s', async (_, input, blocks, message) => {
    expect(await refusal(input, blocks)).toMatch(message)
  })

  test('an iterator is told to stop when it is not read to the end', async () => {
    let returned = 0
    const iterable = {
      [Symbol.iterator]: () => ({
        next: () => ({ done: false as const, value: pair(1, 2) }),
        return: () => ({ done: true as const, value: returned++ }),
      }),
    }
    const source = await openSource(iterable, false)
    await source.close()
    await source.close()
    expect(returned).toBe(1)
    await refusal({
      [Symbol.iterator]: () => ({ ...iterable[Symbol.iterator](), next: () => ({ done: false, value: 1 }) }),
    })
    expect(returned).toBe(2)
  })

  test('what an iterator throws comes out as it is', async () => {
    const cause = new Error('sensor broke')
    async function* broken() {
      yield pair(1, 2)
      throw cause
    }
    await expect(open(broken())).rejects.toBe(cause)
  })

  test('an abort ends the wait for an iterator that never answers', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    async function* stuck() {
      yield pair(1, 2)
      controller.abort(reason)
      await new Promise(() => {})
    }
    const source = await openSource(stuck(), false, controller.signal)
    await expect(blocksOf(source, 4, controller.signal)).rejects.toBe(reason)
    await source.close()
    await expect(openSource(stuck(), false, AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})
