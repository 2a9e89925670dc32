// House check: imports point only downwards between the rooms of src, files import each other without cycles, one
// concept a file (which shows in its length), and nothing is imported that package.json does not name.
import { readdirSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, it } from 'vitest'

/** From the bottom to the top: a room may import those before it. index.ts re-exports from all of them. */
const ROOMS = 'errors format kernel codec storage zrecord sampler dataset loader formats adapters cli index'.split(' ')
const MAX_LINES = 300

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The files of src by their path in it, without those that another compiler reads or a script writes. */
function readSources(): Map<string, string> {
  const paths = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.ts') && !/^kernel\/(assembly|generated)\//.test(path))
  return new Map(paths.sort().map((path) => [path, readFileSync(join(root, 'src', path), 'utf8')]))
}

/** What a file imports (types included) or starts as a worker. */
function importsOf(text: string): string[] {
  const started = [...text.matchAll(/new URL\(\s*'(\.[^']+)'\s*,\s*import\.meta\.url/g)].map((match) => match[1]!)
  return [...ts.preProcessFile(text, true, true).importedFiles.map((file) => file.fileName), ...started]
}

const roomOf = (path: string): string => path.split('/')[0]!.replace(/\.ts$/, '')

function resolve(from: string, specifier: string): string {
  return posix.join(dirname(from), specifier).replace(/\.js$/, '.ts')
}

function wrongDirections(sources: ReadonlyMap<string, string>): string[] {
  const wrong: string[] = []
  for (const [path, text] of sources) {
    const from = ROOMS.indexOf(roomOf(path))
    if (from < 0) wrong.push(`${path} is in no known room`)
    for (const specifier of importsOf(text).filter((one) => one.startsWith('.'))) {
      const target = resolve(path, specifier)
      if (target === '../package.json') continue
      const to = ROOMS.indexOf(roomOf(target))
      if (to > from || to < 0) wrong.push(`${path} imports ${target}`)
    }
  }
  return wrong
}

/** One cycle as the list of its files, or an empty list. */
function findCycle(sources: ReadonlyMap<string, string>): string[] {
  const done = new Set<string>()
  const walk = (path: string, trail: string[]): string[] => {
    if (trail.includes(path)) return [...trail.slice(trail.indexOf(path)), path]
    if (done.has(path)) return []
    const text = sources.get(path) ?? ''
    for (const specifier of ts.preProcessFile(text, true, true).importedFiles.map((file) => file.fileName)) {
      const cycle = specifier.startsWith('.') ? walk(resolve(path, specifier), [...trail, path]) : []
      if (cycle.length > 0) return cycle
    }
    done.add(path)
    return []
  }
  for (const path of sources.keys()) {
    const cycle = walk(path, [])
    if (cycle.length > 0) return cycle
  }
  return []
}

it('imports only downwards between rooms', () => {
  expect(wrongDirections(readSources())).toEqual([])
})

it('has no import cycles', () => {
  expect(findCycle(readSources())).toEqual([])
})

it(`keeps every source file within ${MAX_LINES} lines`, () => {
  const long = [...readSources()].filter(([, text]) => text.trimEnd().split('\n').length > MAX_LINES)
  expect(long.map(([path, text]) => `${path}: ${text.trimEnd().split('\n').length} lines`)).toEqual([])
})

it('imports only modules of Node and packages that package.json names', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, object | undefined>
  const groups = ['dependencies', 'optionalDependencies', 'peerDependencies']
  const known = groups.flatMap((group) => Object.keys(manifest[group] ?? {}))
  const node = new Set(builtinModules.map((name) => `node:${name}`))
  const unknown = [...readSources()].flatMap(([path, text]) =>
    importsOf(text)
      .filter((one) => !one.startsWith('.') && !node.has(one) && !known.includes(one))
      .map((one) => `${path} imports ${one}`),
  )
  expect(unknown).toEqual([])
})

it('sees an upward import, an unknown room and a cycle', () => {
  const sources = new Map([
    ['format/a.ts', "import { b } from '../zrecord/b.ts'"],
    ['zrecord/b.ts', "import type { C } from './c.ts'"],
    ['zrecord/c.ts', "export { b } from './b.ts'\nnew URL('../loader/worker.js', import.meta.url)"],
    ['attic/d.ts', ''],
  ])
  expect(wrongDirections(sources)).toEqual([
    'format/a.ts imports zrecord/b.ts',
    'zrecord/c.ts imports loader/worker.ts',
    'attic/d.ts is in no known room',
  ])
  expect(findCycle(sources)).toEqual(['zrecord/b.ts', 'zrecord/c.ts', 'zrecord/b.ts'])
})
