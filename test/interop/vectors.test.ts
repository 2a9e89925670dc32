// Interop: the golden stores as our tests restore them are what the original wrote, so that what is tested with them
// holds for it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { needs } from '../support/parts.ts'
import { checkInterop, runScript } from '../support/reference.ts'
import { golden, goldenCases, restoreStore, tempDir, vectors } from '../support/stores.ts'

// Its streams are zlib's and some do not shrink, which the check reports; the original reads it.
const NOT_CHECKED = 'deflate_kinds'

needs('python').describe('the golden stores as restored', () => {
  it('are all there', () => {
    expect(goldenCases).toHaveLength(33)
    expect(goldenCases).toContain(NOT_CHECKED)
  })

  for (const name of goldenCases.filter((one) => one !== NOT_CHECKED)) {
    it(`${name}: the original finds what it wrote`, async () => {
      const { dir } = golden(name)
      await checkInterop(restoreStore(dir, join(tempDir(), name)), join(dir, 'expected.json'))
    })
  }
})

needs('python').it('the original writes the golden stores anew, the same byte for byte', async () => {
  const made = tempDir()
  await runScript('make_golden.py', made)
  const ours = join(vectors, 'golden')
  expect(listFiles(made)).toEqual(listFiles(ours))
  const different = listFiles(ours).filter(
    (path) => !readFileSync(join(made, path)).equals(readFileSync(join(ours, path))),
  )
  expect(different).toEqual([])
})

function listFiles(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort()
}
