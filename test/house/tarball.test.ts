// House check: the packed package in an empty folder, install scripts off, with and without the optional koffi: the
// quickstart runs, the command line works, and the programs of the pages satisfy a strict compiler.
import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { npm } from '../support/npm.ts'
import { pages } from '../support/pages.ts'
import { tempDir } from '../support/stores.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const koffi = `${root}node_modules/@koromix/koffi-${process.platform}-${process.arch}`
const INSTALL = ['install', '--offline', '--ignore-scripts', '--install-links', '--no-audit', '--no-fund']

let tarball: string

beforeAll(() => {
  const packed = tempDir()
  npm(['pack', '--silent', '--ignore-scripts', '--pack-destination', packed], root)
  tarball = join(packed, readdirSync(packed).find((name) => name.endsWith('.tgz'))!)
})

/** A new folder in which the tarball is installed with `args`. */
function install(...args: string[]): string {
  const folder = tempDir()
  writeFileSync(join(folder, 'package.json'), '{"type": "module", "private": true}')
  npm([...INSTALL, ...args, tarball], folder)
  copyFileSync(`${root}examples/quickstart.mjs`, join(folder, 'quickstart.mjs'))
  return folder
}

function node(folder: string, ...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
}

function packages(folder: string): string[] {
  return readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))
}

const MAPPED = `
import { Zrecord } from 'loaderx'
await (await Zrecord.open('mapped.zr', { create: true })).close()
const store = await Zrecord.open('mapped.zr', { residency: 'mapped' }).catch((error) => ({ residency: error.code }))
console.log(store.residency)
`

const variants = {
  'without koffi': { args: ['--omit=optional'], packages: ['loaderx'], mapped: 'LOADERX_RESIDENCY_UNAVAILABLE' },
  ...(existsSync(koffi) && { 'with koffi': { args: [koffi], packages: ['@koromix', 'loaderx'], mapped: 'mapped' } }),
}

describe.for(Object.entries(variants))('the tarball %s', ([, variant]) => {
  let folder: string
  beforeAll(() => {
    folder = install(...variant.args)
  })

  it('brings nothing else along', () => {
    expect(packages(folder)).toEqual(variant.packages)
  })

  it('runs the quickstart', () => {
    const output = node(folder, 'quickstart.mjs', `${root}data/digits.npy`, `${root}data/digits-labels.npy`, 'kept')
    expect(output).toContain('1,797 samples, uint8 [8, 8]')
    expect(output).toContain('batch.label  int64 [256]')
    expect(output).toContain('equal, batch by batch')
    expect(readdirSync(join(folder, 'kept', readdirSync(join(folder, 'kept'))[0]!)).sort()).toEqual([
      'train_data.zr',
      'train_label.zr',
    ])
  })

  it('maps files only with koffi', () => {
    expect(node(folder, '--input-type=module', '--eval', MAPPED).trim()).toBe(variant.mapped)
  })

  it('has a command line', () => {
    const cli = join(folder, 'node_modules', 'loaderx', 'dist', 'cli', 'main.js')
    node(folder, cli, 'import', `${root}data/digits.npy`, 'cli.zr')
    expect(node(folder, cli, 'info', 'cli.zr', '--json')).toContain('1797')
  })
})

it('has types that a strict compiler accepts, for the programs of all pages', () => {
  const folder = install('--omit=optional')
  mkdirSync(join(folder, 'pages'))
  const files = pages().map(({ path, code }) => {
    const file = `pages/${basename(path, '.md')}.ts`
    writeFileSync(join(folder, file), `${code}\nexport {}\n`)
    return file
  })
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable', 'dom'],
    types: [],
    skipLibCheck: false,
    noEmit: true,
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const compile = () => {
    const tsc = `${root}node_modules/typescript/bin/tsc`
    return spawnSync(process.execPath, [tsc, '--pretty', 'false'], { cwd: folder, encoding: 'utf8' }).stdout
  }
  expect(compile()).toBe('')
  // The compiler does look at them.
  writeFileSync(join(folder, files[0]!), `import { Dataset } from 'loaderx'\nawait Dataset.open(7)\n`)
  expect(compile()).toMatch(/^pages\S+: error TS2345: [^\n]+\n$/)
})
