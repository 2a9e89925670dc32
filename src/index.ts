// The Node entry: documented re-exports, nothing else.

export type { LoaderxErrorCode, LoaderxErrorDetails } from './errors.ts'
export { isLoaderxError, LoaderxError } from './errors.ts'
