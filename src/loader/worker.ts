// loader/: the worker's side of crew.ts: claims steps and fills whole batches until it is told to stop.

import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import { SharedView } from '../storage/residence.ts'
import { type CrewData, type CrewField, type CrewMessage, packError } from './crew-plan.ts'
import { FieldFiller } from './filler.ts'
import { Ring, SLOT_FAILED, SLOT_FILLED } from './ring.ts'

const data = workerData as CrewData
const { port } = data
const ring = new Ring(data.slots, data.ring)
/** Buffers that the consumer gave back, by size. */
const spare = new Map<number, ArrayBuffer[]>()
const indexLists = data.indexSlots.map((address) => new SharedView(data.indices, address, 8 * data.batchSize))

interface Station {
  readonly field: CrewField
  readonly filler: FieldFiller
  readonly slots: readonly SharedView[]
}

function station(field: CrewField): Station {
  const memory = field.plan.parts[0]!.state.memory
  const bytes = data.batchSize * field.plan.sampleBytes
  const slots = field.slots.map((address) => new SharedView(memory, address, bytes))
  return { field, filler: new FieldFiller(field.plan), slots }
}

function collectSpare(): void {
  for (let got = receiveMessageOnPort(port); got !== undefined; got = receiveMessageOnPort(port)) {
    const buffer = got.message as ArrayBuffer
    const list = spare.get(buffer.byteLength)
    if (list === undefined) spare.set(buffer.byteLength, [buffer])
    else list.push(buffer)
  }
}

function fillSlot(stations: readonly Station[], ticket: number, slot: number): void {
  const indices = indexLists[slot]!.words
  const buffers: ArrayBuffer[] = []
  for (const { field, filler, slots } of stations) {
    if (field.handOver === 'slot') {
      filler.fill(indices, slots[slot]!.bytes)
      continue
    }
    if (buffers.length === 0) collectSpare()
    const bytes = data.batchSize * field.plan.sampleBytes
    const buffer = spare.get(bytes)?.pop() ?? Buffer.allocUnsafeSlow(bytes).buffer
    filler.fill(indices, new Uint8Array(buffer))
    buffers.push(buffer)
  }
  if (buffers.length > 0) port.postMessage({ ticket, buffers } satisfies CrewMessage, buffers)
}

function work(): void {
  let stations: readonly Station[] | undefined
  for (let ticket = ring.claim(); ticket !== undefined; ticket = ring.claim()) {
    const slot = ring.slotOf(ticket)
    try {
      stations ??= data.fields.map(station)
      fillSlot(stations, ticket, slot)
      ring.finish(slot, SLOT_FILLED, data.worker)
    } catch (error) {
      port.postMessage({ ticket, error: packError(error) } satisfies CrewMessage)
      ring.finish(slot, SLOT_FAILED, data.worker)
    }
  }
  for (const { filler } of stations ?? []) filler.close()
  port.close()
}

work()
