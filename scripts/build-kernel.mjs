// Compiles src/kernel/assembly (AssemblyScript) to src/kernel/generated/kernel.ts: two modules as base64, one with
// SIMD and one without. The result is the same byte for byte wherever it is built; a test compares.
//   node scripts/build-kernel.mjs [OUTPUT_FILE]
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import asc from 'assemblyscript/asc'

const root = fileURLToPath(new URL('..', import.meta.url))
const output = process.argv[2] ?? `${root}src/kernel/generated/kernel.ts`

async function compile(features) {
  const { error, stdout, stderr, binary } = await asc
    .main(
      [
        'src/kernel/assembly/index.ts',
        '--baseDir',
        root,
        '--outFile',
        'kernel.wasm',
        '--runtime',
        'stub',
        '--noAssert',
        '-O3',
        '--converge',
        '--importMemory',
        '--noExportMemory',
        '--sharedMemory',
        '--initialMemory',
        '1',
        '--maximumMemory',
        '65536',
        '--memoryBase',
        '65536',
        '--enable',
        'threads',
        '--enable',
        'bulk-memory',
        ...features,
      ],
      {
        writeFile: (name, contents) => {
          if (name === 'kernel.wasm') compile.binary = contents
        },
      },
    )
    .then((result) => ({ ...result, binary: compile.binary }))
  if (error) throw new Error(`${error.message}\n${stdout}${stderr}`)
  return binary
}

const simd = await compile(['--enable', 'simd'])
const base = await compile(['--disable', 'simd'])
const text = `// Generated from src/kernel/assembly by scripts/build-kernel.mjs: do not edit.

/** The kernel with SIMD (${simd.length} bytes). */
export const KERNEL_SIMD: string =
  '${Buffer.from(simd).toString('base64')}'

/** The kernel without SIMD (${base.length} bytes), for engines that lack it. */
export const KERNEL_BASE: string =
  '${Buffer.from(base).toString('base64')}'
`
mkdirSync(dirname(output), { recursive: true })
writeFileSync(output, text)
console.log(`kernel: ${simd.length} bytes with SIMD, ${base.length} without`)
