// What samplers refuse: settings, steps, states, and what a user's own sampler returns.

import { isLoaderxError, type LoaderxErrorCode } from 'loaderx'
import { describe, expect, it } from 'vitest'
import { createSampler } from '#dist/sampler/create.js'
import type { Sampler, SamplerKind } from '#dist/sampler/sampler.js'

/** The message of the coded error that `run` throws. */
function refusal(code: LoaderxErrorCode, run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (isLoaderxError(error, code)) return error.message
    throw error
  }
  return expect.fail('nothing was thrown')
}

const options = { length: 10, batchSize: 4, seed: 0 }
const create = (change: Record<string, unknown>, sampler: unknown = 'random'): unknown =>
  createSampler(sampler as SamplerKind, { ...options, ...change })
const custom = (result: unknown, name?: string) =>
  createSampler({ ...(name === undefined ? {} : { name }), indicesAt: () => result as number[] }, options)
const fill = (result: unknown): void => custom(result, 'mine').fill(7, new BigUint64Array(4))

describe('settings', () => {
  it.each([-1, 1.5, Number.NaN, 2 ** 53, -1n, 2n ** 64n, '42', null, undefined, true, Infinity])(
    'refuse seed %s',
    (seed) => {
      expect(refusal('LOADERX_INVALID_ARGUMENT', () => create({ seed }))).toContain(
        `seed ${typeof seed === 'string' ? '"42"' : String(seed)}`,
      )
    },
  )

  it.each([0, 2 ** 53 - 1, 0n, 2n ** 64n - 1n])('take seed %s', (seed) => {
    expect(() => create({ seed })).not.toThrow()
  })

  it.each([0, 0n])('refuse length %s as empty', (length) => {
    expect(refusal('LOADERX_EMPTY_DATASET', () => create({ length }))).toContain('length 0')
  })

  it.each([-1, 2.5, 2n ** 64n, '10', undefined])('refuse length %s', (length) => {
    expect(refusal('LOADERX_INVALID_ARGUMENT', () => create({ length }))).toMatch(/^length .* is not/)
  })

  it.each([0, -4, 2.5, 4n, '4', undefined, Number.NaN])('refuse batchSize %s', (batchSize) => {
    expect(refusal('LOADERX_INVALID_ARGUMENT', () => create({ batchSize }))).toMatch(/^batchSize .* is not/)
  })

  it.each(['iid', 'toString', '', null, 1, undefined, {}, { indicesAt: 3 }])('refuse sampler %s', (sampler) => {
    const message = refusal('LOADERX_INVALID_ARGUMENT', () => createSampler(sampler as SamplerKind, options))
    expect(message).toMatch(/^sampler .* is unknown: give sequential, random, shuffle/)
  })
})

describe.each(['sequential', 'random', 'shuffle', 'custom'] as const)('%s', (kind) => {
  const make = () => (kind === 'custom' ? custom([0, 1, 2, 3]) : createSampler(kind, options))

  it.each([-1, 0.5, Number.NaN, 2 ** 53, 1n, '1'])('refuses step %s', (value) => {
    const step = value as number
    for (const run of [
      () => make().fill(step, new BigUint64Array(4)),
      () => make().words(step),
      () => make().resume(step, new BigUint64Array(kind === 'random' ? 4 : 0)),
    ]) {
      expect(refusal('LOADERX_INVALID_ARGUMENT', run)).toMatch(/^step .* is not a step/)
    }
  })

  it.each([3, 5])('refuses to fill %d elements with a batch of 4', (size) => {
    const message = refusal('LOADERX_INVALID_ARGUMENT', () => make().fill(0, new BigUint64Array(size)))
    expect(message).toContain(`${size} elements, but a batch has 4`)
  })

  it('refuses the words of another sampler', () => {
    const words = new BigUint64Array(kind === 'random' ? 0 : 4)
    expect(refusal('LOADERX_INVALID_ARGUMENT', () => make().resume(0, words))).toMatch(/words/)
  })
})

it('random refuses words of another step or batch size', () => {
  const words = createSampler('random', options).words(5)
  const source = createSampler('random', options)
  expect(refusal('LOADERX_INVALID_ARGUMENT', () => source.resume(6, words))).toContain('step 6')
  const other = createSampler('random', { ...options, batchSize: 8 })
  expect(refusal('LOADERX_INVALID_ARGUMENT', () => other.resume(5, words))).toContain('batchSize 8')
})

describe('a sampler of the user', () => {
  it('is asked for the step and may give numbers, bigints or typed arrays', () => {
    const asked: number[] = []
    const sampler: Sampler = {
      name: 'mine',
      indicesAt(step) {
        asked.push(step)
        return [step, 9, 0, 3]
      },
    }
    const source = createSampler(sampler, options)
    const into = new BigUint64Array(4)
    source.fill(2, into)
    expect([...into]).toEqual([2n, 9n, 0n, 3n])
    expect(asked).toEqual([2])
    expect(source.name).toBe('mine')
    for (const indices of [BigUint64Array.of(1n, 2n, 3n, 4n), Int32Array.of(1, 2, 3, 4), [1n, 2n, 3n, 4n]]) {
      custom(indices).fill(0, into)
      expect([...into]).toEqual([1n, 2n, 3n, 4n])
    }
    expect(custom([]).name).toBe('custom')
    expect(source.words(3).length).toBe(0)
  })

  it('keeps its `this`', () => {
    class Own implements Sampler {
      readonly start = 5
      indicesAt(step: number): number[] {
        return [0, 1, 2, 3].map((i) => this.start + ((step + i) % 5))
      }
    }
    const into = new BigUint64Array(4)
    createSampler(new Own(), options).fill(0, into)
    expect([...into]).toEqual([5n, 6n, 7n, 8n])
  })

  it.each([[[0, 1, 2]], [[0, 1, 2, 3, 4]], [new BigUint64Array(3)]])('is refused another number of indices', (list) => {
    const message = refusal('LOADERX_INVALID_ARGUMENT', () => fill(list))
    expect(message).toContain('sampler mine, step 7')
    expect(message).toContain(`${list.length} indices, but a batch has 4`)
  })

  it.each([undefined, null, 4, 'abcd', { length: 4 }, new DataView(new ArrayBuffer(4))])('is refused %s', (value) => {
    expect(refusal('LOADERX_INVALID_ARGUMENT', () => fill(value))).toContain('sampler mine, step 7: indicesAt returned')
  })

  it('is refused a promise, with the reason', () => {
    const message = refusal('LOADERX_INVALID_ARGUMENT', () => fill(Promise.resolve([0, 1, 2, 3])))
    expect(message).toContain('must be there when indicesAt returns')
  })

  it.each([0.5, Number.NaN, 2 ** 53, '3', null, undefined])('is refused index %s', (index) => {
    const message = refusal('LOADERX_INVALID_INDEX', () => fill([0, 1, index, 3]))
    expect(message).toContain('step 7')
    expect(message).toContain('at position 2 is not an integer')
  })

  it.each([10, -1, 10n, -1n, 2n ** 64n])('is refused index %s outside', (index) => {
    const message = refusal('LOADERX_INDEX_OUT_OF_RANGE', () => fill([0, index, 2, 3]))
    expect(message).toContain(`sampler mine, step 7: index ${index} at position 1 is outside 0 … 9`)
  })

  it('throws its own error through', () => {
    const own = new Error('own')
    const sampler: Sampler = {
      indicesAt() {
        throw own
      },
    }
    expect(() => createSampler(sampler, options).fill(0, new BigUint64Array(4))).toThrow(own)
  })
})
