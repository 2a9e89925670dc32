// bench/: this package: the store's gather into one buffer again and again, and the loader with labels.

import { DataLoader, Dataset, Zrecord } from '../../dist/index.js'
import { timed } from '../harness.mjs'

export async function oursPeer({ stores, set, indices, batchSize, poolBatches }) {
  const { recordBytes } = set
  const into = Buffer.allocUnsafeSlow(batchSize * recordBytes)
  const list = (k) => indices.subarray((k % poolBatches) * batchSize, ((k % poolBatches) + 1) * batchSize)
  const cases = []
  const ends = []

  for (const residency of ['memory', 'mapped', 'file']) {
    const store = await Zrecord.open(stores.data, { readOnly: true, residency }).catch(() => undefined)
    if (store === undefined) continue
    ends.push(() => store.close())
    const gather = (k) => store.gatherSync(list(k), into, recordBytes)
    cases.push({
      group: 'gather',
      name: `loaderx (this), ${residency}`,
      ours: true,
      async check(batches, visit) {
        for (let k = 0; k < batches; k++) {
          gather(k)
          visit(list(k), into)
        }
      },
      run: (batches) =>
        timed(() => {
          for (let k = 0; k < batches; k++) gather(k)
        }),
    })
  }

  const data = await Dataset.open(stores.data)
  const label = await Dataset.open(stores.label)
  ends.push(
    () => data.close(),
    () => label.close(),
  )
  for (const [name, options, release] of [
    ['0 workers, owned', { workers: 0 }, false],
    ['0 workers, owned, released', { workers: 0 }, true],
    ['0 workers, shared', { workers: 0, ownership: 'shared' }, true],
    ['2 workers, owned', { workers: 2 }, false],
    ['2 workers, owned, released', { workers: 2 }, true],
    ['2 workers, shared', { workers: 2, ownership: 'shared' }, true],
  ]) {
    const loader = new DataLoader(data, label, { batchSize, ...options })
    ends.push(() => loader.close())
    cases.push({
      group: 'loader',
      name: `loaderx (this), ${name}`,
      ours: true,
      async check(batches, visit) {
        for await (const batch of loader.take(batches)) {
          visit(Array.from(batch.label.data, Number), batch.data.data)
          if (release) batch.release()
        }
      },
      run: (batches) =>
        timed(async () => {
          for await (const batch of loader.take(batches)) if (release) batch.release()
        }),
    })
  }

  return {
    cases,
    versions: {},
    async close() {
      for (const end of ends.reverse()) await end()
    },
  }
}
