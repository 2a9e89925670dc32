// House check: the repository stands alone. No file names a path of somebody's machine, a directory beside the
// repository or a package registry's host; no test is switched off or singled out.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const NOT_OURS = new Set(['.git', 'node_modules', 'dist', 'coverage', '.test-parts'])
const BINARY = /\.(npy|npz|trimmed|gz|tgz|zr|png|cpuprofile)$|\.at-\d+$/

/** The text files of the repository; paths relative to its root. */
function textFiles(dir = ''): string[] {
  return readdirSync(join(root, dir), { withFileTypes: true }).flatMap((entry) => {
    const path = dir === '' ? entry.name : `${dir}/${entry.name}`
    if (NOT_OURS.has(entry.name)) return []
    if (entry.isDirectory()) return textFiles(path)
    return BINARY.test(path) ? [] : [path]
  })
}

/** Matches the parts joined, so that this file does not contain what it looks for. */
const pattern = (...parts: string[]): RegExp => new RegExp(parts.join(''))

const FORBIDDEN: Record<string, RegExp> = {
  'a path of one machine': pattern('(?<![\\w.~}-])/', '(?:work|root|tmp)', '/'),
  'a directory beside the repository': pattern('\\.\\./', 'shared'),
  'the npm registry': pattern('registry\\.', '(?:npmjs|yarnpkg)\\.'),
  'the Python index': pattern(
    '(?:pypi|pythonhosted|python)\\.org/(?:simple|packages|project)|',
    'files\\.',
    'pythonhosted',
  ),
  'the Debian archive': pattern('(?:deb|security|ftp)\\.', 'debian\\.org'),
  'another registry': pattern('(?:static\\.', 'crates\\.io|proxy\\.', 'golang\\.org|repo1?\\.', 'maven)'),
}

/** What of FORBIDDEN `text` names. */
const findings = (text: string): string[] =>
  Object.entries(FORBIDDEN).flatMap(([what, expression]) => {
    const match = expression.exec(text)
    return match ? [`${what}: ${text.slice(Math.max(0, match.index - 20), match.index + 40)}`] : []
  })

it('names no path of a machine and no registry host in any file', () => {
  const files = textFiles()
  expect(files).toContain('package-lock.json')
  expect(
    files.flatMap((path) => findings(readFileSync(join(root, path), 'utf8')).map((one) => `${path}: ${one}`)),
  ).toEqual([])
})

it('sees each of them', () => {
  const bad = [
    `cd ${['', 'work', 'x'].join('/')}`,
    `'${['', 'tmp', 'x'].join('/')}'`,
    `see ${['..', 'shared', 'x'].join('/')}`,
    `https://${['registry', 'npmjs', 'org'].join('.')}/x`,
    `https://${['files', 'pythonhosted', 'org'].join('.')}/x`,
    `http://${['deb', 'debian', 'org'].join('.')}/x`,
    `https://${['proxy', 'golang', 'org'].join('.')}/x`,
  ]
  expect(bad.map((text) => findings(text).length)).toEqual(bad.map(() => 1))
  expect(findings('test/work/a.ts and https://example.org/work/')).toEqual([])
})

it('neither skips a test nor singles one out', () => {
  const marks = /\b(?:it|test|describe)\.(?:skip|only|todo|skipIf|runIf)\b/
  const tests = textFiles('test').filter((path) => path.endsWith('.ts') && path !== 'test/support/parts.ts')
  expect(tests.length).toBeGreaterThan(0)
  expect(
    tests.filter((path) => marks.test(readFileSync(join(root, path), 'utf8'))).map((path) => basename(path)),
  ).toEqual([])
})
