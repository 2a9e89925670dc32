// zrecord/: brings the records of a plan, one by one, from where their stored bytes are to where they go.

import type { Inflater } from '../codec/inflate.ts'
import { LoaderxError } from '../errors.ts'
import { copyBytes } from '../storage/copy.ts'
import { type Layout, type Plan, target } from './plan.ts'
import type { ByteSource } from './windows.ts'

/** A plan with its destination. */
export interface Transfer {
  readonly plan: Plan
  readonly into: Uint8Array
  readonly layout: Layout
  /** For messages. */
  readonly path: string
  /** The index that position `i` of the batch asks for. */
  readonly indexAt: (i: number) => number
  /** Checks the stored bytes of the record at position `i` before they are used. */
  readonly check?: ((i: number, bytes: Uint8Array, at: number) => void) | undefined
}

/** Brings the record at position `i`; its stored bytes start at `from.seek(…)`. @throws LOADERX_CORRUPT_RECORD */
export function bringRecord(transfer: Transfer, i: number, from: ByteSource, inflater: () => Inflater): void {
  const { plan, into, layout } = transfer
  const at = from.seek(plan.chunk(i), plan.offset(i), i)
  transfer.check?.(i, from.bytes, at)
  const to = target(layout, i)
  const phys = plan.phys(i)
  if (plan.isRaw(i)) {
    copyBytes(from.bytes.subarray(at, at + phys), into, to)
    return
  }
  const fault = inflater().inflate(from.bytes, at, phys, into, to, plan.logic(i))
  if (fault === undefined) return
  const index = transfer.indexAt(i)
  throw new LoaderxError(
    'LOADERX_CORRUPT_RECORD',
    `record ${index} of ${transfer.path} cannot be decoded: ${fault} (chunk ${plan.chunk(i)}, byte ${plan.offset(i)}); restore the store from a copy or leave the record out`,
    { path: transfer.path, index, position: i, chunk: plan.chunk(i), offset: plan.offset(i) },
  )
}
