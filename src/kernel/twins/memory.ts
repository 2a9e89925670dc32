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
