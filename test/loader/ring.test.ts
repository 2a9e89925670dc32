// The words that loader and workers share: every ticket is claimed once, whoever wakes, also where numbers wrap around.
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Ring, SLOT_EMPTY, SLOT_FAILED, SLOT_FILLED, SLOT_WANTED } from '#dist/loader/ring.js'

const ringFile = new URL('../../dist/loader/ring.js', import.meta.url).href

/** A thread that claims slots until the ring stops, and reports each as filled by it. Gives how many it claimed. */
function claimer(ring: Ring, worker: number): Promise<number> {
  const code = `
    const { parentPort, workerData } = require('node:worker_threads')
    import(${JSON.stringify(ringFile)}).then(({ Ring, SLOT_FILLED }) => {
      const ring = new Ring(workerData.slots, workerData.memory)
      let count = 0
      for (let slot = ring.claim(); slot !== undefined; slot = ring.claim()) {
        count++
        ring.finish(slot, SLOT_FILLED, workerData.worker)
      }
      parentPort.postMessage(count)
    })`
  const workerData = { slots: ring.slots, memory: ring.words.buffer, worker }
  const thread = new Worker(code, { eval: true, workerData })
  return new Promise((resolve, reject) => {
    thread.on('error', reject)
    thread.on('message', resolve)
  })
}

/** Moves both counters, as if that many steps had been done. */
function startAt(ring: Ring, ticket: number): void {
  ring.words[0] = ticket
  ring.words[1] = ticket
}

test('tickets are claimed in order, each once, also beyond 2^31 and 2^32', () => {
  const starts = fc.oneof(fc.constantFrom(0, 2 ** 31 - 3, 2 ** 32 - 3), fc.nat(2 ** 32 - 1))
  fc.assert(
    fc.property(fc.constantFrom(1, 2, 8), starts, fc.array(fc.integer({ min: 1, max: 8 })), (slots, start, counts) => {
      const ring = new Ring(slots)
      startAt(ring, start)
      let ticket = start
      for (const count of counts) {
        ring.publish(count)
        for (let i = 0; i < count; i++) expect(ring.claim()).toBe(ticket++ % slots)
      }
      ring.stop()
      expect(ring.claim()).toBeUndefined()
    }),
  )
})

test('a stop leaves no slot wanted and gives out no ticket that was published before', () => {
  const ring = new Ring(4)
  ring.want(0, 3)
  ring.want(1, 2)
  ring.finish(0, SLOT_FILLED, 5)
  ring.publish(2)
  ring.stop()
  expect([0, 1, 2].map((slot) => ring.state(slot))).toEqual([SLOT_FILLED, SLOT_FAILED, SLOT_EMPTY])
  expect([ring.worker(0), ring.place(0), ring.place(1)]).toEqual([5, 3, 2])
  expect([ring.stopped, ring.claim()]).toEqual([true, undefined])
})

// With a ticket for each waiting worker, the one that a single publish wakes need not be the one whose ticket it is.
test.each([1, 4])(
  'several idle workers: %d tickets at a time are taken, each once, thousands of times',
  async (burst) => {
    const ring = new Ring(8)
    const start = 2 ** 31 - 6000
    startAt(ring, start)
    const threads = [0, 1, 2, 3].map((worker) => claimer(ring, worker))
    const counts = [0, 0, 0, 0]
    for (let ticket = start; ticket < start + 12_000; ticket += burst) {
      const slots = Array.from({ length: burst }, (_, i) => ring.slotOf(ticket + i))
      for (const slot of slots) ring.want(slot, 0)
      ring.publish(burst)
      for (const slot of slots) {
        for (let waits = 0; ring.state(slot) === SLOT_WANTED; waits++) {
          Atomics.wait(ring.words, ring.stateIndex(slot), SLOT_WANTED, 1000)
          if (waits > 30) throw new Error(`ticket ${ticket} was never taken`)
        }
        expect(ring.state(slot)).toBe(SLOT_FILLED)
        const worker = ring.worker(slot)
        counts[worker] = counts[worker]! + 1
        ring.empty(slot)
      }
    }
    ring.stop()
    expect(await Promise.all(threads)).toEqual(counts)
    expect(counts.reduce((sum, count) => sum + count)).toBe(12_000)
  },
)
