// loader/: the words that the loader and its workers share. Steps that are wanted are numbered by tickets; a worker
// claims the next ticket, fills the slot that belongs to it, and marks the slot.

/** What a slot is doing. */
export const SLOT_EMPTY = 0
export const SLOT_WANTED = 1
export const SLOT_FILLED = 2
export const SLOT_FAILED = 3

const PUBLISHED = 0
const CLAIMED = 1
const STOPPED = 2
const HEADER_WORDS = 16
/** Slots on cache lines of their own, so that threads do not disturb each other. */
const SLOT_WORDS = 16

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
    return this.words[this.stateIndex(slot) + 1]!
  }

  setState(slot: number, state: number): void {
    Atomics.store(this.words, this.stateIndex(slot), state)
  }

  /** Makes `count` more tickets available and wakes workers for them. */
  publish(count: number): void {
    Atomics.add(this.words, PUBLISHED, count)
    Atomics.notify(this.words, PUBLISHED, count)
  }

  /** Marks the slot as done and wakes the consumer. */
  finish(slot: number, state: number, worker: number): void {
    this.words[this.stateIndex(slot) + 1] = worker
    this.setState(slot, state)
    Atomics.notify(this.words, this.stateIndex(slot))
  }

  /** Claims the next ticket and waits until it is published. Returns undefined when the loader stops. */
  claim(): number | undefined {
    const ticket = Atomics.add(this.words, CLAIMED, 1)
    for (;;) {
      if (Atomics.load(this.words, STOPPED) === 1) return undefined
      const published = Atomics.load(this.words, PUBLISHED)
      if (((published - ticket) | 0) > 0) return ticket
      Atomics.wait(this.words, PUBLISHED, published)
    }
  }

  /** Tells workers to end, and whoever waits for a slot to look again. */
  stop(): void {
    Atomics.store(this.words, STOPPED, 1)
    // The number changes so that a worker about to wait for it does not.
    Atomics.add(this.words, PUBLISHED, 0x40000000)
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
