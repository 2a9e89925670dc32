// House check: the public API is what test/house/public-api.txt says, so that no change of it goes unseen.
// `npm run api` writes the file anew.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempDir } from '../support/stores.ts'
import { readDeclarations, render, root, unexportedTypes } from './declarations.ts'

const { checker, exported } = readDeclarations(`${root}dist/index.d.ts`)

it('is the public API of test/house/public-api.txt (npm run api writes it anew)', async () => {
  const text = exported.map(({ name, declarations }) => `## ${name}\n${declarations.map(render).join('\n')}\n`)
  await expect(text.join('\n')).toMatchFileSnapshot('public-api.txt')
})

it('exports every type that its declarations mention', () => {
  expect(unexportedTypes(checker, exported)).toEqual([])
})

it('sees a mentioned type that is not exported, and shows no private member', () => {
  const file = join(tempDir(), 'sample.d.ts')
  writeFileSync(
    file,
    `interface Hidden { a: number }
export declare function f<T>(value: T): Promise<Hidden[]>
export declare class Open {
  #secret: Hidden
  private other: Hidden
  /** Said. */
  b: number
}
export {}
`,
  )
  const sample = readDeclarations(file)
  expect(unexportedTypes(sample.checker, sample.exported)).toEqual(['f mentions Hidden'])
  expect(sample.exported.flatMap((one) => one.declarations.map(render))).toEqual([
    'export declare class Open {\n    b: number;\n}',
    'export declare function f<T>(value: T): Promise<Hidden[]>;',
  ])
})
