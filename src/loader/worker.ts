// loader/: the worker's side of crew.ts: claims steps and fills whole batches until it is told to stop.

import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import { SharedView } from '../storage/residence.ts'
import { BufferPool } from './buffers.ts'
import { type CrewData, type CrewField, type CrewMessage, packError } from './crew-plan.ts'
import { FieldFiller } from './filler.ts'
import { Ring, SLOT_FAILED, SLOT_FILLED } from './ring.ts'

const data = workerData as CrewData
const { port } = data
const ring = new Ring(data.indexSlots.length, data.ring)
/** Buffers that the consumer gave back. */
const spare = new BufferPool()
const indexLists = data.indexSlots.map((address) => new SharedView(data.indices, address, 8 * data.batchSize))

interface Station {
  readonly field: CrewField
  readonly filler: FieldFiller
  readonly places: readonly SharedView[]
}

function station(field: CrewField): Station {
  const memory = field.plan.parts[0]!.state.memory
  const bytes = data.batchSize * field.plan.sampleBytes
  const places = field.places.map((address) => new SharedView(memory, address, bytes))
  return { field, filler: new FieldFiller(field.plan), places }
}

function collectSpare(): void {
  for (let got = receiveMessageOnPort(port); got !== undefined; got = receiveMessageOnPort(port)) {
    spare.keep(got.message as ArrayBuffer)
  }
}

function fillSlot(stations: readonly Station[], slot: number): void {
  const indices = indexLists[slot]!.words
  const place = ring.place(slot)
  const buffers: ArrayBuffer[] = []
  for (const { field, filler, places } of stations) {
    if (field.handOver === 'place') {
      filler.fill(indices, places[place]!.bytes)
      continue
    }
    if (buffers.length === 0) collectSpare()
    const buffer = spare.get(data.batchSize * field.plan.sampleBytes)
    filler.fill(indices, new Uint8Array(buffer))
    buffers.push(buffer)
  }
  if (buffers.length > 0) port.postMessage({ slot, buffers } satisfies CrewMessage, buffers)
}

function work(): void {
  let stations: readonly Station[] | undefined
  ring.start()
  for (let slot = ring.claim(); slot !== undefined; slot = ring.claim()) {
    try {
      stations ??= data.fields.map(station)
      fillSlot(stations, slot)
      ring.finish(slot, SLOT_FILLED, data.worker)
    } catch (error) {
      port.postMessage({ slot, error: packError(error) } satisfies CrewMessage)
      ring.finish(slot, SLOT_FAILED, data.worker)
    }
  }
  for (const { filler } of stations ?? []) filler.close()
  port.close()
}

work()
