// zrecord/: random histories of a store, through several handles, against a plain list of records.
import { join } from 'node:path'
import fc from 'fast-check'
import type { Codec, Zrecord } from 'loaderx'
import { expect, it } from 'vitest'
import { noise, runs } from '../support/bytes.ts'
import { nearlyFullStore, tempDir } from '../support/stores.ts'
import { type Variant, variants } from './suites/variants.ts'

type Model = { records: Uint8Array[] }
/** Two handles of the store under test; each command uses one of them. */
type Real = { path: string; handles: [Zrecord, Zrecord] }
type Command = fc.AsyncCommand<Model, Real>

const handle = fc.constantFrom<0 | 1>(0, 1)
const codec = fc.constantFrom<Codec>('raw', 'flate')
const length = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 3000 }), fc.constant(200_000))
const content = fc.record({ length, seed: fc.nat(1000), smooth: fc.boolean() })
const bytesOf = (one: { length: number; seed: number; smooth: boolean }): Uint8Array =>
  one.smooth ? runs(one.length, one.seed) : noise(one.length, one.seed)

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return { check: () => true, run, toString: () => name }
}

const appendList = fc.tuple(handle, codec, fc.array(content, { maxLength: 6 })).map(([h, codec, list]) =>
  command(`append list of ${list.map((one) => one.length)} by ${h} as ${codec}`, async (model, real) => {
    const records = list.map(bytesOf)
    expect(await real.handles[h].append(records, { codec })).toBe(model.records.length)
    model.records.push(...records)
  }),
)

const appendEqual = fc.tuple(handle, codec, content, fc.nat(40)).map(([h, codec, one, count]) =>
  command(`append ${count} of ${one.length} by ${h} as ${codec}`, async (model, real) => {
    const size = Math.min(one.length, 3000)
    const source = bytesOf({ ...one, length: count * size })
    expect(await real.handles[h].append(source, size, { codec })).toBe(model.records.length)
    for (let i = 0; i < count; i++) model.records.push(source.subarray(i * size, (i + 1) * size))
  }),
)

const piece = fc.record({ from: fc.nat(900), length: fc.integer({ min: 1, max: 100 }) })
const appendRagged = fc.tuple(handle, codec, fc.array(piece, { maxLength: 8 })).map(([h, codec, pieces]) =>
  command(`append ${pieces.length} pieces by ${h} as ${codec}`, async (model, real) => {
    const source = noise(1000, 5)
    const layout = { offsets: pieces.map(({ from }) => from), lengths: pieces.map(({ length }) => length) }
    expect(await real.handles[h].append(source, layout, { codec })).toBe(model.records.length)
    model.records.push(...pieces.map(({ from, length }) => source.subarray(from, from + length)))
  }),
)

const several = fc.tuple(handle, fc.array(fc.tuple(handle, content), { minLength: 2, maxLength: 4 })).map(([, list]) =>
  command(`append ${list.length} at once`, async (model, real) => {
    const records = list.map(([, one]) => bytesOf(one))
    const firsts = await Promise.all(list.map(([h], i) => real.handles[h].append([records[i]!])))
    expect(firsts.toSorted((a, b) => a - b)).toEqual(records.map((_, i) => model.records.length + i))
    const before = model.records.length
    for (const [i, first] of firsts.entries()) model.records[first] = records[i]!
    expect(model.records.length).toBe(before + records.length)
  }),
)

const gather = fc
  .tuple(handle, fc.array(fc.nat(), { maxLength: 30 }), fc.boolean(), fc.boolean(), fc.nat(9))
  .map(([h, choices, byOffsets, sync, gap]) =>
    command(`gather ${choices.length} by ${h}`, async (model, real) => {
      const { records } = model
      const indices = records.length === 0 ? [] : choices.map((choice) => choice % records.length)
      const longest = Math.max(1, ...indices.map((i) => records[i]!.length))
      const offsets: number[] = []
      let end = gap
      for (const i of indices) {
        offsets.push(end)
        end += records[i]!.length + gap
      }
      const size = byOffsets ? end : indices.length * (longest + gap)
      const wanted = new Uint8Array(size).fill(0xee)
      for (const [k, i] of indices.entries()) wanted.set(records[i]!, byOffsets ? offsets[k]! : k * (longest + gap))
      const into = new Uint8Array(size).fill(0xee)
      const layout = byOffsets ? { offsets } : longest + gap
      if (sync) real.handles[h].gatherSync(indices, into, layout)
      else await real.handles[h].gather(indices, into, layout)
      expect(Buffer.compare(into, wanted)).toBe(0)
    }),
  )

const get = fc.tuple(handle, fc.nat()).map(([h, choice]) =>
  command(`get by ${h}`, async ({ records }, real) => {
    const index = choice % (records.length + 1)
    const got = real.handles[h].get(index)
    if (index === records.length) await expect(got).rejects.toMatchObject({ code: 'LOADERX_INDEX_OUT_OF_RANGE' })
    else expect(Buffer.compare(await got, records[index]!)).toBe(0)
  }),
)

const lengths = handle.map((h) =>
  command(`lengths by ${h}`, async ({ records }, real) => {
    expect(real.handles[h].length).toBe(records.length)
    const all = Uint32Array.from(records, (_, i) => i)
    expect([...real.handles[h].lengths(all)]).toEqual(records.map((record) => record.length))
  }),
)

const reopen = fc.tuple(handle, fc.constantFrom(...variants)).map(([h, variant]) =>
  command(`reopen ${h} as ${variant.name}`, async (_, real) => {
    await real.handles[h].close()
    real.handles[h] = await variant.open(real.path)
  }),
)

const history = fc.commands([appendList, appendEqual, appendRagged, several, gather, gather, get, lengths, reopen], {
  maxCommands: 25,
})

async function setUp(variant: Variant, left: number | undefined): Promise<{ model: Model; real: Real }> {
  const path = join(tempDir(), 'store')
  if (left !== undefined) nearlyFullStore(path, left)
  const first = await variant.open(path, { create: true })
  const second = await variant.open(path)
  return { model: { records: [] }, real: { path, handles: [first, second] } }
}

it.each(variants)('$name: any history', async (variant) => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.option(fc.integer({ min: 1, max: 30_000 }), { nil: undefined }),
      async (commands, left) => {
        const { model, real } = await setUp(variant, left)
        await fc.asyncModelRun(() => ({ model, real }), commands)
        await Promise.all(real.handles.map((one) => one.close()))
      },
    ),
    { numRuns: 15 },
  )
})
