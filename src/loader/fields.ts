// loader/: the datasets that a loader reads, held open and described as plain data.

import type { Dataset } from '../dataset/dataset.ts'
import { storeOf } from '../dataset/dataset.ts'
import { type AnyTypedArray, type DType, type DTypeInfo, dtypeInfo } from '../dataset/dtype.ts'
import type { NDArray } from '../dataset/ndarray.ts'
import { LoaderxError } from '../errors.ts'
import { type HeldStore, holdStore } from '../zrecord/zrecord.ts'
import { RESERVED_FIELDS } from './batch.ts'
import { type FieldPart, type FieldPlan, fillerScratch } from './filler.ts'

/** What may be a field: a dataset, or several read as one. */
export type FieldDataset<D extends DType = DType> = Pick<Dataset<D>, 'dtype' | 'shape' | 'length' | 'parts'>

/** Datasets by field name. */
export type Fields = Readonly<Record<string, FieldDataset>>

/** One field of a loader. */
export class Field {
  readonly name: string
  readonly dtype: DType
  readonly sampleBytes: number
  /** Samples when the loader was made; later ones are not read. */
  readonly length: number
  readonly codec: 'raw' | 'flate'
  readonly held: readonly HeldStore[]
  readonly #info: DTypeInfo
  readonly #shape: readonly number[]
  readonly #starts: readonly number[]

  constructor(name: string, dataset: FieldDataset) {
    this.name = name
    const stores = dataset.parts.map(storeOf)
    const info = dtypeInfo(dataset.parts[0]!.descr)
    this.#info = info
    this.dtype = dataset.dtype
    this.#shape = dataset.shape
    this.sampleBytes = dataset.shape.reduce((bytes, dimension) => bytes * dimension, info.itemBytes)
    this.codec = dataset.parts.some((part) => part.codec === 'flate') ? 'flate' : 'raw'
    this.held = stores.map(holdStore)
    const starts = [0]
    for (const { state } of this.held) starts.push(starts.at(-1)! + state.length)
    this.#starts = starts
    this.length = starts.at(-1)!
  }

  /** A plan for one reader, with scratch of its own. `scratch` collects what was taken, to give it back. */
  plan(batchSize: number, scratch: (() => void)[]): FieldPlan {
    const scratchBytes = fillerScratch(batchSize, this.sampleBytes, this.held.length)
    const parts = this.held.map(({ state, arena }): FieldPart => {
      const address = arena.allocate(scratchBytes)
      scratch.push(() => arena.release(address))
      return { state, scratch: address, scratchBytes }
    })
    const swapWidth = this.#info.bigEndian ? this.#info.elementBytes : 1
    return { name: this.name, sampleBytes: this.sampleBytes, swapWidth, parts, starts: this.#starts }
  }

  /** The array over the bytes of a batch. */
  array(batchSize: number, bytes: Uint8Array): NDArray {
    const { array, itemBytes, itemElements } = this.#info
    const elements = (bytes.byteLength / itemBytes) * itemElements
    const data: AnyTypedArray = new array(bytes.buffer, bytes.byteOffset, elements)
    return { dtype: this.dtype, shape: [batchSize, ...this.#shape], data }
  }

  release(): void {
    for (const held of this.held) held.release()
  }
}

/**
 * Opens the fields of a loader.
 * @throws LOADERX_INVALID_ARGUMENT, LOADERX_LENGTH_MISMATCH, LOADERX_EMPTY_DATASET, LOADERX_ALREADY_CLOSED
 */
export function openFields(datasets: Fields): Field[] {
  const names = Object.keys(datasets)
  if (names.length === 0) {
    throw new LoaderxError('LOADERX_INVALID_ARGUMENT', 'the loader has no fields; give it at least one dataset')
  }
  const fields: Field[] = []
  try {
    for (const name of names) {
      if (RESERVED_FIELDS.includes(name)) {
        const message = `a field cannot be named ${JSON.stringify(name)}: every batch has that already; choose another name`
        throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { field: name })
      }
      const dataset = datasets[name]
      if (!Array.isArray(dataset?.parts)) {
        const message = `field ${JSON.stringify(name)} is not a dataset; open one with Dataset.open`
        throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { field: name })
      }
      fields.push(new Field(name, dataset))
    }
    checkLengths(fields)
    return fields
  } catch (error) {
    for (const field of fields) field.release()
    throw error
  }
}

function checkLengths(fields: readonly Field[]): void {
  const first = fields[0]!
  const other = fields.find((field) => field.length !== first.length)
  if (other !== undefined) {
    throw new LoaderxError(
      'LOADERX_LENGTH_MISMATCH',
      `field ${JSON.stringify(first.name)} has ${first.length} samples, but field ${JSON.stringify(other.name)} has ${other.length}; every field needs one sample for each index`,
      { field: other.name, expected: first.length, actual: other.length },
    )
  }
  if (first.length === 0) {
    const message = `field ${JSON.stringify(first.name)} has no samples; append some before making a loader`
    throw new LoaderxError('LOADERX_EMPTY_DATASET', message, { field: first.name })
  }
}
