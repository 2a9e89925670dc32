// kernel/: float16 in plain TypeScript, to and from float64 (a JavaScript number). Bits as a number below 65536.

/** The value of a float16. */
export function halfToDouble(half: number): number {
  const sign = half & 0x8000 ? -1 : 1
  const exponent = (half >> 10) & 0x1f
  const fraction = half & 0x3ff
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25))
}

/** The float16 nearest to `x`, ties to even, rounded once; from 65520 infinity; every NaN the same. */
export function doubleToHalf(x: number): number {
  if (Number.isNaN(x)) return 0x7e00
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0
  const size = Math.abs(x)
  if (size >= 65520) return sign | 0x7c00
  let exponent = -14
  while (size >= 2 ** (exponent + 1)) exponent++
  const exact = size * 2 ** (10 - exponent)
  const below = Math.floor(exact)
  const rest = exact - below
  const up = rest > 0.5 || (rest === 0.5 && below % 2 === 1)
  return sign | ((exponent + 14) * 1024 + below + (up ? 1 : 0))
}
