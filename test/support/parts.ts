// Test support: the parts that tests need beyond npm, as scripts/install-test-parts.mjs found or made them. A test that
// needs a missing part is skipped by name, and fails where CI=true.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, it } from 'vitest'

/** Paths of the parts; undefined where one is missing. */
export interface Parts {
  /** An interpreter that has the original package (loaderx 0.5.0) and NumPy. */
  python?: string
  /** The directory with the four idx.gz files of Fashion-MNIST. */
  fashionMnist?: string
  /** Program that mounts file systems, where that is permitted. */
  mount?: string
}

const file = fileURLToPath(new URL('../../.test-parts/parts.json', import.meta.url))
const found = (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}) as Parts & {
  missing?: Partial<Record<keyof Parts, string>>
}

/** The parts that are there. */
export const parts: Parts = found

/**
 * `describe` and `it` for tests that need `part`: needs('python').describe('...', () => { ... }). Where the part is
 * missing the tests are skipped under a name that says so; with CI=true each becomes one failing test instead.
 */
export function needs(...names: (keyof Parts)[]): {
  describe: (name: string, body: () => void) => void
  it: (name: string, body: () => void | Promise<void>) => void
} {
  const missing = names.filter((name) => parts[name] === undefined)
  if (missing.length === 0) {
    return { describe: (name, body) => void describe(name, body), it: (name, body) => it(name, body) }
  }
  const reason = missing.map((name) => `${name}: ${found.missing?.[name] ?? 'run npm run test:parts'}`).join('; ')
  const label = (name: string): string => `${name} [needs ${missing.join(' and ')}]`
  if (process.env['CI'] === 'true') {
    const fail = (name: string): void =>
      it(label(name), () => {
        throw new Error(`missing part: ${reason}`)
      })
    return { describe: fail, it: fail }
  }
  return {
    describe: (name, body) => void describe.skip(label(name), body),
    it: (name, body) => it.skip(label(name), body),
  }
}
