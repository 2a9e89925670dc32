// storage/: copies between shared and other memory, in all four combinations, inside their place and nowhere else.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { copyBytes } from '#dist/storage/copy.js'

const memory = fc.record({ shared: fc.boolean(), before: fc.nat(9), after: fc.nat(9) })

function view(
  length: number,
  { shared, before, after }: { shared: boolean; before: number; after: number },
): Uint8Array {
  const bytes = before + length + after
  return new Uint8Array(shared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes), before, length)
}

it('copies whatever the kinds of memory', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), fc.nat(20), fc.nat(20), memory, memory, (bytes, at, rest, a, b) => {
      const from = view(bytes.length, a)
      from.set(bytes)
      const into = view(at + bytes.length + rest, b)
      const whole = new Uint8Array(into.buffer).fill(0xee)
      const expected = whole.slice()
      expected.set(bytes, b.before + at)
      copyBytes(from, into, at)
      expect(Buffer.compare(whole, expected)).toBe(0)
      expect(Buffer.compare(from, bytes)).toBe(0)
    }),
  )
})
