// kernel/: the twin of the sequential and the random stream, in bigints modulo 2^64.

import type { TwinMemory } from './memory.ts'

const MASK = 2n ** 64n - 1n
const SEED_DISCARDED = 12n

/** See KernelExports.sequential. */
export function sequential({ view }: TwinMemory, out: number, n: number, position: bigint, length: bigint): void {
  for (let i = 0; i < n; i++) view.setBigUint64(out + i * 8, ((position % length) + BigInt(i)) % length, true)
}

// One output of SFC64; the state's four words are a, b, c and a counter.
function draw({ view }: TwinMemory, state: number): bigint {
  const a = view.getBigUint64(state, true)
  const b = view.getBigUint64(state + 8, true)
  const c = view.getBigUint64(state + 16, true)
  const counter = view.getBigUint64(state + 24, true)
  const output = (a + b + counter) & MASK
  const rotated = ((c << 24n) | (c >> 40n)) & MASK
  view.setBigUint64(state, b ^ (b >> 11n), true)
  view.setBigUint64(state + 8, c + (c << 3n), true)
  view.setBigUint64(state + 16, rotated + output, true)
  view.setBigUint64(state + 24, counter + 1n, true)
  return output
}

/** See KernelExports.randomSeed. */
export function randomSeed(memory: TwinMemory, state: number, seed: bigint): void {
  for (let word = 0; word < 3; word++) memory.view.setBigUint64(state + word * 8, seed, true)
  memory.view.setBigUint64(state + 24, 1n, true)
  randomSkip(memory, state, SEED_DISCARDED)
}

/** See KernelExports.randomSkip. */
export function randomSkip(memory: TwinMemory, state: number, n: bigint): void {
  for (let i = 0n; i < n; i++) draw(memory, state)
}

/** See KernelExports.random. */
export function random(memory: TwinMemory, state: number, out: number, n: number, length: bigint): void {
  for (let i = 0; i < n; i++) memory.view.setBigUint64(out + i * 8, (draw(memory, state) * length) >> 64n, true)
}
