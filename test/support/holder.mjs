// Test support: a process that opens a dataset or store, says so, and holds it until its standard input ends
// (holders.ts is its other end): node holder.mjs <what> <path>
import { DataLoader, Dataset, Zrecord } from 'loaderx'

const [what, path] = process.argv.slice(2)
const hold = {
  reader: () => Zrecord.open(path, { readOnly: true }),
  async loader() {
    const data = await Dataset.open(path)
    const loader = new DataLoader(data, { batchSize: 2, workers: 1 })
    await loader[Symbol.asyncIterator]().next()
  },
  /** Appends without an end, and counts. */
  async appender() {
    const store = await Zrecord.open(path, { codec: 'raw', lockTimeout: 60_000 })
    const count = Number(process.argv[4])
    for (let i = 0; i < count; i++) await store.append([new Uint8Array(8).fill(Number(process.argv[5]))])
    await store.close()
  },
}

await hold[what]()
console.log('holds')
process.stdin.on('end', () => process.exit()).resume()
