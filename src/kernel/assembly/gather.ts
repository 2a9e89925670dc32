// kernel/: checked batch gather. A batch is resolved first (every table entry checked and copied into a plan) and
// copied second, so a refused batch leaves its destination untouched and the copies never meet an unchecked length.

const ENTRY: usize = 16
const MAX_RECORD_BYTES: u32 = 1 << 20

/**
 * Checks the entries of `n` indices (u64 each) and copies them, 16 bytes each, to `plan`.
 * `limits` holds one u32 a chunk: the first byte that may not be read.
 * Returns -1, or the position of the first index that may not be followed.
 */
export function resolve(
  indices: usize, n: u32, table: usize, length: u32, limits: usize, chunks: u32,
  minLogic: u32, maxLogic: u32, plan: usize,
): i32 {
  for (let i: u32 = 0; i < n; i++) {
    const index = load<u64>(indices + (<usize>i << 3))
    if (index >= <u64>length) return i
    const entry = table + <usize>(<u32>index) * ENTRY
    const place = load<u64>(entry)
    const form = load<u64>(entry, 8)
    const offset = <u32>place
    const phys = <u32>(place >> 32)
    const logic = <u32>form
    const chunk = <u32>(form >> 32) & 0xffff
    const codec = <u32>(form >> 48) & 0xff
    if (codec > 1 || logic < minLogic || logic > maxLogic || phys - 1 >= MAX_RECORD_BYTES) return i
    if (codec == 0 && phys != logic) return i
    if (chunk >= chunks) return i
    if (<u64>offset + <u64>phys > <u64>load<u32>(limits + (<usize>chunk << 2))) return i
    const slot = plan + (<usize>i << 4)
    store<u64>(slot, place)
    store<u64>(slot, form, 8)
  }
  return -1
}

// The wrapper around memory.copy costs more than the bytes of a short record.
@inline
function copyBytes(to: usize, from: usize, bytes: u32): void {
  if (bytes == 8) {
    store<u64>(to, load<u64>(from))
  } else if (bytes > 64) {
    memory.copy(to, from, bytes)
  } else {
    while (bytes >= 8) {
      store<u64>(to, load<u64>(from))
      to += 8
      from += 8
      bytes -= 8
    }
    while (bytes > 0) {
      store<u8>(to, load<u8>(from))
      to++
      from++
      bytes--
    }
  }
}

/** Records that are touched together, and how much of each. */
const TOUCH_RECORDS: u32 = 64
const TOUCH_BYTES: u32 = 1024
const CACHE_LINE: usize = 64

// Records lie anywhere. Copied one after the other, each waits for memory by itself; a loop that only reads lets the
// processor wait for many at once. Beyond the first bytes of a record it sees by itself where the reading goes.
function touch(plan: usize, n: u32, base: usize): void {
  let seen: u32 = 0
  for (let i: u32 = 0; i < n; i++) {
    const slot = plan + (<usize>i << 4)
    const from = base + load<u32>(slot)
    const end = from + min(load<u32>(slot, 4), TOUCH_BYTES)
    for (let at = from; at < end; at += CACHE_LINE) seen |= load<u8>(at)
  }
  // Never so, but it keeps the reads from being left out as useless.
  if (seen > 255) unreachable()
}

/**
 * Copies the raw records of a resolved plan to `dst + i * stride`; `base` is the address of the chunk's byte 0.
 * Returns how many records are deflated; they are left to the caller.
 */
export function copyFixed(plan: usize, n: u32, base: usize, dst: usize, stride: u32): u32 {
  let deflated: u32 = 0
  for (let i: u32 = 0; i < n; i++) {
    const slot = plan + (<usize>i << 4)
    if (i % TOUCH_RECORDS == 0) touch(slot, min(n - i, TOUCH_RECORDS), base)
    if (load<u8>(slot, 14) == 0) {
      copyBytes(dst, base + load<u32>(slot), load<u32>(slot, 4))
    } else {
      deflated++
    }
    dst += stride
  }
  return deflated
}

/** As copyFixed, to `dst + offsets[i]` (u32 each). */
export function copyOffsets(plan: usize, n: u32, base: usize, dst: usize, offsets: usize): u32 {
  let deflated: u32 = 0
  for (let i: u32 = 0; i < n; i++) {
    const slot = plan + (<usize>i << 4)
    if (i % TOUCH_RECORDS == 0) touch(slot, min(n - i, TOUCH_RECORDS), base)
    if (load<u8>(slot, 14) == 0) {
      copyBytes(dst + load<u32>(offsets + (<usize>i << 2)), base + load<u32>(slot), load<u32>(slot, 4))
    } else {
      deflated++
    }
  }
  return deflated
}
