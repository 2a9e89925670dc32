// Test support: walks through a raw deflate stream (RFC 1951) far enough to list its blocks.

/** One block: its kind (0 stored, 1 fixed, 2 dynamic), whether it is the final one, and how many bytes it gives. */
export interface DeflateBlock {
  readonly kind: number
  readonly final: boolean
  readonly bytes: number
}

const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

type Tree = Map<number, number>

/** Codes as `length << 16 | code`, the code's first bit highest. */
function makeTree(lengths: readonly number[]): Tree {
  const tree: Tree = new Map()
  let code = 0
  for (let length = 1; length <= 15; length++) {
    for (const [symbol, own] of lengths.entries()) if (own === length) tree.set((length << 16) | code++, symbol)
    code <<= 1
  }
  return tree
}

const FIXED = makeTree(Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)))
const FIXED_DISTANCES = makeTree(new Array(30).fill(5))

/** The blocks of `stream`, up to the final one. Throws when the stream is cut. */
export function deflateBlocks(stream: Uint8Array): DeflateBlock[] {
  let at = 0
  const bits = (n: number): number => {
    let value = 0
    for (let i = 0; i < n; i++, at++) {
      const byte = stream[at >> 3]
      if (byte === undefined) throw new Error('the stream is cut')
      value |= ((byte >> (at & 7)) & 1) << i
    }
    return value
  }
  const symbol = (tree: Tree): number => {
    let code = 0
    for (let length = 1; length <= 15; length++) {
      code = (code << 1) | bits(1)
      const found = tree.get((length << 16) | code)
      if (found !== undefined) return found
    }
    throw new Error('no such code')
  }
  const dynamicTrees = (): [Tree, Tree] => {
    const [literals, distances, count] = [bits(5) + 257, bits(5) + 1, bits(4) + 4]
    const lengths = new Array<number>(19).fill(0)
    for (let i = 0; i < count; i++) lengths[ORDER[i]!] = bits(3)
    const tree = makeTree(lengths)
    const all: number[] = []
    while (all.length < literals + distances) {
      const code = symbol(tree)
      if (code < 16) all.push(code)
      else if (code === 16) all.push(...new Array<number>(bits(2) + 3).fill(all.at(-1)!))
      else all.push(...new Array<number>(code === 17 ? bits(3) + 3 : bits(7) + 11).fill(0))
    }
    return [makeTree(all.slice(0, literals)), makeTree(all.slice(literals))]
  }
  const coded = (literals: Tree, distances: Tree): number => {
    let bytes = 0
    for (let code = symbol(literals); code !== 256; code = symbol(literals)) {
      if (code < 256) {
        bytes++
        continue
      }
      const [base, extra] = lengthOf(code)
      bytes += base + bits(extra)
      const distance = symbol(distances)
      bits(distance < 4 ? 0 : (distance >> 1) - 1)
    }
    return bytes
  }
  const blocks: DeflateBlock[] = []
  for (;;) {
    const final = bits(1) === 1
    const kind = bits(2)
    let bytes: number
    if (kind === 0) {
      at = Math.ceil(at / 8) * 8
      bytes = bits(16)
      at += 16 + 8 * bytes
    } else bytes = kind === 1 ? coded(FIXED, FIXED_DISTANCES) : coded(...dynamicTrees())
    blocks.push({ kind, final, bytes })
    if (final) return blocks
  }
}

function lengthOf(code: number): [number, number] {
  if (code < 265) return [code - 254, 0]
  if (code === 285) return [258, 0]
  const extra = (code - 261) >> 2
  return [((4 + ((code - 265) & 3)) << extra) + 3, extra]
}
