// House check: the error codes, their paragraphs in docs/errors.md and their use in src are the same set.
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const codesIn = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1]!)
/** Word by word, so that BATCH_TOO_LARGE comes before BATCHES_HELD. */
const byWords = (a: string, b: string): number => (a.replaceAll('_', ' ') < b.replaceAll('_', ' ') ? -1 : 1)

const declared = codesIn(readFileSync(`${root}src/errors.ts`, 'utf8'), /^ {2}\| '(LOADERX_[A-Z_]+)'/gm)
const documentation = readFileSync(`${root}docs/errors.md`, 'utf8')
const documented = codesIn(documentation, /^## (LOADERX_[A-Z_]+)$/gm)
const used = new Set(
  readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && path !== 'errors.ts')
    .flatMap((path) => codesIn(readFileSync(`${root}src/${path}`, 'utf8'), /(?<!env\[)'(LOADERX_[A-Z_]+)'/g)),
)

it('declares its codes in alphabetical order', () => {
  expect(declared.length).toBeGreaterThan(0)
  expect(declared).toEqual([...declared].sort(byWords))
})

it('documents exactly the declared codes in docs/errors.md, in the same order', () => {
  expect(documented).toEqual(declared)
})

it('says something under each heading', () => {
  const sections = documentation.split(/^## /m).slice(1)
  expect(sections.filter((section) => section.split('\n').slice(1).join(' ').trim().length < 40)).toEqual([])
})

it('uses every code that it declares, and no other', () => {
  expect([...used].sort(byWords)).toEqual(declared)
})
