// House check: every exported name, and every public member of an exported class or interface, has a doc comment.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempDir } from '../support/stores.ts'
import { readDeclarations, root, undocumented } from './declarations.ts'

it('documents every exported name and public member', () => {
  const { checker, exported } = readDeclarations(`${root}dist/index.d.ts`)
  expect(exported.length).toBeGreaterThan(0)
  expect(undocumented(checker, exported)).toEqual([])
})

it('sees what lacks a comment', () => {
  const file = join(tempDir(), 'sample.d.ts')
  writeFileSync(
    file,
    `export declare function bare(): void
/** Said. */
export declare class Said<T> {
  #hidden: number
  private secret: number
  /** Said. */
  good: T
  bad: T
  static worse: number
  constructor(value: T)
  /** @internal Not for users. */
  hook: number
  [Symbol.dispose](): void
}
/** Said. */
export type Options = {
  /** Said. */
  one: number
  two: number
} & { three: number }
/** Said. */
export interface Shape extends Base {
  four: number
  /** Said. */
  five(): void
}
interface Base { six: number }
export {}
`,
  )
  const { checker, exported } = readDeclarations(file)
  expect(undocumented(checker, exported).sort()).toEqual([
    'Options.three',
    'Options.two',
    'Said.[Symbol.dispose]',
    'Said.bad',
    'Said.constructor',
    'Said.worse',
    'Shape.four',
    'bare',
  ])
})
