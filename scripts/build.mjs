// Builds dist/ from src/ with plain tsc. The kernel's WebAssembly is a generated file kept in the repository
// (`npm run build:kernel`), so this needs nothing but TypeScript.
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
rmSync(`${root}dist`, { recursive: true, force: true })
execFileSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', `${root}tsconfig.json`], {
  stdio: 'inherit',
})
const cli = `${root}dist/cli/main.js`
if (existsSync(cli)) chmodSync(cli, 0o755)
