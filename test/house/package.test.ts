// House check: the package holds what a user needs and nothing else, is small, and runs no script when it is installed.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { npm } from '../support/npm.ts'

interface Packed {
  unpackedSize: number
  files: { path: string }[]
}

interface Manifest {
  bin: Record<string, string>
  scripts?: Record<string, string>
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const root = fileURLToPath(new URL('../../', import.meta.url))
const MAX_UNPACKED = 1_000_000
const INSTALL_SCRIPTS = ['preinstall', 'install', 'postinstall', 'prepare']

const readManifest = (path: string): Manifest => JSON.parse(readFileSync(path, 'utf8')) as Manifest
const manifest = readManifest(`${root}package.json`)

function pack(): Packed {
  const text = npm(['pack', '--dry-run', '--json', '--ignore-scripts'], root)
  return (JSON.parse(text) as Packed[])[0]!
}

it('packs dist and the four documents, nothing else', () => {
  const { files } = pack()
  const allowed = /^(?:dist\/.*\.(?:js|d\.ts)|README\.md|CHANGELOG\.md|LICENSE|package\.json)$/
  const paths = files.map((file) => file.path)
  expect(paths.filter((path) => !allowed.test(path) || /(^|\/)test/.test(path))).toEqual([])
  const needed = ['README.md', 'CHANGELOG.md', 'LICENSE', 'package.json', 'dist/index.js', 'dist/index.d.ts']
  expect([...needed, ...Object.values(manifest.bin)].filter((path) => !paths.includes(path))).toEqual([])
})

it(`unpacks to less than ${MAX_UNPACKED / 1000} kB`, ({ annotate }) => {
  const { unpackedSize } = pack()
  annotate(`${Math.round(unpackedSize / 1000)} kB unpacked`)
  expect(unpackedSize).toBeGreaterThan(0)
  expect(unpackedSize).toBeLessThan(MAX_UNPACKED)
})

it('runs no script when it is installed, nor does an optional dependency', () => {
  const lock = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')) as {
    packages: Record<string, { hasInstallScript?: boolean }>
  }
  const names = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })
  expect(Object.keys(manifest.scripts ?? {}).filter((name) => INSTALL_SCRIPTS.includes(name))).toEqual([])
  expect(names.length).toBeGreaterThan(0)
  for (const name of names) {
    const locked = lock.packages[`node_modules/${name}`]
    expect(locked, name).toBeDefined()
    expect(locked?.hasInstallScript ?? false, name).toBe(false)
    const installed = `${root}node_modules/${name}/package.json`
    const scripts = existsSync(installed) ? Object.keys(readManifest(installed).scripts ?? {}) : []
    expect(
      scripts.filter((script) => INSTALL_SCRIPTS.includes(script)),
      name,
    ).toEqual([])
  }
})
