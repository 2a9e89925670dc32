// loader/: the choice behind `workers: 'auto'`. Pure.

/** What a step costs, as far as it is known before the first one. */
export interface StepCost {
  readonly batchSize: number
  readonly fields: readonly { readonly sampleBytes: number; readonly codec: 'raw' | 'flate' }[]
  /** Processors that this process may use. */
  readonly processors: number
}

/** Below this time for a step, waking a worker costs more than it saves. Microseconds. */
const WORTH_A_WORKER = 400
/** Copying: nanoseconds a sample and bytes a microsecond. Decoding: the same (docs/decisions.md). */
const COPY = { each: 40, rate: 8000 }
const DECODE = { each: 1500, rate: 250 }
const MOST = 8

/** How many workers to use: none when the calling thread fills a batch faster than it could wait for one. */
export function chooseWorkers({ batchSize, fields, processors }: StepCost): number {
  let microseconds = 0
  for (const { sampleBytes, codec } of fields) {
    const { each, rate } = codec === 'flate' && sampleBytes > 16 ? DECODE : COPY
    microseconds += (batchSize * (each + (sampleBytes / rate) * 1000)) / 1000
  }
  if (microseconds < WORTH_A_WORKER) return 0
  return Math.min(MOST, Math.max(1, processors))
}
