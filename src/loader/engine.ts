// loader/: where the bytes of a step come from. The calling thread (inline-engine.ts) and a crew of workers
// (crew-engine.ts) give the same bytes.

/** Writes the indices of a step. */
export type IndexWriter = (step: number, into: BigUint64Array) => void

/** The bytes of a step, one array for each field, and what to do when they are no longer needed. */
export interface StepBytes {
  readonly bytes: readonly Uint8Array[]
  /** To be called once at most. */
  release(): void
}

/** Gives the bytes of steps, in order from the step that it was made for. An error ends it: it can only be stopped. */
export interface Engine {
  /** Starts on `step` and those behind it. Returns whether its bytes are there. */
  prepare(step: number): boolean
  /** Waits for the step that `prepare` was called for, and takes it. Rejects when the engine is stopped meanwhile. */
  take(step: number): Promise<StepBytes>
  /** As {@link Engine.take}, blocking the calling thread. */
  takeSync(step: number): StepBytes
  stop(): Promise<void>
}
