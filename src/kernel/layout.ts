// kernel/: the numbers that callers of the kernel need: element types of a cast and the bytes of its scratch areas.
// src/kernel/assembly knows the same ones.

/** Element type of a cast; a bool is read as uint8. */
export type CastType =
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'float16'
  | 'float32'
  | 'float64'

/** The kernel's number of each element type. */
export const CAST_TYPES: Readonly<Record<CastType, number>> = {
  int8: 0,
  uint8: 1,
  int16: 2,
  uint16: 3,
  int32: 4,
  uint32: 5,
  int64: 6,
  uint64: 7,
  float16: 8,
  float32: 9,
  float64: 10,
}

/** Bytes of scratch that a cast needs. */
export const CAST_SCRATCH_BYTES = 4096
/** Bytes of the tables of CRC-32. */
export const CRC_TABLE_BYTES = 16384
/** Bytes of the state of the random stream: four u64 words, the last of them a counter. */
export const RANDOM_STATE_BYTES = 32
/** Bytes of scratch that the shuffle stream needs. */
export const SHUFFLE_KEY_BYTES = 384
