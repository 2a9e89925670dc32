// Converts two NumPy files, opens them and trains from them:
//   node quickstart.mjs                              the handwritten digits in the repository's data/
//   node quickstart.mjs IMAGES.npy LABELS.npy        your own: images (n, height, width), labels (n,)
//   node quickstart.mjs IMAGES.npy LABELS.npy DIR    the same, and the stores are kept in a new directory in DIR

import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DataLoader, Dataset, openNpy } from 'loaderx'

const digits = (name) => fileURLToPath(new URL(`../data/${name}`, import.meta.url))
const [images = digits('digits.npy'), labels = digits('digits-labels.npy'), keepIn] = process.argv.slice(2)
if (keepIn !== undefined) await mkdir(keepIn, { recursive: true })
const dir = await mkdtemp(join(keepIn ?? tmpdir(), 'loaderx-quickstart-'))

const BATCH = 256
const STEPS = 256

// 1. Convert. A store is a directory; every row of the array becomes a record of it. The file is streamed, so it may be
// larger than memory. Records are compressed where that helps, unless the codec is 'raw', which is read fastest.
await Dataset.write(join(dir, 'train_data.zr'), await openNpy(images), { codec: 'raw' })
await Dataset.write(join(dir, 'train_label.zr'), await openNpy(labels))

// 2. Open. Opening reads the schema and checks it; samples can be read by index at once.
const data = await Dataset.open(join(dir, 'train_data.zr'))
const label = await Dataset.open(join(dir, 'train_label.zr'))
console.log('Converted and opened')
console.log(`  train_data.zr   ${describe(data.length, data)}`)
console.log(`  train_label.zr  ${describe(label.length, label)}`)

const last = await data.at(-1)
const { data: shows } = await label.at(-1)
console.log(`\nThe last sample, labelled ${shows[0]}\n${draw(last)}`)

// 3. Train. The loader is endless; take(n) is the next n batches of it. Batch k depends only on the data and the seed.
const loader = new DataLoader(data, label, { batchSize: BATCH, seed: 42 })
const started = performance.now()
let batch
for await (batch of loader.take(STEPS)) {
  // Your training step: batch.data.data and batch.label.data are typed arrays that you may keep.
}
const seconds = (performance.now() - started) / 1000
await loader.close()
console.log(`\n${STEPS} steps of ${BATCH} samples with labels`)
console.log(`  batch.data   ${batch.data.dtype} [${batch.data.shape.join(', ')}]`)
console.log(`  batch.label  ${batch.label.dtype} [${batch.label.shape.join(', ')}]`)
console.log(`  ${count((STEPS * BATCH) / seconds)} samples/s, ${count(STEPS / seconds)} steps/s`)

// 4. Worker threads fill batches ahead. They change when a batch is ready, never what is in it.
console.log('\nThe same steps again')
const alone = await fingerprint(0)
const threaded = await fingerprint(2)
const equal = alone === threaded
console.log(`  0 workers  ${alone}`)
console.log(`  2 workers  ${threaded}  ${equal ? 'equal, batch by batch' : 'DIFFERENT: please report this'}`)

await data.close()
await label.close()
if (keepIn === undefined) await rm(dir, { recursive: true })
else console.log(`\nThe stores are in ${dir}`)
process.exitCode = equal ? 0 : 1

/** A hash over all bytes of all batches, in order. */
async function fingerprint(workers) {
  const hash = createHash('sha256')
  const loader = new DataLoader(data, label, { batchSize: BATCH, seed: 42, workers })
  for await (const batch of loader.take(STEPS)) hash.update(batch.data.data).update(batch.label.data)
  await loader.close()
  return hash.digest('hex').slice(0, 16)
}

function describe(length, { dtype, shape }) {
  return `${count(length)} samples, ${shape.length === 0 ? `${dtype} scalars` : `${dtype} [${shape.join(', ')}]`}`
}

function count(number) {
  return Math.round(number).toLocaleString('en')
}

/** An image as text, two characters a pixel, darkest where the value is largest. */
function draw({ data, shape: [height, width] }) {
  const largest = Math.max(1, ...Array.from(data, Number))
  const pixel = (value) => ' ░▒▓█'[Math.round((4 * Number(value)) / largest)].repeat(2)
  const line = (y) => `  ${Array.from(data.subarray(y * width, (y + 1) * width), pixel).join('')}`
  return Array.from({ length: height }, (_, y) => line(y)).join('\n')
}
