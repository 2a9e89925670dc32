// dataset/: opens one store as a dataset: its schema, its records, and whether they belong together.

import { join, resolve } from 'node:path'
import { isLoaderxError, LoaderxError } from '../errors.ts'
import { SCHEMA_NAME } from '../format/limits.ts'
import { NodeDirectory } from '../storage/files.ts'
import type { ZrecordOptions } from '../zrecord/arguments.ts'
import { checkIsStore } from '../zrecord/files.ts'
import { Zrecord } from '../zrecord/zrecord.ts'
import { type DType, dtypeInfo } from './dtype.ts'
import type { Part } from './parts.ts'
import { readSchema, type SampleSchema } from './schema-file.ts'

/** The directory at `path`. @throws LOADERX_INVALID_ARGUMENT */
export function datasetDirectory(path: string): NodeDirectory {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return new NodeDirectory(resolve(path))
  const message = `the path of a dataset is ${JSON.stringify(path) ?? String(path)}; give the name of a directory`
  throw new LoaderxError('LOADERX_INVALID_ARGUMENT', message, { actual: path })
}

/** Opens the dataset at `path`. @throws as Dataset.open */
export async function openPart(
  path: string,
  options: Omit<ZrecordOptions, 'codec' | 'create'> & { readonly dtype?: DType },
): Promise<{ part: Part; schema: SampleSchema }> {
  const directory = datasetDirectory(path)
  checkIsStore(directory)
  const schema = readSchema(directory)
  if (schema === undefined) {
    throw new LoaderxError(
      'LOADERX_INVALID_SCHEMA',
      `${directory.path} has no ${SCHEMA_NAME}, so it is a store of plain records; open it with Zrecord.open`,
      { path: join(directory.path, SCHEMA_NAME) },
    )
  }
  const { info } = schema
  if (options.dtype !== undefined && dtypeInfo(options.dtype, 'options.dtype').name !== info.name) {
    throw new LoaderxError(
      'LOADERX_SCHEMA_MISMATCH',
      `${directory.path} has samples of ${info.name}, not of ${options.dtype} as options.dtype says`,
      { path: directory.path, expected: options.dtype, actual: info.name },
    )
  }
  const { dtype: _, ...opening } = options
  const store = await Zrecord.open(directory.path, { ...opening, codec: schema.codec, create: false })
  try {
    checkRecords(store, schema)
    return { part: { store, dtype: info, start: 0, length: store.length }, schema }
  } catch (error) {
    await store.close()
    throw error
  }
}

/**
 * Refuses a store whose first record is not one sample of `schema`. Further records are checked when they are read.
 * @throws LOADERX_SCHEMA_MISMATCH
 */
export function checkRecords(store: Zrecord, schema: SampleSchema): void {
  if (store.length === 0) return
  let actual: number
  try {
    actual = store.lengths([0])[0]!
  } catch (error) {
    // A damaged first entry must not hide the others.
    if (isLoaderxError(error, 'LOADERX_CORRUPT_RECORD')) return
    throw error
  }
  const expected = schema.sampleBytes
  if (actual === expected) return
  throw new LoaderxError(
    'LOADERX_SCHEMA_MISMATCH',
    `${store.path} has records of ${actual} bytes, but ${SCHEMA_NAME} describes samples of ${expected}: they do not belong together; restore ${SCHEMA_NAME} from a copy, or open the store with Zrecord.open`,
    { path: store.path, index: 0, expected, actual },
  )
}
