// Test support: processes that hold a store open (holder.mjs).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const script = fileURLToPath(new URL('holder.mjs', import.meta.url))

/** A process that has opened a store, or has done what it was told. */
export interface Holder {
  readonly pid: number
  /** Lets it end in its own way. */
  end(): Promise<void>
  /** Ends it without a chance to release anything. */
  kill(): Promise<void>
}

/** Starts a process that holds the store at `path`; `appender` and `aligned` have done their work when this
 * returns. Throws an error with the `signal` when it ends before. */
export async function startHolder(
  what: 'reader' | 'loader' | 'appender' | 'aligned',
  path: string,
  ...args: (string | number)[]
): Promise<Holder> {
  const child = spawn(process.execPath, [script, what, path, ...args.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const gone = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await gone
  }
  onTestFinished(kill)
  const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  if (line.done === true) {
    const [code, signal] = await gone
    throw Object.assign(new Error(`the holder ended (${code} ${signal})`), { signal })
  }
  const end = async (): Promise<void> => {
    child.stdin.end()
    await gone
  }
  return { pid: child.pid!, end, kill }
}
