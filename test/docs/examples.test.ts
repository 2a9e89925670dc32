// The programs in README.md and docs/ run and print what the page says.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { javascript, type Page, pages, readPage } from '../support/pages.ts'
import { tempDir } from '../support/stores.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Runs the page's program in a new folder, where `loaderx` is this repository. Gives what it printed. */
function run(page: Page): string {
  const folder = tempDir()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'loaderx'), 'junction')
  copyFileSync(`${root}data/digits.npy`, join(folder, 'data.npy'))
  copyFileSync(`${root}data/digits-labels.npy`, join(folder, 'label.npy'))
  writeFileSync(join(folder, 'program.mjs'), javascript(page))
  return execFileSync(process.execPath, ['program.mjs'], { cwd: folder, encoding: 'utf8', timeout: 60_000 })
}

describe('the programs of the pages', () => {
  for (const page of pages()) {
    it(page.path, () => {
      const printed = run(page).trimEnd()
      expect(printed === '' ? [] : printed.split('\n')).toEqual(page.prints)
    })
  }
})

it('reads the blocks of a page', () => {
  const fence = '```'
  const text = [
    `${fence}ts\nconst a: number = 1\n${fence}`,
    `${fence}sh\nnpm ci\n${fence}`,
    `${fence}js\nconsole.log(a)\n${fence}`,
    `${fence}text\n1\n${fence}`,
    `<!-- not run -->\n\n${fence}ts\nawait forever()\n${fence}`,
  ].join('\n\n')
  expect(readPage('x.md', text)).toEqual({
    path: 'x.md',
    code: 'const a: number = 1\n\nconsole.log(a)\n',
    prints: ['1'],
  })
  expect(readPage('y.md', 'nothing')).toBeUndefined()
})

it('covers the README', () => {
  expect(pages().map((page) => page.path)).toContain('README.md')
})
