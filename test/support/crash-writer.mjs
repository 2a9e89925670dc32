// Test support: a process that works on a store and says what is done, until it is killed. Arguments: the store, what it
// does (raw, flate, delete, compact), a number from which its records are made, and the records that the store has.
import { writeSync } from 'node:fs'
import { Zrecord } from 'loaderx'
import { operationAt } from './crash-work.mjs'

const [path, work, seed, length] = process.argv.slice(2)
const store = await Zrecord.open(path, { residency: 'file' })
let records = Number(length)
writeSync(1, 'open\n')
for (let step = 0; ; step++) {
  const { kind, records: added, targets } = operationAt(work, Number(seed), step, records)
  if (kind === 'append') await store.append(added, { codec: work === 'flate' ? 'flate' : 'raw' })
  else if (kind === 'delete') await store.delete(targets)
  else await store.compact()
  records = store.length
  writeSync(1, `${step}\n`)
}
