// Test support: the original package, run through the interpreter of the test parts. Only for tests inside of
// needs('python').
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parts } from './parts.ts'

/** What the original's `stats()` gives. */
export interface ReferenceStats {
  records: number
  live_bytes: number
  chunk_bytes: number
  reclaimable: number
}

const scripts = fileURLToPath(new URL('../interop/python/', import.meta.url))
const run = promisify(execFile)

function interpreter(): string {
  if (parts.python === undefined) throw new Error('this test must be inside of needs("python")')
  return parts.python
}

async function python(args: readonly string[]): Promise<string> {
  try {
    return (await run(interpreter(), args, { maxBuffer: 2 ** 28 })).stdout
  } catch (error) {
    const { code, signal, stdout, stderr } = error as { code?: number; signal?: string; stdout: string; stderr: string }
    throw new Error(`python ended with ${signal ?? code}:\n${stdout}${stderr}`, { cause: error })
  }
}

/** Runs `code`; `args` are its sys.argv[1:]. Gives what it printed. */
export async function runPython(code: string, ...args: string[]): Promise<string> {
  return python(['-c', code, ...args])
}

/** Runs a script of test/interop/python. Gives what it printed. */
export async function runScript(name: string, ...args: string[]): Promise<string> {
  return python([`${scripts}${name}`, ...args])
}

/**
 * Lets the original check that `store` holds exactly what `expected` says: a .npy file, a directory of 0.bin, 1.bin, …
 * or an expected.json. Throws with its findings otherwise. `options` as in the script's head.
 */
export async function checkInterop(store: string, expected: string, ...options: string[]): Promise<void> {
  await runScript('check_interop.py', store, expected, ...options)
}

/** Lets the original write (or append to) `store`: .npy files, or with `--bytes` any files as byte records. */
export async function writeStore(
  store: string,
  inputs: readonly string[],
  ...options: string[]
): Promise<ReferenceStats> {
  return JSON.parse(await runScript('write_store.py', store, ...inputs, ...options)) as ReferenceStats
}

/** SHA-256 of the first `count` batches (data, then labels) of the original's loader with one worker. */
export async function referenceBatches(
  data: string,
  labels: string,
  options: { count: number; batchSize: number; mode: 'sequential' | 'random'; seed: number | bigint },
): Promise<string[]> {
  const { count, batchSize, mode, seed } = options
  const args = [String(count), String(batchSize), mode === 'random' ? '1' : '0', String(seed)]
  return JSON.parse(await runScript('batches.py', data, labels, ...args)) as string[]
}

/** A running original that works on stores as asked. Each call opens the store anew. */
export interface ReferenceServer {
  append(store: string, records: readonly Uint8Array[], codec: 'raw' | 'flate'): Promise<number>
  records(store: string): Promise<Uint8Array[]>
  delete(store: string, indices: readonly number[]): Promise<number>
  compact(store: string): Promise<ReferenceStats>
  stats(store: string): Promise<ReferenceStats>
  /** Ends the process. */
  close(): Promise<void>
}

/** Starts the original. Requests are answered one after another. */
export function startReference(): ReferenceServer {
  const child = spawn(interpreter(), [`${scripts}serve.py`], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async <T>(op: string, request: object): Promise<T> => {
    child.stdin.write(`${JSON.stringify({ op, ...request })}\n`)
    const line = await lines.next()
    if (line.done === true) throw new Error(`the original died in ${op} (${(await exit).join(' ')})`)
    const answer = JSON.parse(line.value) as { result: T } | { error: string; code: number | null; message: string }
    if ('error' in answer) throw new Error(`${op}: ${answer.error} ${answer.code ?? ''}: ${answer.message}`)
    return answer.result
  }
  const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
  return {
    append: (store, records, codec) => ask('append', { store, codec, records: records.map(encode) }),
    records: async (store) => {
      const texts = await ask<string[]>('records', { store })
      return texts.map((text) => new Uint8Array(Buffer.from(text, 'base64')))
    },
    delete: (store, indices) => ask('delete', { store, indices }),
    compact: (store) => ask('compact', { store }),
    stats: (store) => ask('stats', { store }),
    close: async () => {
      child.stdin.end()
      await exit
    },
  }
}
