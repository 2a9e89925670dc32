// kernel/: the index streams of the samplers. Indices are u64, little endian; so are lengths, positions and seeds,
// because nothing above a single store assumes that an index is below 2^32.

/** Writes the `n` indices (position + i) mod length; `length` is at least 1. */
export function sequential(out: usize, n: u32, position: u64, length: u64): void {
  let index = position % length
  for (let i: u32 = 0; i < n; i++) {
    store<u64>(out + (<usize>i << 3), index)
    index++
    if (index == length) index = 0
  }
}

// SFC64: words a, b, c and a counter. `state` is the address of these four u64. Functions that draw keep them in
// locals (AssemblyScript returns one value), which is why the step is written out in each.

/** Writes the state after seeding: all words the seed, counter 1, twelve outputs thrown away. */
export function randomSeed(state: usize, seed: u64): void {
  store<u64>(state, seed)
  store<u64>(state, seed, 8)
  store<u64>(state, seed, 16)
  store<u64>(state, 1, 24)
  randomSkip(state, 12)
}

/** Advances the state by `n` outputs. */
export function randomSkip(state: usize, n: u64): void {
  let a = load<u64>(state)
  let b = load<u64>(state, 8)
  let c = load<u64>(state, 16)
  let counter = load<u64>(state, 24)
  const end = counter + n
  while (counter != end) {
    const out = a + b + counter
    counter++
    a = b ^ (b >> 11)
    b = c + (c << 3)
    c = rotl(c, 24) + out
  }
  store<u64>(state, a)
  store<u64>(state, b, 8)
  store<u64>(state, c, 16)
  store<u64>(state, counter, 24)
}

// The high word of x * y.
@inline
function multiplyHigh(x: u64, y: u64): u64 {
  const xl = x & 0xffffffff
  const xh = x >> 32
  const yl = y & 0xffffffff
  const yh = y >> 32
  const middle = xh * yl + ((xl * yl) >> 32)
  const cross = xl * yh + (middle & 0xffffffff)
  return xh * yh + (middle >> 32) + (cross >> 32)
}

/** Writes the next `n` random indices, floor(output * length / 2^64) each, and advances the state. */
export function random(state: usize, out: usize, n: u32, length: u64): void {
  let a = load<u64>(state)
  let b = load<u64>(state, 8)
  let c = load<u64>(state, 16)
  let counter = load<u64>(state, 24)
  const small = length <= 0xffffffff
  for (let i: u32 = 0; i < n; i++) {
    const word = a + b + counter
    counter++
    a = b ^ (b >> 11)
    b = c + (c << 3)
    c = rotl(c, 24) + word
    // Two multiplications in place of four; the sum cannot overflow for a length below 2^32.
    const index = small
      ? ((word >> 32) * length + (((word & 0xffffffff) * length) >> 32)) >> 32
      : multiplyHigh(word, length)
    store<u64>(out + (<usize>i << 3), index)
  }
  store<u64>(state, a)
  store<u64>(state, b, 8)
  store<u64>(state, c, 16)
  store<u64>(state, counter, 24)
}
