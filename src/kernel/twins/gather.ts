// kernel/: the twin of the checked batch gather. A batch is resolved first, copied second.

import { move, type TwinMemory } from './memory.ts'

const MAX_RECORD_BYTES = 2 ** 20

/** See KernelExports.resolve. */
export function resolve(
  memory: TwinMemory,
  indices: number,
  n: number,
  table: number,
  length: number,
  limits: number,
  chunks: number,
  minLogic: number,
  maxLogic: number,
  plan: number,
): number {
  const { view } = memory
  for (let i = 0; i < n; i++) {
    const index = view.getBigUint64(indices + i * 8, true)
    if (index >= BigInt(length)) return i
    const entry = table + Number(index) * 16
    const offset = view.getUint32(entry, true)
    const phys = view.getUint32(entry + 4, true)
    const logic = view.getUint32(entry + 8, true)
    const chunk = view.getUint16(entry + 12, true)
    const codec = view.getUint8(entry + 14)
    if (codec > 1 || (codec === 0 && phys !== logic)) return i
    if (logic < minLogic || logic > maxLogic || phys < 1 || phys > MAX_RECORD_BYTES) return i
    if (chunk >= chunks || offset + phys > view.getUint32(limits + chunk * 4, true)) return i
    move(memory, plan + i * 16, entry, 16)
  }
  return -1
}

function copy(memory: TwinMemory, slot: number, base: number, to: number): boolean {
  const { view } = memory
  if (view.getUint8(slot + 14) !== 0) return false
  move(memory, to, base + view.getUint32(slot, true), view.getUint32(slot + 4, true))
  return true
}

/** See KernelExports.copyFixed. */
export function copyFixed(
  memory: TwinMemory,
  plan: number,
  n: number,
  base: number,
  dst: number,
  stride: number,
): number {
  let deflated = 0
  for (let i = 0; i < n; i++) {
    if (!copy(memory, plan + i * 16, base, dst + i * stride)) deflated++
  }
  return deflated
}

/** See KernelExports.copyOffsets. */
export function copyOffsets(
  memory: TwinMemory,
  plan: number,
  n: number,
  base: number,
  dst: number,
  offsets: number,
): number {
  let deflated = 0
  for (let i = 0; i < n; i++) {
    if (!copy(memory, plan + i * 16, base, dst + memory.view.getUint32(offsets + i * 4, true))) deflated++
  }
  return deflated
}
