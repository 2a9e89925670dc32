// kernel/: the steps of a cast over one block: load, convert in place, check, store. `scratch` holds `n` 8-byte slots,
// integers ("longs") or float64 ("doubles").

import { doubleToHalf, halfToDouble } from './half'
import { F16, F32, I16, I32, I64, I8, U16, U32, U64, U8 } from './types'

// The bits of a NaN that WebAssembly computes are not fixed; ours are the same everywhere.
@inline
export function canonicalSingle(x: f32): u32 {
  return select<u32>(reinterpret<u32>(x), 0x7fc00000, x == x)
}

@inline
export function canonicalDouble(x: f64): u64 {
  return select<u64>(reinterpret<u64>(x), 0x7ff8000000000000, x == x)
}

@inline
function widen<T>(source: usize, scratch: usize, n: u32): void {
  for (let i: usize = 0; i < <usize>n; i++) store<i64>(scratch + (i << 3), <i64>load<T>(source + i * sizeof<T>()))
}

@inline
function narrow<T>(scratch: usize, target: usize, n: u32): void {
  for (let i: usize = 0; i < <usize>n; i++) store<T>(target + i * sizeof<T>(), <T>load<i64>(scratch + (i << 3)))
}

export function loadLongs(type: u32, source: usize, scratch: usize, n: u32): void {
  switch (type) {
    case I8: return widen<i8>(source, scratch, n)
    case U8: return widen<u8>(source, scratch, n)
    case I16: return widen<i16>(source, scratch, n)
    case U16: return widen<u16>(source, scratch, n)
    case I32: return widen<i32>(source, scratch, n)
    case U32: return widen<u32>(source, scratch, n)
    default: memory.copy(scratch, source, <usize>n << 3)
  }
}

export function storeLongs(type: u32, scratch: usize, target: usize, n: u32): void {
  switch (type >> 1) {
    case 0: return narrow<i8>(scratch, target, n)
    case 1: return narrow<i16>(scratch, target, n)
    case 2: return narrow<i32>(scratch, target, n)
    default: memory.copy(target, scratch, <usize>n << 3)
  }
}

export function loadDoubles(type: u32, source: usize, scratch: usize, n: u32): void {
  if (type == F16) {
    for (let i: usize = 0; i < <usize>n; i++) {
      store<f64>(scratch + (i << 3), halfToDouble(load<u16>(source + (i << 1))))
    }
  } else if (type == F32) {
    for (let i: usize = 0; i < <usize>n; i++) store<f64>(scratch + (i << 3), <f64>load<f32>(source + (i << 2)))
  } else {
    memory.copy(scratch, source, <usize>n << 3)
  }
}

export function storeDoubles(type: u32, scratch: usize, target: usize, n: u32): void {
  if (type == F16) {
    for (let i: usize = 0; i < <usize>n; i++) {
      store<u16>(target + (i << 1), <u16>doubleToHalf(load<f64>(scratch + (i << 3))))
    }
  } else if (type == F32) {
    for (let i: usize = 0; i < <usize>n; i++) {
      store<u32>(target + (i << 2), canonicalSingle(<f32>load<f64>(scratch + (i << 3))))
    }
  } else {
    for (let i: usize = 0; i < <usize>n; i++) {
      store<u64>(target + (i << 3), canonicalDouble(load<f64>(scratch + (i << 3))))
    }
  }
}

/** Integers to float32 in one rounding, then * scale + offset in float32 (1 and 0 change nothing). */
export function longsToSingles(
  scratch: usize, target: usize, n: u32, unsigned: bool, scale: f32, offset: f32,
): void {
  for (let i: usize = 0; i < <usize>n; i++) {
    const value = load<i64>(scratch + (i << 3))
    const single = unsigned ? <f32>(<u64>value) : <f32>value
    store<u32>(target + (i << 2), canonicalSingle(single * scale + offset))
  }
}

export function longsToDoubles(scratch: usize, n: u32, unsigned: bool): void {
  for (let i: usize = 0; i < <usize>n; i++) {
    const value = load<i64>(scratch + (i << 3))
    store<f64>(scratch + (i << 3), unsigned ? <f64>(<u64>value) : <f64>value)
  }
}

/** Cuts toward zero; the doubles have passed doublesOutside. */
export function doublesToLongs(scratch: usize, n: u32, unsigned: bool): void {
  for (let i: usize = 0; i < <usize>n; i++) {
    const value = load<f64>(scratch + (i << 3))
    store<i64>(scratch + (i << 3), unsigned ? <i64>(<u64>value) : <i64>value)
  }
}

export function scaleDoubles(scratch: usize, n: u32, scale: f64, offset: f64): void {
  for (let i: usize = 0; i < <usize>n; i++) {
    store<f64>(scratch + (i << 3), load<f64>(scratch + (i << 3)) * scale + offset)
  }
}

/** The position of the first integer outside type `to`, else `n`. */
export function longsOutside(scratch: usize, n: u32, unsigned: bool, to: u32): u32 {
  let low = i64.MIN_VALUE
  let high = i64.MAX_VALUE
  if (to < I64) {
    const bits: u64 = 8 << (to >> 1)
    const signed = (to & 1) == 0
    high = (<i64>1 << (signed ? bits - 1 : bits)) - 1
    low = signed ? ~high : 0
  } else if (to == U64 && !unsigned) {
    low = 0
  }
  // A uint64 with its top bit set reads as a negative integer here; only uint64 can hold it.
  if (unsigned && to != U64) low = 0
  for (let i: usize = 0; i < <usize>n; i++) {
    const value = load<i64>(scratch + (i << 3))
    if (value < low || value > high) return <u32>i
  }
  return n
}

/** The position of the first double that is NaN or, cut toward zero, outside type `to`; else `n`. */
export function doublesOutside(scratch: usize, n: u32, to: u32): u32 {
  // Exclusive bounds. -2^63 - 1 is no float64: the next one below -2^63 stands in its place.
  const signed = (to & 1) == 0
  const bits: u64 = 8 << (to >> 1)
  const exponent = signed ? bits - 1 : bits
  const high = reinterpret<f64>((1023 + exponent) << 52)
  const low: f64 = !signed ? -1 : to == I64 ? -9223372036854777856.0 : -high - 1
  for (let i: usize = 0; i < <usize>n; i++) {
    const value = load<f64>(scratch + (i << 3))
    if (!(value > low && value < high)) return <u32>i
  }
  return n
}
