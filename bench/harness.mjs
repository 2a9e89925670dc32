// bench/: runs cases in turn, A B C A B C …, so that whatever the machine does meanwhile meets all of them alike, and
// sums up the repetitions.

/**
 * @typedef {object} Case
 * @property {string} group   cases of a group are compared with each other
 * @property {string} name
 * @property {boolean} ours   whether it is this package
 * @property {(batches: number) => Promise<{ seconds: number, cpu: number }>} run   measures itself, by its own clock
 */

/** Seconds that a repetition takes, about. */
const REPETITION = 0.15

/** Measures `cases`. Gives for each its batches a repetition and what every repetition took. */
export async function measure(cases, { repetitions, onTurn = () => {} }) {
  const batches = []
  for (const one of cases) {
    // The first calls compile, fault pages in and fill caches; the second says how long a batch takes.
    await one.run(64)
    const { seconds } = await one.run(64)
    batches.push(Math.max(8, Math.round((REPETITION / seconds) * 64)))
  }
  const runs = cases.map(() => [])
  for (let turn = -1; turn < repetitions; turn++) {
    for (const [i, one] of cases.entries()) {
      const run = await one.run(batches[i])
      if (turn >= 0) runs[i].push(run)
    }
    onTurn(turn + 1)
  }
  return cases.map(({ group, name, ours }, i) => ({ group, name, ours, batches: batches[i], runs: runs[i] }))
}

/** Median, smallest and largest of `values`. */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
  return { median, min: sorted[0], max: sorted.at(-1) }
}

/** Times `body` in this process: wall seconds and processor seconds of all its threads. */
export async function timed(body) {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await body()
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return { seconds, cpu: (user + system) / 1e6 }
}
