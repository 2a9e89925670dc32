// The Node entry: documented re-exports, nothing else.

export { decodeStrings, float16ToNumber } from './dataset/bytes.ts'
export type { AnyTypedArray, DType, TypedArrayOf } from './dataset/dtype.ts'
export type { NDArray } from './dataset/ndarray.ts'
export { dtypeOf, ndarray } from './dataset/ndarray.ts'
export type { BlockOptions, RowInput, RowSource } from './dataset/source.ts'
export type { LoaderxErrorCode, LoaderxErrorDetails } from './errors.ts'
export { isLoaderxError, LoaderxError } from './errors.ts'
export { NpyFile, openNpy } from './formats/npy.ts'
