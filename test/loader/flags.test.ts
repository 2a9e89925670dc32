// loader/: a program given on the command line (node -e) has workers too, although its flags would not suit them.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { Dataset } from 'loaderx'
import { expect, it } from 'vitest'
import { tempDir } from '../support/stores.ts'

it('starts workers from a program on the command line', async () => {
  const store = join(tempDir(), 'store')
  await Dataset.write(store, Float64Array.of(1, 2, 3))
  const code = `
    import { DataLoader, Dataset } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
    const loader = new DataLoader(await Dataset.open(${JSON.stringify(store)}), { batchSize: 4, workers: 2 })
    for await (const { step } of loader.take(3)) console.log(step)
    await loader.close()`
  const done = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', timeout: 30_000 })
  expect(done.stderr).toBe('')
  expect(done.stdout).toBe('0\n1\n2\n')
})
