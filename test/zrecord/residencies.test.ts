// zrecord/: the same suites over every residency, each with windows of full size and with small ones.
import { describe } from 'vitest'
import { appendSuite } from './suites/append.ts'
import { gatherSuite } from './suites/gather.ts'
import { closeAfterEach, variants } from './suites/variants.ts'
import { vectorSuite } from './suites/vectors.ts'

closeAfterEach()

describe.each(variants)('$name', (variant) => {
  describe('reads', () => vectorSuite(variant))
  describe('gathers', () => gatherSuite(variant))
  describe('appends', () => appendSuite(variant))
})
