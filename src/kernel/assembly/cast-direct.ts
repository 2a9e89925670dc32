// kernel/: casts that training uses most, in one loop each. `n` elements; the result is that of ./cast.

import { canonicalDouble, canonicalSingle } from './cast-blocks'

/** uint8 * scale + offset in float32. */
export function bytesToSingles(source: usize, target: usize, n: u32, scale: f32, offset: f32): i32 {
  let i: u32 = 0
  if (ASC_FEATURE_SIMD) {
    const scales = f32x4.splat(scale)
    const offsets = f32x4.splat(offset)
    for (; i + 16 <= n; i += 16) {
      const bytes = v128.load(source + i)
      const low = i16x8.extend_low_i8x16_u(bytes)
      const high = i16x8.extend_high_i8x16_u(bytes)
      const at = target + (<usize>i << 2)
      v128.store(at, scaleLanes(i32x4.extend_low_i16x8_u(low), scales, offsets))
      v128.store(at, scaleLanes(i32x4.extend_high_i16x8_u(low), scales, offsets), 16)
      v128.store(at, scaleLanes(i32x4.extend_low_i16x8_u(high), scales, offsets), 32)
      v128.store(at, scaleLanes(i32x4.extend_high_i16x8_u(high), scales, offsets), 48)
    }
  }
  for (; i < n; i++) {
    store<u32>(target + (<usize>i << 2), canonicalSingle(<f32>load<u8>(source + i) * scale + offset))
  }
  return -1
}

@inline
function scaleLanes(lanes: v128, scales: v128, offsets: v128): v128 {
  const values = f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(lanes), scales), offsets)
  return v128.bitselect(values, i32x4.splat(0x7fc00000), f32x4.eq(values, values))
}

/** uint8 * scale + offset in float64. */
export function bytesToDoubles(source: usize, target: usize, n: u32, scale: f64, offset: f64): i32 {
  for (let i: u32 = 0; i < n; i++) {
    store<u64>(target + (<usize>i << 3), canonicalDouble(<f64>load<u8>(source + i) * scale + offset))
  }
  return -1
}

export function doublesToSingles(source: usize, target: usize, n: u32): i32 {
  for (let i: u32 = 0; i < n; i++) {
    store<u32>(target + (<usize>i << 2), canonicalSingle(<f32>load<f64>(source + (<usize>i << 3))))
  }
  return -1
}

export function longsToInts(source: usize, target: usize, n: u32): i32 {
  for (let i: u32 = 0; i < n; i++) {
    const value = load<i64>(source + (<usize>i << 3))
    if (value != <i64>(<i32>value)) return i
    store<i32>(target + (<usize>i << 2), <i32>value)
  }
  return -1
}
