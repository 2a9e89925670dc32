// bench/: what a JavaScript programmer would write by hand: the whole array in a Buffer, record by record into one
// buffer again and again.

import { timed } from '../harness.mjs'

export async function nodePeer({ set, indices, batchSize, poolBatches }) {
  const { recordBytes, bytes } = set
  const into = Buffer.allocUnsafeSlow(batchSize * recordBytes)
  const list = (k) => indices.subarray((k % poolBatches) * batchSize, ((k % poolBatches) + 1) * batchSize)
  const gather = (wanted) => {
    for (let i = 0; i < wanted.length; i++) {
      const from = wanted[i] * recordBytes
      bytes.copy(into, i * recordBytes, from, from + recordBytes)
    }
  }
  const gatherCase = {
    group: 'gather',
    name: 'Node, Buffer.copy from an array in memory',
    ours: false,
    async check(batches, visit) {
      for (let k = 0; k < batches; k++) {
        gather(list(k))
        visit(list(k), into)
      }
    },
    run: (batches) =>
      timed(() => {
        for (let k = 0; k < batches; k++) gather(list(k))
      }),
  }
  return { cases: [gatherCase], versions: {}, async close() {} }
}
