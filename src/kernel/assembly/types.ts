// kernel/: the numbers of the element types and their sizes, as src/kernel/layout.ts names them.

export const I8: u32 = 0
export const U8: u32 = 1
export const I16: u32 = 2
export const U16: u32 = 3
export const I32: u32 = 4
export const U32: u32 = 5
export const I64: u32 = 6
export const U64: u32 = 7
export const F16: u32 = 8
export const F32: u32 = 9
export const F64: u32 = 10

/** Elements of a block: the scratch of a cast has 8 bytes for each. */
export const BLOCK: u32 = 512

export function sizeOf(type: u32): usize {
  return type < F16 ? 1 << (type >> 1) : 2 << (type - F16)
}
