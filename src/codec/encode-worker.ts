// codec/: the worker's side of encode-pool.ts: a block in, its encoded form out.

import { parentPort } from 'node:worker_threads'
import { createDeflaters } from './deflate.ts'
import { encodeBlock, type RecordBlock } from './encode.ts'

const deflaters = createDeflaters()
parentPort?.on('message', (block: RecordBlock) => {
  const encoded = encodeBlock(block, deflaters)
  parentPort?.postMessage(encoded, [encoded.bytes.buffer as ArrayBuffer])
})
