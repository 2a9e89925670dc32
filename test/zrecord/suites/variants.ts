// Test support: the ways to open a store that every suite of this directory runs over.

import type { Zrecord, ZrecordOptions } from 'loaderx'
import { afterEach, expect } from 'vitest'
import { NodeDirectory } from '#dist/storage/files.js'
import { openStore } from '#dist/zrecord/zrecord.js'

/** One way to open a store. */
export interface Variant {
  readonly name: string
  readonly residency: 'memory' | 'mapped' | 'file'
  /** Opens the store; it is closed after the test. */
  open(path: string, options?: ZrecordOptions): Promise<Zrecord>
}

const opened: Zrecord[] = []

/** Registers the clean-up of the test file that calls it. */
export function closeAfterEach(): void {
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()))
  })
}

function makeVariant(residency: Variant['residency'], windowBytes: number | undefined): Variant {
  return {
    name: windowBytes === undefined ? residency : `${residency} in windows of ${windowBytes} bytes`,
    residency,
    async open(path, options = {}) {
      const windows = windowBytes === undefined ? {} : { windowBytes }
      const store = await openStore(new NodeDirectory(path), { residency, ...windows, ...options })
      opened.push(store)
      return store
    },
  }
}

/** Every residency, each with windows of full size and with small ones. */
export const variants: readonly Variant[] = (['memory', 'mapped', 'file'] as const).flatMap((residency) => [
  makeVariant(residency, undefined),
  makeVariant(residency, 65536),
])

/** A coded error, for toThrow and rejects.toThrow. */
export function coded(code: string, text = ''): Error {
  return expect.objectContaining({ code, message: expect.stringContaining(text) }) as Error
}
