// The Node entry: documented re-exports, nothing else.

export type { LoaderxErrorCode, LoaderxErrorDetails } from './errors.ts'
export { isLoaderxError, LoaderxError } from './errors.ts'
export type { Residency } from './storage/residency.ts'
export type { Indices } from './zrecord/indices.ts'
export type { Layout } from './zrecord/plan.ts'
export type { Bytes, RaggedLayout } from './zrecord/source.ts'
export type { Codec } from './zrecord/writer.ts'
export type { AppendOptions, ZrecordOptions } from './zrecord/zrecord.ts'
export { Zrecord } from './zrecord/zrecord.ts'
