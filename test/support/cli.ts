// Test support: the program `loaderx` as a child process, as its users run it.
import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** What a finished run left. */
export interface Run {
  /** Exit code; null when a signal ended it. */
  code: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

/** How a run is started and watched. */
export interface RunOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  /** Called whenever something more came on standard error, with all of it. */
  onError?: (stderr: string, child: ChildProcess) => void
}

/** Environment without what changes the output. */
const plain: NodeJS.ProcessEnv = { ...process.env, LANG: 'C.UTF-8', LC_ALL: '', COLUMNS: '80', LOADERX_DEBUG: '' }

/** The arguments of Node that run `loaderx` with `args`. */
export function cliArguments(args: readonly string[]): string[] {
  return [main, ...args]
}

/** Runs `loaderx` with `args` to its end; its outputs are no terminals. */
export function cli(args: readonly string[], { cwd, env, onError }: RunOptions = {}): Promise<Run> {
  const child = spawn(process.execPath, cliArguments(args), {
    ...(cwd !== undefined && { cwd }),
    env: { ...plain, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const run = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    run.stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    run.stderr += text
    onError?.(run.stderr, child)
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ ...run, code, signal }))
  })
}
