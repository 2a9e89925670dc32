// kernel/: the stream of the shuffle sampler. Pass p is a permutation of [0, length) keyed by (seed, p): a Feistel
// network over the smallest power of two that holds the length, walked until the value is inside. So any position of
// the endless stream costs the same and nothing is stored.

const GOLDEN: u64 = 0x9e3779b97f4a7c15

// A domain of few bits has round functions of few values, so it needs more rounds until every permutation is equally
// likely. Measured: 24 rounds over 3 bits still show in 2 million passes, 40 no longer do; from 4 bits on 24 do not.
@inline
function roundsOf(bits: u32): u32 {
  return bits < 4 ? 48 : bits < 16 ? 24 : 8
}

// The finaliser of SplitMix64: a bijection in which every bit of the input reaches every bit of the output.
@inline
function mix(x: u64): u64 {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb
  return x ^ (x >> 31)
}

function passKeys(keys: usize, rounds: u32, seed: u64, pass: u64): void {
  let state = mix(mix(seed + GOLDEN) + pass * GOLDEN)
  for (let round: u32 = 0; round < rounds; round++) {
    state += GOLDEN
    store<u64>(keys + (<usize>round << 3), mix(state))
  }
}

/**
 * Writes the `n` indices from `position` (below `length`, which is at least 1) of pass number `pass`, going on into the
 * following passes. `keys` is 384 bytes of scratch.
 */
export function shuffle(out: usize, n: u32, pass: u64, position: u64, length: u64, seed: u64, keys: usize): void {
  const bits: u32 = 64 - <u32>clz<u64>(length - 1)
  const leftBits = bits >> 1
  const rightBits = bits - leftBits
  const leftMask = (<u64>1 << leftBits) - 1
  const rightMask = (<u64>1 << rightBits) - 1
  const rounds = roundsOf(bits)
  const end = keys + (<usize>rounds << 3)
  passKeys(keys, rounds, seed, pass)
  for (let i: u32 = 0; i < n; i++) {
    if (position == length) {
      position = 0
      pass++
      passKeys(keys, rounds, seed, pass)
    }
    let index = position
    do {
      let left = index >> rightBits
      let right = index & rightMask
      for (let key = keys; key < end; key += 16) {
        left ^= mix(right + load<u64>(key)) & leftMask
        right ^= mix(left + load<u64>(key, 8)) & rightMask
      }
      index = (left << rightBits) | right
    } while (index >= length)
    store<u64>(out + (<usize>i << 3), index)
    position++
  }
}
