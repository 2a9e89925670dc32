// crash/: samples of the states that crashes may leave of long random histories.
import fc from 'fast-check'
import { afterAll, describe, it } from 'vitest'
import { noise, runs } from '../support/bytes.ts'
import { type Operation, preparedDisk, record, storePath } from '../support/crash.ts'
import { tryAll } from '../support/crash-runs.ts'

const seed = Number(process.env['LOADERX_CRASH_SEED'] ?? Date.now() % 2 ** 31)
const HISTORIES = 10

afterAll(() => console.log(`crash: random histories with seed ${seed} (LOADERX_CRASH_SEED)`))

const bytes = fc
  .tuple(fc.integer({ min: 1, max: 6000 }), fc.nat(999), fc.boolean())
  .map(([length, own, packs]) => (packs ? runs(length, own) : noise(length, own)))
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('append' as const),
      codec: fc.constantFrom('raw' as const, 'flate' as const),
      records: fc.array(bytes, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('delete' as const), targets: fc.array(fc.nat(20), { maxLength: 4 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('compact' as const), moveBytes: fc.constantFrom(1, 700, 5000, 2 ** 20) }),
  },
)

describe.each(['kill', 'power'] as const)('long random histories, %s', (kind) => {
  it('hold what was acknowledged', async () => {
    const path = storePath()
    const histories = fc.array(operation, { minLength: 12, maxLength: 30 })
    await fc.assert(
      fc.asyncProperty(histories, fc.boolean(), fc.nat(), async (history, rollsOver, own) => {
        const first: Operation = { kind: 'append', records: [noise(100, own), noise(4000, own)], codec: 'raw' }
        const frontier = { kind: 'frontier', left: 9000 } as const
        const from = await preparedDisk(path, rollsOver ? [first, frontier] : [first])
        const recording = await record(path, history, kind === 'kill' ? 'process' : 'power', from)
        const effort = { most: 24, second: 2, fullEvery: 200, seed: own, share: 0.3 }
        await tryAll(`random histories (${kind})`, recording, kind, effort)
      }),
      { seed, numRuns: HISTORIES },
    )
  })
})
