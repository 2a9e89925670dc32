// codec/: worker threads that encode blocks in parallel. One pool a process; it has no threads until a block comes, its
// threads never keep the process alive while idle, and the last user to leave ends them.

import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { LoaderxError } from '../errors.ts'
import type { EncodedBlock, RecordBlock } from './encode.ts'

interface Job {
  readonly block: RecordBlock
  readonly resolve: (encoded: EncodedBlock) => void
  readonly reject: (error: unknown) => void
}

const size = Math.max(1, Math.min(8, availableParallelism()))
const queue: Job[] = []
const idle: Worker[] = []
const busy = new Map<Worker, Job>()
/** Threads that were told to end. They keep the process alive until they have. */
const ending = new WeakSet<Worker>()
let users = 0

/** Blocks that are worth having under way at once: one for each thread and one waiting for each. */
export const ENCODE_WIDTH: number = 2 * size

/** Registers a user of the pool; the function that it returns gives the pool up. */
export function useEncodePool(): () => Promise<void> {
  users++
  let used = true
  return async () => {
    if (!used) return
    used = false
    users--
    if (users > 0) return
    // Blocks that are still here belong to appends that were given up.
    queue.length = 0
    const workers = [...idle.splice(0), ...busy.keys()]
    for (const worker of workers) ending.add(worker)
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
}

/** Encodes `block` in a worker. `block.source` is handed over and must not be used again. */
export function encodeInPool(block: RecordBlock): Promise<EncodedBlock> {
  return new Promise((resolve, reject) => {
    queue.push({ block, resolve, reject })
    startNext()
  })
}

function startNext(): void {
  if (queue.length === 0) return
  const worker = idle.pop() ?? (busy.size < size ? startWorker() : undefined)
  if (worker === undefined) return
  const job = queue.shift()!
  busy.set(worker, job)
  worker.ref()
  worker.postMessage(job.block, [job.block.source.buffer as ArrayBuffer])
}

function startWorker(): Worker {
  // The process's own flags are not for a worker: with --input-type (node -e) it would not start.
  const worker = new Worker(new URL('./encode-worker.js', import.meta.url), { execArgv: [] })
  worker.on('message', (encoded: EncodedBlock) => {
    const job = busy.get(worker)
    busy.delete(worker)
    job?.resolve(encoded)
    // A result that was on its way when the thread was told to end must not let the process end before it.
    if (ending.has(worker)) return
    worker.unref()
    idle.push(worker)
    startNext()
  })
  const fail = (cause: unknown) => {
    const at = idle.indexOf(worker)
    if (at >= 0) idle.splice(at, 1)
    const job = busy.get(worker)
    busy.delete(worker)
    const message = 'a worker thread that compresses records ended; the append was given up and the store is as it was'
    job?.reject(new LoaderxError('LOADERX_WORKER_FAILED', message, {}, { cause }))
    startNext()
  }
  worker.on('error', fail)
  worker.on('exit', (code) => fail(new Error(`exit code ${code}`)))
  return worker
}
