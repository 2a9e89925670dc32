// sampler/: the kernel that draws indices, one a thread for all sources: it keeps nothing between two calls.

import { createMemory, instantiateKernel, type KernelExports, RESERVED_BYTES, WASM_PAGE } from '../kernel/kernel.ts'
import { RANDOM_STATE_BYTES } from '../kernel/layout.ts'

const STATE = RESERVED_BYTES
const KEYS: number = STATE + RANDOM_STATE_BYTES
const INDICES: number = RESERVED_BYTES + 1024
const BLOCK = 4096

/** The kernel over a memory of its own, and where its areas lie. */
export interface Engine {
  readonly kernel: KernelExports
  /** Address of the random state. */
  readonly state: number
  /** Address of the scratch of the shuffle. */
  readonly keys: number
  /** Address that the streams write to. */
  readonly out: number
  /** The four words at `state`. */
  readonly words: BigUint64Array
  /** The indices at `out`: as many as one call may write. */
  readonly indices: BigUint64Array
}

let engine: Engine | undefined

/** This thread's engine. */
export function samplerEngine(): Engine {
  if (engine === undefined) {
    const memory = createMemory(2, 2)
    engine = {
      kernel: instantiateKernel(memory),
      state: STATE,
      keys: KEYS,
      out: INDICES,
      words: new BigUint64Array(memory.buffer, STATE, 4),
      indices: new BigUint64Array(memory.buffer, INDICES, (2 * WASM_PAGE - INDICES) >> 3).subarray(0, BLOCK),
    }
  }
  return engine
}

/** Fills `into` block by block: `draw` writes `count` indices to the engine, `done` have been written before. */
export function fillByBlocks(
  { indices }: Engine,
  into: BigUint64Array,
  draw: (count: number, done: number) => void,
): void {
  for (let done = 0; done < into.length; done += indices.length) {
    const count = Math.min(indices.length, into.length - done)
    draw(count, done)
    into.set(count === indices.length ? indices : indices.subarray(0, count), done)
  }
}
