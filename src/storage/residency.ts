// storage/: the choice of where a store's bytes live while it is open.

import { LoaderxError } from '../errors.ts'
import { fileMapper, isRemote, type Mapper } from './mapping.ts'

/**
 * Where a store's bytes live while it is open: read into shared memory, mapped over shared memory, or left in the
 * files and read by position. `auto` takes memory for small stores, else mapped where that is possible and safe, else
 * file.
 */
export type Residency = 'auto' | 'memory' | 'mapped' | 'file'

/** Largest store (record table and stored bytes) that `auto` reads into memory. */
export const AUTO_MEMORY_BYTES: number = 256 * 2 ** 20

/** A residency that has been decided, with the mapper where it is needed. */
export type ChosenResidency =
  | { readonly kind: 'memory' | 'file' }
  | { readonly kind: 'mapped'; readonly mapper: Mapper }

/**
 * Decides for the directory `path` whose live bytes and table together have `bytes` bytes.
 * @throws LOADERX_INVALID_ARGUMENT, LOADERX_RESIDENCY_UNAVAILABLE when `mapped` is asked for and cannot be had
 */
export function chooseResidency(asked: Residency, bytes: number, path: string): ChosenResidency {
  switch (asked) {
    case 'memory':
    case 'file':
      return { kind: asked }
    case 'mapped': {
      const mapper = fileMapper()
      if (mapper !== null) return { kind: 'mapped', mapper }
      throw new LoaderxError(
        'LOADERX_RESIDENCY_UNAVAILABLE',
        `${path} cannot be mapped: the optional package @koromix/koffi-${process.platform}-${process.arch} is not installed or does not work here; install it, or open with residency: 'auto'`,
        { path },
      )
    }
    case 'auto': {
      if (bytes <= AUTO_MEMORY_BYTES) return { kind: 'memory' }
      const mapper = isRemote(path) ? null : fileMapper()
      return mapper === null ? { kind: 'file' } : { kind: 'mapped', mapper }
    }
    default:
      throw new LoaderxError(
        'LOADERX_INVALID_ARGUMENT',
        `residency is ${JSON.stringify(asked)}; use 'auto', 'memory', 'mapped' or 'file'`,
        { actual: asked },
      )
  }
}
