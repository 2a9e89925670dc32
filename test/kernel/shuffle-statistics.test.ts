// The shuffle is a fair one: orders, places, neighbours and consecutive passes look as if drawn at random. Seeds are
// fixed, so every run gives the same numbers; a bound of 4 standard deviations is far from each of them.
import { describe, expect, it } from 'vitest'
import { bytesAt, kernels } from '../support/kernels.ts'

const KEYS = 65536
const OUT = 131072
const BATCH = 30_000

/** Calls `each` with `passes` consecutive passes of the stream, kernel calls of many passes each. */
function eachPass(length: number, seed: bigint, passes: number, each: (pass: BigUint64Array) => void): void {
  const perCall = Math.min(passes, Math.max(1, Math.floor(BATCH / length)))
  for (let pass = 0; pass < passes; pass += perCall) {
    kernels.simd.shuffle(OUT, perCall * length, BigInt(pass), 0n, BigInt(length), seed, KEYS)
    const { buffer } = bytesAt(OUT, 0)
    for (let i = 0; i < perCall && pass + i < passes; i++) {
      each(new BigUint64Array(buffer, OUT + i * length * 8, length))
    }
  }
}

/** How many standard deviations the chi-square of `counts` is from that of `freedom` degrees. */
function deviation(counts: Float64Array, freedom: number): number {
  const mean = counts.reduce((sum, count) => sum + count) / counts.length
  const chi = counts.reduce((sum, count) => sum + (count - mean) ** 2 / mean, 0)
  return Math.abs(chi - freedom) / Math.sqrt(2 * freedom)
}

/** The number of the order that a pass of few elements has among all orders. */
function orderOf(pass: BigUint64Array): number {
  let order = 0
  for (let i = 0; i < pass.length; i++) {
    let smaller = 0
    for (let j = i + 1; j < pass.length; j++) if (pass[j]! < pass[i]!) smaller++
    order = order * (pass.length - i) + smaller
  }
  return order
}

it.each([
  [2, 2],
  [3, 6],
  [4, 24],
  [5, 120],
  [6, 720],
  [7, 5040],
])('%d elements take all %d orders equally often', (length, orders) => {
  const counts = new Float64Array(orders)
  eachPass(length, 42n, 150_000, (pass) => {
    counts[orderOf(pass)]!++
  })
  expect(deviation(counts, orders - 1)).toBeLessThan(4)
})

describe.each([3, 5, 10, 16, 17, 100])('%d elements', (length) => {
  const passes = Math.floor(5e5 / length)

  it('are equally often at each place', () => {
    const counts = new Float64Array(length * length)
    eachPass(length, 7n, passes, (pass) => {
      for (let i = 0; i < length; i++) counts[i * length + Number(pass[i])]!++
    })
    expect(deviation(counts, (length - 1) ** 2)).toBeLessThan(4)
  })

  it('are equally often at each place of the first pass, over many seeds', () => {
    const counts = new Float64Array(length * length)
    for (let seed = 0; seed < 10_000; seed++) {
      eachPass(length, BigInt(seed), 1, (pass) => {
        for (let i = 0; i < length; i++) counts[i * length + Number(pass[i])]!++
      })
    }
    expect(deviation(counts, (length - 1) ** 2)).toBeLessThan(4)
  })

  it('do not depend on where they were in the pass before', () => {
    const counts = new Float64Array(length * length)
    let before: BigUint64Array | undefined
    eachPass(length, 9n, passes, (pass) => {
      for (let i = 0; before && i < length; i++) counts[Number(before[i]) * length + Number(pass[i])]!++
      before = pass.slice()
    })
    expect(deviation(counts, (length - 1) ** 2)).toBeLessThan(4)
  })

  it('have each other as successor equally often', () => {
    const counts = new Float64Array(length * (length - 1))
    eachPass(length, 5n, passes, (pass) => {
      for (let i = 0; i + 1 < length; i++) {
        const [one, next] = [Number(pass[i]), Number(pass[i + 1])]
        counts[one * (length - 1) + (next > one ? next - 1 : next)]!++
      }
    })
    expect(deviation(counts, counts.length - 1)).toBeLessThan(4)
  })
})

it.each([1000, 60_000])('%d elements show no correlation in a row, with their place, or between passes', (length) => {
  const mean = (length - 1) / 2
  const variance = (length ** 2 - 1) / 12
  /** Correlation times the root of the length: about one standard deviation is 1. */
  const correlation = (one: (i: number) => number, other: (i: number) => number, n: number): number => {
    let sum = 0
    for (let i = 0; i < n; i++) sum += (one(i) - mean) * (other(i) - mean)
    return sum / variance / Math.sqrt(n)
  }
  const rows: { lag1: number; lag2: number; place: number; before: number }[] = []
  let before: Float64Array | undefined
  eachPass(length, 11n, 41, (pass) => {
    const values = Float64Array.from(pass, Number)
    const at = (i: number): number => values[i]!
    const previous = before
    if (previous) {
      rows.push({
        lag1: correlation(at, (i) => at(i + 1), length - 1),
        lag2: correlation(at, (i) => at(i + 2), length - 2),
        place: correlation(at, (i) => i, length),
        before: correlation(at, (i) => previous[i]!, length),
      })
    }
    before = values
  })
  expect(rows.length).toBe(40)
  for (const name of ['lag1', 'lag2', 'place', 'before'] as const) {
    const worst = Math.max(...rows.map((row) => Math.abs(row[name])))
    const square = rows.reduce((sum, row) => sum + row[name] ** 2, 0) / rows.length
    expect(worst, name).toBeLessThan(4)
    // The mean of 40 squares of a standard normal is 1 with a deviation of 0.22.
    expect(Math.abs(square - 1), name).toBeLessThan(4 * 0.22)
  }
})
