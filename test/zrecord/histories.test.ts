// zrecord/: random histories of appends, deletes, compacts and reopens through two handles against a plain list. How
// many: LOADERX_HISTORIES (default 300).
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import type { Zrecord } from 'loaderx'
import { afterAll, expect, it } from 'vitest'
import { NodeDirectory } from '#dist/storage/files.js'
import { openStore } from '#dist/zrecord/zrecord.js'
import { noise, runs } from '../support/bytes.ts'
import { nearlyFullStore } from '../support/stores.ts'
import { readHeader } from '../support/table.ts'

const HISTORIES = Number(process.env['LOADERX_HISTORIES'] ?? 300)
const RESIDENCIES = ['memory', 'file', 'mapped'] as const
// Files in memory: what is tested is not the disk.
const top = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'loaderx-histories-'))
afterAll(() => rmSync(top, { recursive: true, force: true }))

// Each handle reserves a memory's address space, which the engine takes back late: thousands of them make it slow.
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const random = noise(8192, 11)
const smooth = runs(8192, 12)
const piece = fc.tuple(
  fc.nat(4000),
  fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 4000 })),
  fc.boolean(),
)
const bytesOf = ([from, length, flat]: [number, number, boolean]): Uint8Array =>
  (flat ? smooth : random).subarray(from, from + length)
const by = fc.constantFrom<0 | 1>(0, 1)
const codec = fc.constantFrom<'raw' | 'flate'>('raw', 'flate')
const operation = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('append' as const), by, codec, pieces: fc.array(piece, { maxLength: 8 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('equal' as const),
      by,
      codec,
      size: fc.integer({ min: 1, max: 60 }),
      count: fc.nat(100),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('delete' as const), by, picks: fc.array(fc.nat(), { maxLength: 6 }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('compact' as const), by }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('reopen' as const), by, residency: fc.constantFrom(...RESIDENCIES) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('read' as const), by, picks: fc.array(fc.nat(), { maxLength: 20 }) }),
  },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

/** A store under test, its two handles, and what it is to hold. */
class History {
  readonly path: string
  model: Uint8Array[] = []
  handles: [Zrecord | undefined, Zrecord | undefined] = [undefined, undefined]

  constructor(path: string) {
    this.path = path
  }

  async handle(by: 0 | 1, residency: (typeof RESIDENCIES)[number] = RESIDENCIES[by]): Promise<Zrecord> {
    this.handles[by] ??= await openStore(new NodeDirectory(this.path), {
      create: true,
      residency,
      verify: 'always',
      windowBytes: 65536 * (1 + by),
    })
    return this.handles[by]
  }

  async close(by: 0 | 1): Promise<void> {
    await this.handles[by]?.close()
    this.handles[by] = undefined
  }

  /** Runs what needs the store for itself: refused while the other handle is open. */
  async alone<T>(by: 0 | 1, work: (store: Zrecord) => Promise<T>): Promise<T> {
    const store = await this.handle(by)
    if (this.handles[by === 0 ? 1 : 0] !== undefined) {
      // An assertion of vitest's on a promise would keep each history's memory until the test ends.
      const refused = await work(store).then(
        () => undefined,
        (error: { code: string }) => error.code,
      )
      expect(refused).toBe('LOADERX_LOCKED')
      await this.close(by === 0 ? 1 : 0)
    }
    return work(store)
  }

  async run(one: Operation): Promise<void> {
    const { model } = this
    if (one.do === 'append') {
      const records = one.pieces.map(bytesOf)
      expect(await (await this.handle(one.by)).append(records, { codec: one.codec })).toBe(model.length)
      model.push(...records)
    } else if (one.do === 'equal') {
      const source = smooth.subarray(0, one.size * one.count)
      expect(await (await this.handle(one.by)).append(source, one.size, { codec: one.codec })).toBe(model.length)
      for (let i = 0; i < one.count; i++) model.push(source.subarray(i * one.size, (i + 1) * one.size))
    } else if (one.do === 'delete') {
      const indices = model.length === 0 ? [] : one.picks.map((pick) => pick % model.length)
      const before = model.slice()
      for (const index of [...new Set(indices)].sort((a, b) => b - a)) {
        const last = model.pop()!
        if (index < model.length) model[index] = last
      }
      const { length, removed, moves } = await this.alone(one.by, (store) => store.delete(indices))
      expect([length, removed]).toEqual([model.length, new Set(indices).size])
      for (const [from, to] of moves) expect(model[to]).toBe(before[from])
    } else if (one.do === 'compact') {
      const { tailChunk } = readHeader(this.path)
      const { liveBytes } = await this.alone(one.by, async (store) => {
        await store.compact()
        return store.stats()
      })
      const header = readHeader(this.path)
      // No gaps, but for what a full chunk leaves at its end.
      if (tailChunk === 0) expect(header).toMatchObject({ tailChunk: 0, tailOffset: liveBytes })
      else expect(header.tailChunk).toBe(0)
    } else if (one.do === 'reopen') {
      await this.close(one.by)
      await this.handle(one.by, one.residency)
    } else await this.read(await this.handle(one.by), one.picks)
    for (const store of this.handles) if (store !== undefined) expect(store.length).toBe(model.length)
  }

  async read(store: Zrecord, picks: readonly number[]): Promise<void> {
    const { model } = this
    const indices = model.length === 0 ? [] : picks.map((pick) => pick % model.length)
    const offsets: number[] = []
    let end = 0
    for (const index of indices) {
      offsets.push(end)
      end += model[index]!.length
    }
    const into = Buffer.alloc(end)
    await store.gather(indices, into, { offsets })
    expect(into.equals(Buffer.concat(indices.map((index) => model[index]!)))).toBe(true)
  }
}

it(`${HISTORIES} random histories end as the model says`, { timeout: Math.max(240_000, HISTORIES * 200) }, async () => {
  let number = 0
  let operations = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(operation, { minLength: 1, maxLength: 30, size: 'max' }),
      fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined, freq: 4 }),
      async (steps, left) => {
        const path = join(top, `${number++}`)
        if (left !== undefined) nearlyFullStore(path, left)
        const history = new History(path)
        try {
          await history.handle(0)
          for (const step of steps) {
            await history.run(step)
            operations++
          }
          await Promise.all([history.close(0), history.close(1)])
          const last = await history.handle(0, RESIDENCIES[number % 3]!)
          await history.read(
            last,
            history.model.map((_, i) => i),
          )
          const { records, unsealed, logicalBytes } = last.stats()
          const bytes = history.model.reduce((sum, one) => sum + one.length, 0)
          expect([records, unsealed, logicalBytes]).toEqual([history.model.length, 0, bytes])
        } finally {
          await Promise.all([history.close(0), history.close(1)])
          rmSync(path, { recursive: true, force: true })
          if (number % 20 === 0) collect()
        }
      },
    ),
    { numRuns: HISTORIES, endOnFailure: false },
  )
  console.log(`histories: ${number} with ${operations} operations`)
  expect(number).toBeGreaterThanOrEqual(HISTORIES)
})
