// loader/: the loader's side of its worker threads. Steps are requested in order, filled in any order, and taken in
// order. Idle workers never keep the process alive; they do so exactly while somebody waits for a step.

import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { LoaderxError } from '../errors.ts'
import { SharedView } from '../storage/residence.ts'
import { type CrewData, type CrewField, type CrewMessage, type CrewPlan, unpackError } from './crew-plan.ts'
import { Ring, SLOT_FILLED, SLOT_WANTED } from './ring.ts'

/** A step that workers have filled. */
export interface FilledStep {
  /** The place that was requested for it. */
  readonly place: number
  /** Buffers of the fields with hand-over `transfer`, in the order of the fields. */
  readonly buffers: readonly ArrayBuffer[]
  /** Worker that filled it. */
  readonly worker: number
}

interface Member {
  readonly thread: Worker
  readonly port: MessagePort
}

/** A wait in the calling thread looks up this often, and gives up after so long: on the first worker, on a batch. */
const LOOK_MS = 1000
const START_MS = 20_000
const GIVE_UP_MS = 10 * 60 * 1000
/** So long a worker has to end by itself. */
const GRACE_MS = 1000

/** The worker threads of one loader. */
export class Crew {
  readonly #ring: Ring
  readonly #members: Member[] = []
  readonly #exits: Promise<unknown>[] = []
  readonly #messages = new Map<number, CrewMessage>()
  readonly #indexLists: readonly SharedView[]
  #requested = 0
  #published = 0
  #taken = 0
  #lost: Error | undefined
  #ended = false

  /** @param fields the fields of each worker: each reads with scratch of its own */
  constructor(fields: readonly (readonly CrewField[])[], plan: CrewPlan) {
    const slots = plan.indexSlots.length
    this.#ring = new Ring(slots)
    this.#indexLists = plan.indexSlots.map((address) => new SharedView(plan.indices, address, 8 * plan.batchSize))
    const ring = this.#ring.words.buffer
    try {
      for (const [worker, own] of fields.entries()) this.#start({ ...plan, fields: own, worker, ring })
    } catch (error) {
      void this.stop()
      throw error
    }
  }

  #start(data: Omit<CrewData, 'port'>): void {
    const { port1, port2 } = new MessageChannel()
    const thread = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: { ...data, port: port2 } satisfies CrewData,
      transferList: [port2],
      name: `loaderx ${data.worker}`,
      // Flags of the program can be wrong for a worker: --input-type is.
      execArgv: [],
    })
    thread.unref()
    port1.unref()
    this.#members.push({ thread, port: port1 })
    const lose = (cause: Error) => {
      if (this.#ended) return
      const message = `worker ${data.worker} of the loader ended: ${cause.message}; its batch is lost, and the loader starts other workers when it goes on`
      this.#lost ??= new LoaderxError('LOADERX_WORKER_FAILED', message, {}, { cause })
      this.#ring.stop()
    }
    thread.on('error', lose)
    this.#exits.push(
      new Promise((resolve) => {
        thread.on('exit', (code) => {
          lose(new Error(`exit code ${code}`))
          resolve(code)
        })
      }),
    )
  }

  /** Steps that are requested and not yet taken. */
  get underway(): number {
    return this.#requested - this.#taken
  }

  /**
   * Requests the next step; there must be fewer underway than slots. Workers see it after {@link publish}.
   * @param place number of the place that its batch is to be filled in
   * @param writeIndices writes its indices; when that throws, nothing is requested
   */
  request(place: number, writeIndices: (into: BigUint64Array) => void): void {
    const slot = this.#ring.slotOf(this.#requested)
    writeIndices(this.#indexLists[slot]!.words)
    this.#ring.want(slot, place)
    this.#requested++
  }

  /** Lets workers have what was requested since the last call. */
  publish(): void {
    const count = this.#requested - this.#published
    if (count === 0) return
    this.#published = this.#requested
    this.#ring.publish(count)
  }

  /** Whether the next step can be taken without waiting: nothing comes any more when a worker was lost. */
  get ready(): boolean {
    return this.#ring.stopped || this.#ring.state(this.#ring.slotOf(this.#taken)) !== SLOT_WANTED
  }

  /** Waits until the next step can be taken. */
  async wait(): Promise<void> {
    const index = this.#ring.stateIndex(this.#ring.slotOf(this.#taken))
    for (const { thread } of this.#members) thread.ref()
    try {
      while (!this.ready) {
        const waiting = Atomics.waitAsync(this.#ring.words, index, SLOT_WANTED)
        if (waiting.async) await waiting.value
      }
    } finally {
      for (const { thread } of this.#members) thread.unref()
    }
  }

  /** As {@link wait}, blocking the calling thread. @throws LOADERX_WORKER_FAILED when nothing comes for too long */
  waitSync(): void {
    const index = this.#ring.stateIndex(this.#ring.slotOf(this.#taken))
    for (let waited = 0; !this.ready; waited += LOOK_MS) {
      // What became of the threads is told by the event loop only, which stands still.
      if (waited >= (this.#ring.started ? GIVE_UP_MS : START_MS)) {
        const what = this.#ring.started ? 'filled the next batch' : 'started'
        const message = `no worker of the loader has ${what} in ${waited / 1000} s; iterate with for await to see why, or use workers: 0`
        throw new LoaderxError('LOADERX_WORKER_FAILED', message)
      }
      Atomics.wait(this.#ring.words, index, SLOT_WANTED, LOOK_MS)
    }
  }

  /** Takes the next step, which is ready. @throws what its worker threw, LOADERX_WORKER_FAILED */
  take(): FilledStep {
    if (this.#ended)
      throw new LoaderxError('LOADERX_ALREADY_CLOSED', 'the loader was stopped while a batch was awaited')
    const slot = this.#ring.slotOf(this.#taken)
    const state = this.#ring.state(slot)
    const worker = this.#ring.worker(slot)
    const message = this.#messageOf(slot, worker)
    if (state !== SLOT_FILLED) {
      throw message?.error === undefined ? this.#lost : unpackError(message.error)
    }
    const place = this.#ring.place(slot)
    this.#ring.empty(slot)
    this.#taken++
    return { place, buffers: message?.buffers ?? [], worker }
  }

  #messageOf(slot: number, worker: number): CrewMessage | undefined {
    const port = this.#members[worker]?.port
    for (let got = port && receiveMessageOnPort(port); port && got; got = receiveMessageOnPort(port)) {
      const message = got.message as CrewMessage
      this.#messages.set(message.slot, message)
    }
    const message = this.#messages.get(slot)
    this.#messages.delete(slot)
    return message
  }

  /** Gives a buffer that came with a taken step back to the worker that filled it. */
  giveBack(buffer: ArrayBuffer, worker: number): void {
    if (buffer.byteLength > 0) this.#members[worker]?.port.postMessage(buffer, [buffer])
  }

  /** Ends all workers. Whoever waits for a step gets an error. */
  async stop(): Promise<void> {
    this.#ended = true
    this.#ring.stop()
    for (const { port } of this.#members) port.close()
    // Workers end by themselves. One that is in the middle of a long batch does not look at the ring, but one that is
    // terminated while it starts leaves the files open that it was reading. The timer also keeps the process alive.
    const timer = setTimeout(() => {
      for (const { thread } of this.#members) void thread.terminate()
    }, GRACE_MS)
    await Promise.all(this.#exits)
    clearTimeout(timer)
  }
}
