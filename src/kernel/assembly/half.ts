// kernel/: float16, which WebAssembly lacks, to and from float64. Bits in the low half of a u32.

export function halfToDouble(half: u32): f64 {
  const exponent = (half >> 10) & 0x1f
  const fraction = half & 0x3ff
  const sign = <u64>(half & 0x8000) << 48
  if (exponent == 0) {
    const small = <f64>fraction * 5.960464477539063e-8 // 2^-24
    return reinterpret<f64>(reinterpret<u64>(small) | sign)
  }
  const wide: u64 = exponent == 31 ? 0x7ff : exponent + 1008
  return reinterpret<f64>(sign | (wide << 52) | (<u64>fraction << 42))
}

/** To nearest, ties to even, rounded once; from 65520 infinity; every NaN the same. */
export function doubleToHalf(x: f64): u32 {
  if (x != x) return 0x7e00
  const bits = reinterpret<u64>(x)
  const sign = <u32>(bits >> 48) & 0x8000
  const size = abs(x)
  if (size >= 65520) return sign | 0x7c00
  // Scaling by a power of two makes the unit of the last place 1; below 2^-14 that unit no longer shrinks.
  const exponent = max<i32>((<i32>(bits >> 52) & 0x7ff) - 1023, -14)
  const units = <u32>nearest(size * reinterpret<f64>(<u64>(1033 - exponent) << 52))
  // A carry out of the fraction moves into the exponent by itself.
  return sign | ((<u32>(exponent + 14) << 10) + units)
}
