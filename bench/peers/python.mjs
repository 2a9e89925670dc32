// bench/: peers that are Python: peer.py in one process that stays; a request is a line, its answer too.

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export async function pythonPeer({ python, setup }) {
  const script = fileURLToPath(new URL('peer.py', import.meta.url))
  const child = spawn(python, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async (request) => {
    child.stdin.write(`${JSON.stringify(request)}\n`)
    const { value, done } = await lines.next()
    if (done) throw new Error(`the Python process ended at ${JSON.stringify(request)}`)
    return JSON.parse(value)
  }
  const { cases, versions } = await ask(setup)
  return {
    versions,
    cases: cases.map(({ group, name }, id) => ({
      group,
      name,
      ours: false,
      async check(batches, visit) {
        for (const { indices, bytes } of await ask({ id, check: batches })) visit(indices, Buffer.from(bytes, 'base64'))
      },
      run: (batches) => ask({ id, batches }),
    })),
    async close() {
      child.stdin.end()
      await new Promise((resolve) => child.once('close', resolve))
    },
  }
}
