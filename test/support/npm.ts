// Test support: npm, as the tests of the package use it.
import { execFileSync } from 'node:child_process'

/** Runs npm in `cwd` and gives what it printed to standard output. */
export function npm(args: readonly string[], cwd: string): string {
  // Under `npm test` this is npm's own file, which runs the same way on every system.
  const file = process.env['npm_execpath']
  const options = { cwd, encoding: 'utf8', stdio: 'pipe' } as const
  return file?.endsWith('.js')
    ? execFileSync(process.execPath, [file, ...args], options)
    : execFileSync('npm', args, options)
}
