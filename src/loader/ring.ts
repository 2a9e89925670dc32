// loader/: the words that the loader and its workers share. Steps that are wanted are numbered by tickets; a worker
// claims the next ticket that is out, fills the batch of the slot that belongs to it, and marks the slot.

/** What a slot is doing. */
export const SLOT_EMPTY = 0
export const SLOT_WANTED = 1
export const SLOT_FILLED = 2
export const SLOT_FAILED = 3

const PUBLISHED = 0
const CLAIMED = 1
const STOPPED = 2
const STARTED = 3
const HEADER_WORDS = 16
/** Slots on cache lines of their own, so that threads do not disturb each other. */
const SLOT_WORDS = 16
/** Of a slot's words. */
const WORKER = 1
const PLACE = 2

/** View of the shared words. `slots` is a power of two, so that ticket numbers may wrap around at 2^32. */
export class Ring {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly slots: number

  constructor(slots: number, memory: SharedArrayBuffer = new SharedArrayBuffer(ringBytes(slots))) {
    this.slots = slots
    this.words = new Int32Array(memory)
  }

  slotOf(ticket: number): number {
    return (ticket >>> 0) % this.slots
  }

  /** Index of a slot's state among the words. */
  stateIndex(slot: number): number {
    return HEADER_WORDS + slot * SLOT_WORDS
  }

  state(slot: number): number {
    return Atomics.load(this.words, this.stateIndex(slot))
  }

  /** The worker that filled, or failed to fill, the slot. */
  worker(slot: number): number {
    return this.words[this.stateIndex(slot) + WORKER]!
  }

  /** Number of the place that the slot's batch is to be filled in. */
  place(slot: number): number {
    return this.words[this.stateIndex(slot) + PLACE]!
  }

  /** Marks the slot as wanted; workers see it when its ticket is published. */
  want(slot: number, place: number): void {
    this.words[this.stateIndex(slot) + PLACE] = place
    Atomics.store(this.words, this.stateIndex(slot), SLOT_WANTED)
  }

  /** Marks the slot as free for another step. */
  empty(slot: number): void {
    Atomics.store(this.words, this.stateIndex(slot), SLOT_EMPTY)
  }

  /** Says that a worker is there. */
  start(): void {
    Atomics.store(this.words, STARTED, 1)
  }

  get started(): boolean {
    return Atomics.load(this.words, STARTED) === 1
  }

  /** Makes `count` more tickets available and wakes as many workers. */
  publish(count: number): void {
    Atomics.add(this.words, PUBLISHED, count)
    Atomics.notify(this.words, PUBLISHED, count)
  }

  /** Marks the slot as done and wakes the consumer. */
  finish(slot: number, state: number, worker: number): void {
    this.words[this.stateIndex(slot) + WORKER] = worker
    Atomics.store(this.words, this.stateIndex(slot), state)
    Atomics.notify(this.words, this.stateIndex(slot))
  }

  /**
   * Waits for a ticket and claims it. Returns its slot, or undefined when the loader stops. No worker waits for a ticket
   * of its own: whichever is woken can take whichever is out.
   */
  claim(): number | undefined {
    for (;;) {
      // Read before the mark: `stop` changes it after the mark.
      const published = Atomics.load(this.words, PUBLISHED)
      if (this.stopped) return undefined
      const ticket = Atomics.load(this.words, CLAIMED)
      if (((published - ticket) | 0) <= 0) Atomics.wait(this.words, PUBLISHED, published)
      else if (Atomics.compareExchange(this.words, CLAIMED, ticket, ticket + 1) === ticket) return this.slotOf(ticket)
    }
  }

  /** Tells workers to end, and whoever waits for a slot to look again. */
  stop(): void {
    Atomics.store(this.words, STOPPED, 1)
    // The number changes so that a worker about to wait for it does not.
    Atomics.add(this.words, PUBLISHED, 1)
    Atomics.notify(this.words, PUBLISHED)
    for (let slot = 0; slot < this.slots; slot++) {
      Atomics.compareExchange(this.words, this.stateIndex(slot), SLOT_WANTED, SLOT_FAILED)
      Atomics.notify(this.words, this.stateIndex(slot))
    }
  }

  get stopped(): boolean {
    return Atomics.load(this.words, STOPPED) === 1
  }
}

function ringBytes(slots: number): number {
  return 4 * (HEADER_WORDS + slots * SLOT_WORDS)
}
