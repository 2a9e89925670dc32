// loader/: the datasets that a loader reads, held open and described as plain data.

import { Dataset, partsOf } from '../dataset/dataset.ts'
import type { AnyTypedArray, DType, DTypeInfo } from '../dataset/dtype.ts'
import type { NDArray } from '../dataset/ndarray.ts'
import type { Part } from '../dataset/parts.ts'
import { LoaderxError } from '../errors.ts'
import type { Arena } from '../storage/arena.ts'
import type { HeldStore } from '../zrecord/home.ts'
import { holdStore } from '../zrecord/zrecord.ts'
import { RESERVED_FIELDS } from './batch.ts'
import { inField } from './faults.ts'
import { type FieldPart, type FieldPlan, fillerScratch } from './filler.ts'
import type { Lease } from './lease.ts'

/** Datasets by field name. */
export type Fields = Readonly<Record<string, Dataset>>

/** One field of a loader. */
export class Field {
  readonly name: string
  readonly dtype: DType
  readonly sampleBytes: number
  /** Samples when the loader was made; later ones are not read. */
  readonly length: number
  readonly codec: 'raw' | 'flate'
  readonly held: readonly HeldStore[]
  readonly #dtypes: readonly DTypeInfo[]
  readonly #shape: readonly number[]
  readonly #starts: readonly number[]

  constructor(name: string, dataset: Dataset) {
    const parts = partsOf(dataset)
    const last = parts.at(-1)!
    this.name = name
    this.dtype = dataset.dtype
    this.sampleBytes = dataset.sampleBytes
    this.length = last.start + last.length
    this.codec = parts.some((part) => part.store.codec === 'flate') ? 'flate' : 'raw'
    this.#dtypes = parts.map((part) => part.dtype)
    this.#shape = dataset.shape
    this.#starts = [...parts.map((part) => part.start), this.length]
    this.held = holdAll(parts)
  }

  /** Where the field's batches are put together: the memory of its first part. */
  get memory(): WebAssembly.Memory {
    return this.held[0]!.state.memory
  }

  get arena(): Arena {
    return this.held[0]!.arena
  }

  /**
   * A plan for one reader, with scratch of its own from `lease`.
   * @param outside whether batches are filled in other memory than {@link memory}
   */
  plan(batchSize: number, lease: Lease, outside: boolean): FieldPlan {
    const scratchBytes = fillerScratch(batchSize, this.sampleBytes, outside && this.held.length === 1)
    const parts = this.held.map(({ state, arena }, i): FieldPart => {
      const { bigEndian, elementBytes } = this.#dtypes[i]!
      const swapWidth = bigEndian ? elementBytes : 1
      return { state, swapWidth, scratch: lease.allocate(arena, scratchBytes), scratchBytes }
    })
    return { name: this.name, sampleBytes: this.sampleBytes, parts, starts: this.#starts }
  }

  /** The array over the bytes of a batch. */
  array(batchSize: number, bytes: Uint8Array): NDArray {
    const { array, elementBytes } = this.#dtypes[0]!
    const elements = bytes.byteLength / elementBytes
    const data: AnyTypedArray = new array(bytes.buffer, bytes.byteOffset, elements)
    return { dtype: this.dtype, shape: [batchSize, ...this.#shape], data }
  }

  release(): void {
    for (const held of this.held) held.release()
  }
}

function holdAll(parts: readonly Part[]): HeldStore[] {
  const held: HeldStore[] = []
  try {
    for (const part of parts) held.push(holdStore(part.store))
  } catch (error) {
    for (const one of held) one.release()
    throw error
  }
  return held
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
      if (!(dataset instanceof Dataset)) {
        const message = `field ${JSON.stringify(name)} is not a dataset; open one with Dataset.open`
        throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { field: name })
      }
      try {
        fields.push(new Field(name, dataset))
      } catch (error) {
        throw inField(error, name)
      }
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
