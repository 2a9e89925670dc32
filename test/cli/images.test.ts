// Pictures of characters: the three styles, sizes, and places.
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { galleryLines } from '#dist/cli/images.js'

const terminal = { live: true, columns: 80, unicode: true, colors: true }
const shades = { ...terminal, colors: false }
const ascii = { ...shades, unicode: false }

const picture = (width: number, height: number, pixels: Iterable<number>, title = '0') => ({
  title,
  width,
  height,
  pixels: Uint8Array.from(pixels),
})
const ramp = picture(
  16,
  2,
  [...Array(16).keys(), ...Array(16).keys()].map((i) => i * 17),
)

describe('one picture', () => {
  it('of half blocks has two rows of pixels in a line, a colour named once for its run', () => {
    const lines = galleryLines([picture(16, 2, [...Array(16).fill(0), ...Array(16).fill(255)])], 255, terminal)
    expect(lines).toEqual([expect.stringMatching(/^0/), `\x1b[38;5;232;48;5;255m${'▀'.repeat(16)}\x1b[0m`])
  })

  it('of shades or letters has two characters for a pixel', () => {
    expect(galleryLines([ramp], 255, shades)[1]).toBe('    ░░░░░░░░▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓████')
    expect(galleryLines([ramp], 255, ascii)[1]).toMatch(/^ {2,4}[.]+:+-+=+[+]+[*]+#+%+@+$/)
  })

  it('is enlarged when it is small, by a whole number', () => {
    const lines = galleryLines([picture(2, 2, [0, 16, 16, 0])], 16, ascii)
    expect(lines.slice(1)).toEqual([...Array(4).fill('        @@@@@@@@'), ...Array(4).fill('@@@@@@@@')])
  })

  it('is made of means when it is large', () => {
    const pixels = Array.from({ length: 80 * 80 }, (_, i) => (i % 2 === 0 ? 0 : 255))
    const [, line] = galleryLines([picture(80, 80, pixels)], 255, { ...shades, columns: 40 })
    expect(line).toBe('▒'.repeat(40))
  })
})

it('puts as many beside each other as fit, each under its title', () => {
  const small = ['a', 'b', 'c', 'd', 'e'].map((title) => picture(8, 8, Array(64).fill(255), title))
  const lines = galleryLines(small, 255, ascii)
  const titles = lines.filter((line) => /[a-e]/.test(line)).map((line) => line.split(/ +/))
  expect(titles).toEqual([['a', 'b', 'c', 'd'], ['e']])
  expect(lines).toHaveLength(9 + 1 + 9)
  expect(lines[1]).toBe(Array(4).fill('@'.repeat(16)).join('   '))
})

it('keeps within the width and 40 lines a picture, whatever its shape', () => {
  const shapes = fc.record({ width: fc.integer({ min: 2, max: 700 }), height: fc.integer({ min: 2, max: 700 }) })
  fc.assert(
    fc.property(
      shapes,
      fc.integer({ min: 10, max: 200 }),
      fc.constantFrom(terminal, shades, ascii),
      (shape, columns, style) => {
        const { width, height } = shape
        const lines = galleryLines([picture(width, height, new Uint8Array(width * height).fill(200))], 255, {
          ...style,
          columns,
        })
        const widths = lines.slice(1).map((line) => stripVTControlCharacters(line).length)
        expect(Math.max(...widths)).toBeLessThanOrEqual(columns)
        expect(Math.min(...widths)).toBe(Math.max(...widths))
        expect(lines.length).toBeGreaterThan(1)
        expect(lines.length).toBeLessThanOrEqual(1 + 40)
      },
    ),
    { numRuns: 60 },
  )
})
