// Makes docs/performance.md from the newest result in bench/results.
//   node scripts/performance-page.mjs
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { markdown } from '../bench/report.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const newest = readdirSync(`${root}bench/results`)
  .filter((name) => name.endsWith('.json'))
  .sort()
  .at(-1)
const result = JSON.parse(readFileSync(`${root}bench/results/${newest}`, 'utf8'))
writeFileSync(
  `${root}docs/performance.md`,
  `# Performance

Made from \`bench/results/${newest}\` by \`npm run docs:performance\`: do not edit. \`npm run bench\` measures on your machine;
[bench/README.md](../bench/README.md) says how.

${markdown(result)}`,
)
console.log(`docs/performance.md is from bench/results/${newest}`)
