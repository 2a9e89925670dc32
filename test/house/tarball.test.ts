// House check: the packed package, installed in an empty folder with install scripts off and without koffi, converts,
// opens and trains, from the program and from the command line.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'
import { npm } from '../support/npm.ts'
import { tempDir } from '../support/stores.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

const PROGRAM = `
import { DataLoader, Dataset, openNpy } from 'loaderx'
const [images, labels] = process.argv.slice(2)
await Dataset.write('images.zr', await openNpy(images))
await Dataset.write('labels.zr', await openNpy(labels))
const data = await Dataset.open('images.zr')
const label = await Dataset.open('labels.zr')
for (const workers of [0, 2]) {
  const loader = new DataLoader(data, label, { batchSize: 256, workers })
  let sum = 0
  for await (const batch of loader.take(20)) {
    for (const value of batch.data.data) sum += value
    for (const value of batch.label.data) sum += Number(value)
  }
  await loader.close()
  console.log(data.length, data.shape.join('x'), sum)
}
await data.close()
await label.close()
`

let folder: string

beforeAll(() => {
  folder = tempDir()
  npm(['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], root)
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  writeFileSync(join(folder, 'package.json'), '{"type": "module", "private": true}')
  npm(
    ['install', '--offline', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', `./${tarball}`],
    folder,
  )
})

it('trains from the digits, with and without workers', () => {
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual(['loaderx'])
  writeFileSync(join(folder, 'program.js'), PROGRAM)
  const output = run(['program.js', `${root}data/digits.npy`, `${root}data/digits-labels.npy`])
  const [alone, threaded] = output.trim().split('\n')
  expect(alone).toMatch(/^1797 8x8 \d{6,}$/)
  expect(threaded).toBe(alone)
})

it('has a command line', () => {
  const cli = join(folder, 'node_modules', 'loaderx', 'dist', 'cli', 'main.js')
  expect(existsSync(cli)).toBe(true)
  run([cli, 'import', `${root}data/digits.npy`, 'cli.zr'])
  expect(run([cli, 'info', 'cli.zr', '--json'])).toContain('1797')
})

function run(args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
}
