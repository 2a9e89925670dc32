// bench/: the data that is measured on: an array of equal records as .npy, and for every record a label that is its
// index, so that a batch can be checked against the array.

import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** The sets by their letter. */
export const SETS = {
  a: { count: 60_000, shape: [28, 28], what: 'Fashion-MNIST, 60,000 × 784 B' },
  b: { count: 20_000, shape: [64, 64, 3], what: '20,000 × 12 KiB' },
  c: { count: 2_000, shape: [224, 224, 3], what: '2,000 × 150,528 B' },
}

/** Writes a .npy file (version 1, C order). */
export function writeNpy(path, descr, shape, bytes) {
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`
  const header = Buffer.from(`${text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11)}\n`)
  const head = Buffer.concat([Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, 0, 0]), header])
  head.writeUInt16LE(header.length, 8)
  const file = openSync(path, 'w')
  writeSync(file, head)
  for (let at = 0; at < bytes.length; at += 2 ** 28) writeSync(file, bytes, at, Math.min(2 ** 28, bytes.length - at))
  closeSync(file)
}

/** Bytes with the neighbourhood of images: each is near the one before it. The same for the same length. */
function walk(length) {
  const bytes = Buffer.allocUnsafeSlow(length)
  let state = 1
  let value = 128
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    value = Math.min(255, Math.max(0, value + (state >>> 28) - 7))
    bytes[i] = value
  }
  return bytes
}

/** The bytes of a set and what they are. `fashionMnist` is the directory of its idx.gz files, if there. */
export function makeSet(letter, fashionMnist) {
  const { count, shape, what } = SETS[letter]
  const recordBytes = shape.reduce((product, size) => product * size, 1)
  const file = fashionMnist === undefined ? '' : join(fashionMnist, 'train-images-idx3-ubyte.gz')
  const real = letter === 'a' && existsSync(file)
  const bytes = real ? gunzipSync(readFileSync(file)).subarray(16) : walk(count * recordBytes)
  const name = letter === 'a' && !real ? `synthetic bytes in place of ${what}` : what
  return { letter, what: name, count, shape, recordBytes, bytes }
}

/** Batches of random indices, the same every time. */
export function makeIndices(count, batches, batchSize) {
  let state = 0x2545f491
  return Uint32Array.from({ length: batches * batchSize }, () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % count
  })
}
