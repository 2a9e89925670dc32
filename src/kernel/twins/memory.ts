// kernel/: the kernel's functions in plain TypeScript, for tests and for engines without WebAssembly. This file: the
// memory as they see it.

/** Both views of one memory; an address is a byte position in either. */
export interface TwinMemory {
  readonly bytes: Uint8Array
  readonly view: DataView
}

/** The views of `buffer`. A shared memory that has grown needs new ones. */
export function twinMemory(buffer: ArrayBufferLike): TwinMemory {
  return { bytes: new Uint8Array(buffer), view: new DataView(buffer) }
}

/** memory.copy: like it, and unlike copyWithin, it throws when either area leaves the memory. */
export function move({ bytes }: TwinMemory, to: number, from: number, n: number): void {
  if (to + n > bytes.length || from + n > bytes.length) throw new RangeError('memory access out of bounds')
  bytes.copyWithin(to, from, from + n)
}
