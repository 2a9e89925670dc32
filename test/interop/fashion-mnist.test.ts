// Interop on real data: the 60,000 training images of Fashion-MNIST, from their .npy to a store and back, sample by
// sample, by us and by the original.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { Dataset, openNpy } from 'loaderx'
import { beforeAll, expect, it } from 'vitest'
import { writeNpy } from '../support/bytes.ts'
import { needs, parts } from '../support/parts.ts'
import { checkInterop } from '../support/reference.ts'
import { tempDir } from '../support/stores.ts'

const COUNT = 60_000
const BYTES = 28 * 28

needs('fashionMnist').describe('Fashion-MNIST', () => {
  let dir: string
  let images: Uint8Array
  let labels: Uint8Array
  beforeAll(async () => {
    dir = tempDir()
    images = gunzipSync(readFileSync(join(parts.fashionMnist!, 'train-images-idx3-ubyte.gz'))).subarray(16)
    labels = gunzipSync(readFileSync(join(parts.fashionMnist!, 'train-labels-idx1-ubyte.gz'))).subarray(8)
    writeNpy(join(dir, 'images.npy'), '|u1', [COUNT, 28, 28], images)
    writeNpy(join(dir, 'labels.npy'), '<i8', [COUNT], BigInt64Array.from(labels, BigInt))
    await Dataset.write(join(dir, 'images'), await openNpy(join(dir, 'images.npy')))
    await Dataset.write(join(dir, 'labels'), await openNpy(join(dir, 'labels.npy')))
  })

  it('is read back by us, sample by sample', async () => {
    const dataset = await Dataset.open(join(dir, 'images'))
    expect([dataset.length, dataset.dtype, dataset.shape]).toEqual([COUNT, 'uint8', [28, 28]])
    const wrong: number[] = []
    for (let i = 0; i < COUNT; i++) {
      const { data } = await dataset.at(i)
      if (Buffer.compare(data as Uint8Array, images.subarray(i * BYTES, (i + 1) * BYTES)) !== 0) wrong.push(i)
    }
    expect(wrong).toEqual([])
    await dataset.close()
  })

  it('is read back by us in batches, images and labels', async () => {
    const data = await Dataset.open(join(dir, 'images'))
    const label = await Dataset.open(join(dir, 'labels'))
    for (let start = 0; start < COUNT; start += 6000) {
      const indices = Uint32Array.from({ length: 6000 }, (_, i) => ((start + i) * 7919) % COUNT)
      const batch = (await data.gather(indices)).data as Uint8Array
      const wrong = indices.filter(
        (index, i) =>
          Buffer.compare(
            batch.subarray(i * BYTES, (i + 1) * BYTES),
            images.subarray(index * BYTES, (index + 1) * BYTES),
          ) !== 0,
      )
      expect([...wrong]).toEqual([])
      expect((await label.gather(indices)).data).toEqual(BigInt64Array.from(indices, (index) => BigInt(labels[index]!)))
    }
    await data.close()
    await label.close()
  })

  needs('python').it('is read by the original', async () => {
    await checkInterop(join(dir, 'images'), join(dir, 'images.npy'), '--codec', 'flate')
    await checkInterop(join(dir, 'labels'), join(dir, 'labels.npy'))
  })
})
