// kernel/: cast-and-scale between the eleven numeric types. All pairs go block by block through a scratch of 64-bit
// integers or float64 (a loader and a storer a type, not a loop a pair); the pairs that training uses have own loops.

import { bytesToDoubles, bytesToSingles, doublesToSingles, longsToInts } from './cast-direct'
import {
  doublesOutside, doublesToLongs, longsOutside, longsToDoubles, longsToSingles, loadDoubles, loadLongs, scaleDoubles,
  storeDoubles, storeLongs,
} from './cast-blocks'
import { BLOCK, F32, F64, I32, I64, U16, U64, U8, sizeOf } from './types'

// Integers are checked for range; floats are cut toward zero for an integer target, NaN refused; float targets are
// rounded once to nearest even, too large ones to infinity.
@inline
function run(
  source: usize, from: u32, target: usize, to: u32, n: u32, scaled: bool, scale: f64, offset: f64, scratch: usize,
): i32 {
  const fromLongs = from <= U64
  const toLongs = to <= U64
  // Straight from the integer: a 64-bit one would be rounded twice by way of float64.
  const singles = fromLongs && to == F32 && (!scaled || from <= U16)
  for (let done: u32 = 0; done < n; done += BLOCK) {
    const count = min(BLOCK, n - done)
    const at = target + <usize>done * sizeOf(to)
    let good = count
    if (fromLongs) {
      loadLongs(from, source + <usize>done * sizeOf(from), scratch, count)
      if (singles) {
        longsToSingles(scratch, at, count, from == U64, <f32>scale, <f32>offset)
        continue
      }
      if (scaled || !toLongs) longsToDoubles(scratch, count, from == U64)
      else good = longsOutside(scratch, count, from == U64, to)
    } else {
      loadDoubles(from, source + <usize>done * sizeOf(from), scratch, count)
    }
    if (scaled) scaleDoubles(scratch, count, scale, offset)
    if (toLongs) {
      if (scaled || !fromLongs) {
        good = doublesOutside(scratch, count, to)
        doublesToLongs(scratch, good, to == U64)
      }
      storeLongs(to, scratch, at, good)
      if (good < count) return done + good
    } else {
      storeDoubles(to, scratch, at, count)
    }
  }
  return -1
}

/**
 * Converts `n` (below 2^31) elements of type `from` to type `to`; see ./types for the types. `scratch` is 4 KiB.
 * Returns -1, or the position of the first element that the target cannot hold: those before it are written.
 */
export function cast(source: usize, from: u32, target: usize, to: u32, n: u32, scratch: usize): i32 {
  if (from == to) {
    memory.copy(target, source, <usize>n * sizeOf(from))
    return -1
  }
  if (from == U8 && to == F32) return bytesToSingles(source, target, n, 1, 0)
  if (from == U8 && to == F64) return bytesToDoubles(source, target, n, 1, 0)
  if (from == F64 && to == F32) return doublesToSingles(source, target, n)
  if (from == I64 && to == I32) return longsToInts(source, target, n)
  return run(source, from, target, to, n, false, 1, 0, scratch)
}

/**
 * As cast, of value * scale + offset: in float32 (scale and offset rounded to it first) for 8 and 16-bit integers to
 * float32, else in float64.
 */
export function castScaled(
  source: usize, from: u32, target: usize, to: u32, n: u32, scale: f64, offset: f64, scratch: usize,
): i32 {
  if (from == U8 && to == F32) return bytesToSingles(source, target, n, <f32>scale, <f32>offset)
  if (from == U8 && to == F64) return bytesToDoubles(source, target, n, scale, offset)
  return run(source, from, target, to, n, true, scale, offset, scratch)
}
