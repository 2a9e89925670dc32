// Test support: what the process of crash-writer.mjs does at each step; the test that kills it computes the same.

/** `length` bytes that do not compress well, or that do, the same for the same seed. */
function bytes(length, seed, packs) {
  let state = (seed ^ 0x9e3779b9) >>> 0
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return packs ? (state >>> 24) & 3 : state >>> 24
  })
}

function append(seed, count) {
  const records = Array.from({ length: count }, (_, i) =>
    bytes(20 + ((seed * 7919 + i * 104729) % 9000), seed * 31 + i, i % 2 === 1),
  )
  return { kind: 'append', records }
}

/** The operation of step `step` on a store with `length` records. */
export function operationAt(work, seed, step, length) {
  const own = seed * 1000 + step
  if (work === 'raw' || work === 'flate') return append(own, 1 + (own % 40))
  if (length < 20) return append(own, 60)
  if (work === 'compact' && step % 3 === 2) return { kind: 'compact' }
  const count = 1 + (own % (work === 'compact' ? 9 : 4))
  return { kind: 'delete', targets: Array.from({ length: count }, (_, i) => (own * 13 + i * 5) % length) }
}
