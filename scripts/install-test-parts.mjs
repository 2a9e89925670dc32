// Installs what the tests need beyond npm and writes .test-parts/parts.json, which test/support/parts.ts reads:
//   python        a virtual environment with the original package, to test against
//   fashionMnist  Debian's copy of the Fashion-MNIST images
//   mount         the right to mount file systems (a full one, a read-only one); nothing is installed for it
// As root on Debian it installs everything by itself. Elsewhere it names what is missing and how to get it and goes on:
// the tests that need it are then reported as skipped.
//   node scripts/install-test-parts.mjs
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const requirements = { loaderx: '0.5.0', numpy: '2.4.6' }
const dir = fileURLToPath(new URL('../.test-parts/', import.meta.url))
const venv = join(dir, 'venv')
const venvPython = process.platform === 'win32' ? join(venv, 'Scripts', 'python.exe') : join(venv, 'bin', 'python')
const canApt = process.platform === 'linux' && process.getuid() === 0 && existsSync('/usr/bin/apt-get')
const pins = Object.entries(requirements).map(([name, version]) => `${name}==${version}`)

/** Runs a program and returns whether it succeeded; what it printed is shown only when it failed. */
function run(program, args, env = {}) {
  console.log(`  ${program} ${args.join(' ')}`)
  const done = spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, ...env } })
  if (done.status === 0) return true
  console.log(done.error ? `  ${done.error.message}` : `${done.stdout}${done.stderr}`.replace(/^/gm, '    ').trimEnd())
  return false
}

function succeeds(program, code) {
  return spawnSync(program, ['-c', code], { stdio: 'ignore' }).status === 0
}

function aptInstall(name) {
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  const install = ['install', '-y', '--no-install-recommends', name]
  // The list of packages may be missing or old: refresh it only when the first try fails.
  return run('apt-get', install, env) || (run('apt-get', ['update'], env) && run('apt-get', install, env))
}

function findPython() {
  const usable = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
  return ['python3', '/usr/bin/python3', 'python'].find((program) => succeeds(program, usable))
}

function hasRequirements() {
  const wanted = Object.entries(requirements).map(([name, version]) => `m.version('${name}') == '${version}'`)
  return (
    existsSync(venvPython) && succeeds(venvPython, `import importlib.metadata as m; assert ${wanted.join(' and ')}`)
  )
}

function installPython() {
  if (hasRequirements()) return {}
  console.log(`test parts: making a Python environment with ${pins.join(' and ')}`)
  let python = findPython()
  if (python === undefined && canApt && aptInstall('python3-venv')) python = findPython()
  if (python === undefined) {
    return { missing: 'needs Python 3.11 or newer with its venv module (Debian: apt-get install python3-venv)' }
  }
  rmSync(venv, { recursive: true, force: true })
  const made =
    run(python, ['-m', 'venv', venv]) &&
    run(venvPython, ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', ...pins])
  if (made && hasRequirements()) return {}
  rmSync(venv, { recursive: true, force: true })
  return {
    missing: `pip install ${pins.join(' ')} failed (see above); it needs a package index and a supported system`,
  }
}

function installFashionMnist() {
  const places = ['/usr/share/datasets/fashion-mnist', join(dir, 'fashion-mnist')]
  const find = () => places.find((place) => existsSync(join(place, 'train-images-idx3-ubyte.gz')))
  if (find() === undefined && canApt) {
    console.log('test parts: installing the Fashion-MNIST images')
    aptInstall('dataset-fashion-mnist')
  }
  const path = find()
  if (path !== undefined) return { path }
  return {
    missing:
      'as root on Debian: apt-get install dataset-fashion-mnist; elsewhere: its idx.gz files in .test-parts/fashion-mnist',
  }
}

function tryMount() {
  const place = mkdtempSync(join(tmpdir(), 'loaderx-mount-'))
  try {
    const options = { stdio: 'ignore' }
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', place], options).status === 0
    if (mounted && spawnSync('umount', [place], options).status === 0) return { path: 'mount' }
    return { missing: 'run as root on Linux, where mounting a tmpfs is permitted' }
  } finally {
    rmdirSync(place)
  }
}

mkdirSync(dir, { recursive: true })
const python = installPython()
const fashionMnist = installFashionMnist()
const mount = tryMount()
const parts = { missing: {} }
if (python.missing === undefined) parts.python = venvPython
else parts.missing.python = python.missing
if (fashionMnist.missing === undefined) parts.fashionMnist = fashionMnist.path
else parts.missing.fashionMnist = fashionMnist.missing
if (mount.missing === undefined) parts.mount = mount.path
else parts.missing.mount = mount.missing
writeFileSync(join(dir, 'parts.json'), `${JSON.stringify(parts, null, 2)}\n`)
for (const name of ['python', 'fashionMnist', 'mount']) {
  console.log(`test parts: ${name}: ${parts[name] ?? `MISSING: ${parts.missing[name]}`}`)
}
// In CI nothing may be missing.
if (process.env.CI === 'true' && Object.keys(parts.missing).length > 0) process.exitCode = 1
