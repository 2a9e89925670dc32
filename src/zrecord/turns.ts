// zrecord/: one writer at a time for each store within a process, whichever handle it uses.

const queues = new Map<string, Promise<unknown>>()

/** Runs `work` when all earlier work under `key` has ended. */
export function takeTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
  const before = queues.get(key) ?? Promise.resolve()
  const mine = before.then(work, work)
  queues.set(key, mine)
  const forget = () => {
    if (queues.get(key) === mine) queues.delete(key)
  }
  mine.then(forget, forget)
  return mine
}
