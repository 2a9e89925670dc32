// Interop: the same seed gives the same batches as the original's loader with one worker.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DataLoader, Dataset, openNpy } from 'loaderx'
import { beforeAll, expect, it } from 'vitest'
import { needs } from '../support/parts.ts'
import { referenceBatches } from '../support/reference.ts'
import { tempDir } from '../support/stores.ts'

const source = fileURLToPath(new URL('../../data/', import.meta.url))

needs('python').describe('the same seed gives the same batches as the original', () => {
  let images: string
  let labels: string
  beforeAll(async () => {
    const dir = tempDir()
    images = join(dir, 'images')
    labels = join(dir, 'labels')
    await Dataset.write(images, await openNpy(`${source}digits.npy`))
    await Dataset.write(labels, await openNpy(`${source}digits-labels.npy`))
  })

  const cases = [
    { mode: 'random', seed: 42, batchSize: 256, count: 500, workers: [0, 2] },
    { mode: 'random', seed: 2n ** 64n - 1n, batchSize: 7, count: 50, workers: [1] },
    { mode: 'random', seed: 0, batchSize: 4000, count: 10, workers: [0] },
    { mode: 'sequential', seed: 42, batchSize: 100, count: 100, workers: [0, 2] },
  ] as const

  for (const { mode, seed, batchSize, count, workers } of cases) {
    it(`${mode}, seed ${seed}, ${count} batches of ${batchSize}, ${workers.join(' and ')} workers`, async () => {
      const expected = await referenceBatches(images, labels, { count, batchSize, mode, seed })
      expect(new Set(expected).size).toBeGreaterThan(1)
      for (const number of workers) {
        expect(await ourBatches({ mode, seed, batchSize, count, workers: number }), `${number} workers`).toEqual(
          expected,
        )
      }
    })
  }

  async function ourBatches(options: {
    mode: 'random' | 'sequential'
    seed: number | bigint
    batchSize: number
    count: number
    workers: number
  }): Promise<string[]> {
    const { mode, seed, batchSize, count, workers } = options
    const data = await Dataset.open(images)
    const label = await Dataset.open(labels)
    const loader = new DataLoader(data, label, { batchSize, seed, workers, sampler: mode })
    const hashes: string[] = []
    for await (const batch of loader.take(count)) {
      expect(batch.data.shape).toEqual([batchSize, 8, 8])
      expect(batch.label.shape).toEqual([batchSize])
      hashes.push(createHash('sha256').update(bytesOf(batch.data.data)).update(bytesOf(batch.label.data)).digest('hex'))
    }
    await loader.close()
    await data.close()
    await label.close()
    return hashes
  }
})

function bytesOf(array: ArrayBufferView): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
}
