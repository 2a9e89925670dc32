// A program that uses a loader ends by itself, however it leaves it, and not before a batch that it awaits is there.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { makeDataset } from '../support/loading.ts'
import { tempDir } from '../support/stores.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
let path: string

beforeAll(async () => {
  path = await makeDataset(join(tempDir(), 'set'), { rows: 400, descr: '|u1', shape: [20_000], codec: 'flate' })
})

/** Runs the body of a program; the test's timeout is the limit for its end. */
function run(body: string, residency: string): Promise<{ code: number | null; out: string; err: string }> {
  const program = `import { DataLoader, Dataset } from 'loaderx'
    const data = await Dataset.open(${JSON.stringify(path)}, { residency: '${residency}' })
    ${body}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: root })
  let out = ''
  let err = ''
  child.stdout.on('data', (text) => {
    out += text
  })
  child.stderr.on('data', (text) => {
    err += text
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })))
}

const PROGRAMS: Record<string, { body: string; out: string; code?: number; residency?: string }> = {
  'idle after take, not closed': {
    body: `const loader = new DataLoader(data, { batchSize: 8, workers })
      for await (const batch of loader.take(5)) process.stdout.write(batch.step + ' ')
      console.log('idle')`,
    out: '0 1 2 3 4 idle\n',
  },
  'made and never iterated': {
    body: `const loader = new DataLoader(data, { batchSize: 8, workers })
      console.log(loader.step)`,
    out: '0\n',
  },
  'break in the middle': {
    body: `const loader = new DataLoader(data, { batchSize: 8, workers })
      for await (const batch of loader) if (batch.step === 3) break
      console.log('left')`,
    out: 'left\n',
  },
  'an iterator that is dropped': {
    body: `const iterator = new DataLoader(data, { batchSize: 8, workers })[Symbol.asyncIterator]()
      console.log((await iterator.next()).value.step)`,
    out: '0\n',
  },
  'a batch that nobody waits for': {
    body: `new DataLoader(data, { batchSize: 8, workers }).take(2).next().then(({ value }) => console.log(value.step))`,
    out: '0\n',
  },
  'large batches, awaited at the top level': {
    body: `const loader = new DataLoader(data, { batchSize: 2000, workers, prefetch: 1 })
      for await (const batch of loader.take(3)) process.stdout.write(batch.step + ' ')
      await loader.close()
      console.log('closed')`,
    out: '0 1 2 closed\n',
  },
  'large batches from files, with a timer in between': {
    residency: 'file',
    body: `const loader = new DataLoader(data, { batchSize: 2000, workers, prefetch: 2 })
      for await (const batch of loader.take(3)) await new Promise((resolve) => setTimeout(resolve, 20))
      console.log(loader.step)`,
    out: '3\n',
  },
  'sync, left in the middle': {
    body: `const loader = new DataLoader(data, { batchSize: 8, workers })
      for (const batch of loader.sync()) if (batch.step === 3) break
      for (const batch of loader.sync(2)) process.stdout.write(batch.step + ' ')
      console.log('left')`,
    out: '4 5 left\n',
  },
  'an error in the loop': {
    body: `for await (const batch of new DataLoader(data, { batchSize: 8, workers })) {
        console.log(batch.step)
        throw new Error('mine')
      }`,
    out: '0\n',
    code: 1,
  },
  'process.exit while a batch is awaited': {
    body: `const loader = new DataLoader(data, { batchSize: 4000, workers })
      setImmediate(() => process.exit(7))
      loader.take(1).next()
      await new Promise(() => {})`,
    out: '',
    code: 7,
  },
  'shared batches that are never released': {
    body: `const loader = new DataLoader(data, { batchSize: 8, workers, ownership: 'shared' })
      const held = []
      for await (const batch of loader.take(3)) held.push(batch)
      await loader.close()
      await data.close()
      console.log(held.every((batch) => batch.data.data.length === 160000))`,
    out: 'true\n',
  },
}

for (const workers of [0, 2]) {
  describe(`${workers} workers`, () => {
    for (const [name, { body, out, code = 0, residency = 'memory' }] of Object.entries(PROGRAMS)) {
      test(name, async () => {
        const ended = await run(`const workers = ${workers}\n${body}`, residency)
        expect({ out: ended.out, code: ended.code }, ended.err).toEqual({ out, code })
        if (code === 0) expect(ended.err).toBe('')
      })
    }
  })
}
