// `npm test`: builds, installs the test parts, runs the static checks and then all tests. The last line printed is
// "N passed, N failed" (", N skipped" where tests were skipped); each static check counts as one test.
//   npm test                        everything
//   npm test -- test/dataset        only the tests whose path matches (any argument of vitest); no static checks
// With CI=true a skipped test or a missing test part is a failure.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const report = `${root}.test-parts/vitest.json`
const filters = process.argv.slice(2)
const count = { passed: 0, failed: 0, skipped: 0 }

/** Runs a Node program in the repository's root and returns its exit code. */
function node(args, options = {}) {
  const done = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', ...options })
  if (done.error) console.error(done.error.message)
  return { code: done.status ?? 1, text: `${done.stdout ?? ''}${done.stderr ?? ''}` }
}

/** One static check: silent when it passes, its whole output when it fails. */
function check(name, args) {
  const started = Date.now()
  const { code, text } = node(args, { stdio: 'pipe', encoding: 'utf8' })
  note(name, code === 0, `${((Date.now() - started) / 1000).toFixed(1)} s`)
  if (code !== 0) console.log(text.trimEnd())
}

function note(name, passed, remark) {
  count[passed ? 'passed' : 'failed'] += 1
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${name} (${remark})`)
}

function runVitest() {
  rmSync(report, { force: true })
  const { code } = node([
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...filters,
  ])
  const before = count.failed
  if (existsSync(report)) {
    const result = JSON.parse(readFileSync(report, 'utf8'))
    count.passed += result.numPassedTests
    count.failed += result.numFailedTests
    count.skipped += result.numPendingTests + result.numTodoTests
    // A file that fails before its first test (an import error, a hook) has no failed test of its own.
    for (const file of result.testResults) {
      for (const test of file.assertionResults) {
        if (test.status !== 'passed' && test.status !== 'failed') console.log(`skipped ${test.fullName}`)
      }
      const explained = file.assertionResults.some((test) => test.status === 'failed')
      if (file.status === 'failed' && !explained)
        note(file.name.replace(root, ''), false, 'failed outside of its tests')
    }
  }
  // No report, no test found, or an error that belongs to no test.
  if (code !== 0 && count.failed === before) note('vitest', false, `ended with exit code ${code}`)
}

function runChecks() {
  check('format and lint (biome)', ['node_modules/@biomejs/biome/bin/biome', 'check', '.'])
  check('types of the tests (tsc)', ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.test.json', '--noEmit'])
  check('unused files, exports, dependencies (knip)', ['node_modules/knip/bin/knip.js'])
  check('package (publint)', ['node_modules/publint/src/cli.js', 'run', '--strict'])
  check('types of the package (attw)', [
    'node_modules/@arethetypeswrong/cli/dist/index.js',
    '--pack',
    '.',
    '--profile',
    'esm-only',
  ])
}

mkdirSync(`${root}.test-parts`, { recursive: true })
if (node(['scripts/build.mjs']).code !== 0) {
  note('build (tsc)', false, 'nothing else was run')
} else {
  const parts = node(['scripts/install-test-parts.mjs'])
  if (parts.code !== 0) note('test parts', false, `ended with exit code ${parts.code}`)
  if (filters.length === 0) runChecks()
  runVitest()
}
if (process.env.CI === 'true' && count.skipped > 0) note('no test is skipped in CI', false, `${count.skipped} skipped`)

const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : ''
process.exitCode = count.failed > 0 ? 1 : 0
console.log(`${count.passed} passed, ${count.failed} failed${skipped}`)
