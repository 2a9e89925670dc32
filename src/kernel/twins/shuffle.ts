// kernel/: the twin of the shuffled stream, in bigints modulo 2^64: a keyed Feistel network over the smallest power
// of two that holds the length, walked until the value is inside.

import type { TwinMemory } from './memory.ts'

const MASK = 2n ** 64n - 1n
const GOLDEN = 0x9e3779b97f4a7c15n

function mix(x: bigint): bigint {
  const a = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK
  const b = ((a ^ (a >> 27n)) * 0x94d049bb133111ebn) & MASK
  return b ^ (b >> 31n)
}

function passKeys({ view }: TwinMemory, keys: number, rounds: number, seed: bigint, pass: bigint): void {
  const state = mix((mix((seed + GOLDEN) & MASK) + pass * GOLDEN) & MASK)
  for (let round = 0; round < rounds; round++) {
    view.setBigUint64(keys + round * 8, mix((state + BigInt(round + 1) * GOLDEN) & MASK), true)
  }
}

/** See KernelExports.shuffle. */
export function shuffle(
  memory: TwinMemory,
  out: number,
  n: number,
  pass: bigint,
  position: bigint,
  length: bigint,
  seed: bigint,
  keys: number,
): void {
  const { view } = memory
  const bits = length === 1n ? 0 : (length - 1n).toString(2).length
  const rounds = bits < 4 ? 48 : bits < 16 ? 24 : 8
  const rightBits = BigInt(bits - Math.floor(bits / 2))
  const halfMask = [2n ** BigInt(Math.floor(bits / 2)) - 1n, 2n ** rightBits - 1n] as const
  let known = -1n
  for (let i = 0; i < n; i++) {
    const at = position + BigInt(i)
    const current = pass + at / length
    if (current !== known) passKeys(memory, keys, rounds, seed, current)
    known = current
    let index = at % length
    do {
      // The half that changes is first; the two trade places after every round.
      let halves = [index >> rightBits, index & halfMask[1]] as const
      for (let round = 0; round < rounds; round++) {
        const key = view.getBigUint64(keys + round * 8, true)
        halves = [halves[1], halves[0] ^ (mix((halves[1] + key) & MASK) & halfMask[round % 2 === 0 ? 0 : 1])]
      }
      index = (halves[0] << rightBits) | halves[1]
    } while (index >= length)
    view.setBigUint64(out + i * 8, index, true)
  }
}
