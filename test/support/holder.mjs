// Test support: a process that opens a dataset or store, says so, and holds it until its standard input ends
// (holders.ts is its other end): node holder.mjs <what> <path>
import { DataLoader, Dataset, Zrecord } from 'loaderx'
import { NodeDirectory } from '#dist/storage/files.js'
import { deleteFromAll } from '#dist/zrecord/aligned.js'
import { openStore } from '#dist/zrecord/zrecord.js'

const [what, path] = process.argv.slice(2)
const hold = {
  reader: () => Zrecord.open(path, { readOnly: true }),
  async loader() {
    const data = await Dataset.open(path)
    const loader = new DataLoader(data, { batchSize: 2, workers: 1 })
    await loader[Symbol.asyncIterator]().next()
  },
  /** Deletes records 1 and 2 of two stores together, and dies after its n-th change of a file. */
  async aligned() {
    let left = Number(process.argv[5])
    class Dying extends NodeDirectory {
      #counted = async (work) => {
        const result = await work()
        if (--left === 0) process.kill(process.pid, 'SIGKILL')
        return result
      }
      open(name, mode) {
        const file = super.open(name, mode)
        const write = file.write.bind(file)
        file.write = (bytes, at) => this.#counted(() => write(bytes, at))
        return file
      }
      rename = (from, to) => this.#counted(() => super.rename(from, to))
      remove = (name) => this.#counted(() => super.remove(name))
    }
    const stores = [await openStore(new Dying(path)), await openStore(new Dying(process.argv[4]))]
    await deleteFromAll(stores, [1, 2])
    for (const store of stores) await store.close()
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
