// storage/: pieces of a shared memory.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createMemory, RESERVED_BYTES } from '#dist/kernel/kernel.js'
import { Arena } from '#dist/storage/arena.js'

it('gives pieces that do not overlap, aligned, inside the memory, and uses released ones again', () => {
  const steps = fc.array(fc.oneof(fc.integer({ min: 0, max: 300_000 }), fc.constant('release' as const)), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(steps, fc.infiniteStream(fc.nat(1000)), (list, choices) => {
      const memory = createMemory(1)
      const arena = new Arena(memory, RESERVED_BYTES)
      const held: { address: number; bytes: number }[] = []
      for (const step of list) {
        if (step === 'release') {
          if (held.length === 0) continue
          const [one] = held.splice(choices.next().value! % held.length, 1)
          arena.release(one!.address)
          arena.release(one!.address)
          continue
        }
        const address = arena.allocate(step)
        expect(address % 64).toBe(0)
        expect(address).toBeGreaterThanOrEqual(RESERVED_BYTES)
        expect(address + step).toBeLessThanOrEqual(memory.buffer.byteLength)
        for (const other of held) {
          expect(address >= other.address + other.bytes || address + Math.max(1, step) <= other.address).toBe(true)
        }
        held.push({ address, bytes: Math.max(1, step) })
      }
      for (const { address } of held) arena.release(address)
      expect(arena.allocate(2 ** 20)).toBe(RESERVED_BYTES)
    }),
    { numRuns: 60 },
  )
})

it('joins released neighbours, so that a memory does not grow for ever', () => {
  const memory = createMemory(1)
  const arena = new Arena(memory, RESERVED_BYTES)
  const [a, b, c] = [arena.allocate(100_000), arena.allocate(100_000), arena.allocate(100_000)]
  arena.allocate(64)
  const grown = memory.buffer.byteLength
  arena.release(a)
  arena.release(c)
  arena.release(b)
  expect(arena.allocate(300_000)).toBe(a)
  expect(memory.buffer.byteLength).toBe(grown)
})

it('refuses more than a memory can have, and goes on', () => {
  const arena = new Arena(createMemory(1), 2 ** 32 - 2 ** 17)
  const error = expect.objectContaining({ code: 'LOADERX_BATCH_TOO_LARGE' })
  expect(() => arena.allocate(2 ** 17 + 1)).toThrow(error)
  expect(() => arena.allocate(Number.MAX_SAFE_INTEGER)).toThrow(error)
  const small = new Arena(createMemory(1, 2), RESERVED_BYTES)
  expect(small.allocate(65536)).toBe(RESERVED_BYTES)
  expect(() => small.allocate(64)).toThrow(error)
  small.release(RESERVED_BYTES)
  expect(small.allocate(64)).toBe(RESERVED_BYTES)
})
