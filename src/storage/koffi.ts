// storage/: calls of the C library through koffi's prebuilt platform package, which is optional.
// Everything that uses it has another way for systems where this gives null.

import { createRequire } from 'node:module'

/** What this package uses of koffi. */
export interface Koffi {
  /** The C library; `func` makes a function of its declaration in C. */
  load(library: null): { func<F>(declaration: string): F }
  /** `errno` of the last call. */
  errno(): number
  readonly os: { readonly errno: Readonly<Record<string, number>> }
}

let loaded: Koffi | null | undefined

/** koffi, or null on Windows, where its package is missing, or with LOADERX_NO_KOFFI=1. */
export function koffi(): Koffi | null {
  if (loaded === undefined) loaded = load()
  return loaded
}

function load(): Koffi | null {
  if (process.platform === 'win32' || process.env['LOADERX_NO_KOFFI'] === '1') return null
  try {
    return createRequire(import.meta.url)(`@koromix/koffi-${process.platform}-${process.arch}`) as Koffi
  } catch {
    return null
  }
}
