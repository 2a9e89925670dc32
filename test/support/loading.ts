// Test support: small datasets to load from, what a loader must give, and a watch over the threads of this process.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { type BatchControls, type Codec, Dataset, isLoaderxError, type Residency, Zrecord } from 'loaderx'
import { encodeSchema } from '#dist/format/schema.js'
import { createSampler } from '#dist/sampler/create.js'
import { noise, runs } from './bytes.ts'

/** A dataset to be made: `rows` samples of NumPy's dtype string `descr`. */
export interface Recipe {
  readonly rows: number
  readonly descr: string
  readonly shape: readonly number[]
  readonly codec: Codec
  readonly seed?: number
}

const ITEM = /\d+$/

/** Makes the dataset at `path`: bytes that compress when the codec does, different in every row. */
export async function makeDataset(path: string, { rows, descr, shape, codec, seed = 1 }: Recipe): Promise<string> {
  const bytes = Number(ITEM.exec(descr)![0]) * shape.reduce((product, size) => product * size, 1)
  const store = await Zrecord.open(path, { create: true, codec })
  await store.append(codec === 'raw' ? noise(rows * bytes, seed) : runs(rows * bytes, seed), bytes)
  await store.close()
  writeFileSync(join(path, 'schema.json'), encodeSchema({ dtype: descr, shape, codec }))
  return path
}

/** Makes and opens the datasets, and joins them when there are several. */
export async function openDatasets(
  dir: string,
  recipes: readonly Recipe[],
  residency: Residency = 'auto',
): Promise<Dataset> {
  const datasets: Dataset[] = []
  for (const [i, recipe] of recipes.entries()) {
    const path = await makeDataset(join(dir, String(i)), { seed: i + 1, ...recipe })
    datasets.push(await Dataset.open(path, { residency }))
  }
  return datasets.length === 1 ? datasets[0]! : Dataset.concat(...datasets)
}

/** Any batch, by its fields. */
export type AnyBatch = BatchControls & Readonly<Record<string, Awaited<ReturnType<Dataset['gather']>>>>

/** Indices of `step` as the sampler of that name gives them. */
export function indicesOf(
  sampler: 'sequential' | 'random' | 'shuffle',
  options: { length: number; batchSize: number; seed: number | bigint },
  step: number,
): BigUint64Array {
  const into = new BigUint64Array(options.batchSize)
  createSampler(sampler, options).fill(step, into)
  return into
}

/** Bytes of an array, for comparing. */
export function bytesIn(array: { readonly data: ArrayBufferView }): Buffer {
  return Buffer.from(array.data.buffer, array.data.byteOffset, array.data.byteLength)
}

/** The error that `work` ends with, which must have a code. */
export async function failure(
  work: () => unknown,
): Promise<{ code: string; message: string; details: Record<string, unknown>; cause: unknown }> {
  try {
    await work()
  } catch (error) {
    if (!isLoaderxError(error)) throw error
    return { code: error.code, message: error.message, details: { ...error.details }, cause: error.cause }
  }
  throw new Error('no error')
}

/** The threads that are started from now on and have not ended. */
export function watchThreads(): Set<Worker> {
  const alive = new Set<Worker>()
  process.on('worker', (worker: Worker) => {
    alive.add(worker)
    worker.once('exit', () => alive.delete(worker))
  })
  return alive
}

/** Waits until `condition` holds, letting the event loop run. The test's timeout bounds it. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** All that `batches` gives. */
export async function collect<T>(batches: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const batch of batches) all.push(batch)
  return all
}
