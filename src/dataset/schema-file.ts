// dataset/: schema.json on the disk: read with a bound, written so that it is there whole or not at all.

import { join } from 'node:path'
import { LoaderxError } from '../errors.ts'
import { MAX_RECORD_BYTES, SCHEMA_NAME } from '../format/limits.ts'
import { decodeSchema, encodeSchema, MAX_SCHEMA_BYTES, type Schema, shapeProduct } from '../format/schema.ts'
import type { StoreDirectory } from '../storage/files.ts'
import { type DTypeInfo, dtypeInfo } from './dtype.ts'

/** A schema with what follows from it. */
export interface SampleSchema extends Schema {
  readonly info: DTypeInfo
  /** Bytes of one sample. */
  readonly sampleBytes: number
}

/**
 * Reads the schema of the store in `directory`; undefined when it has none.
 * @throws LOADERX_INVALID_SCHEMA, LOADERX_NEWER_VERSION, LOADERX_UNSUPPORTED_DTYPE, LOADERX_IO
 */
export function readSchema(directory: StoreDirectory): SampleSchema | undefined {
  if (directory.look(SCHEMA_NAME) === undefined) return undefined
  const file = directory.open(SCHEMA_NAME, 'read')
  let schema: Schema
  try {
    const bytes = new Uint8Array(Math.min(file.size(), MAX_SCHEMA_BYTES + 1))
    file.readSync(bytes, 0)
    schema = decodeSchema(bytes, file.path)
  } finally {
    file.close()
  }
  const info = dtypeInfo(schema.dtype, join(directory.path, SCHEMA_NAME))
  const sampleBytes = shapeProduct(schema.shape)! * info.itemBytes
  if (sampleBytes <= MAX_RECORD_BYTES) return { ...schema, info, sampleBytes }
  throw new LoaderxError(
    'LOADERX_INVALID_SCHEMA',
    `${file.path} describes samples of ${sampleBytes} bytes, more than a record's limit of ${MAX_RECORD_BYTES}; restore it from a copy`,
    { path: file.path, expected: MAX_RECORD_BYTES, actual: sampleBytes },
  )
}

/** Writes the schema of the store in `directory`, by a rename. @throws LOADERX_IO */
export async function writeSchema(directory: StoreDirectory, schema: Schema): Promise<void> {
  const unfinished = `${SCHEMA_NAME}.new`
  if (directory.look(unfinished) !== undefined) await directory.remove(unfinished)
  const file = directory.open(unfinished, 'create')
  try {
    await file.write(new TextEncoder().encode(encodeSchema(schema)), 0)
    file.close()
    await directory.rename(unfinished, SCHEMA_NAME)
  } catch (error) {
    file.close()
    await directory.remove(unfinished).catch(() => {})
    throw error
  }
}

/** `float32 [3, 28, 28]`, for messages. */
export function describeSamples(dtype: string, shape: readonly number[]): string {
  return `${dtype} [${shape.join(', ')}]`
}
