// Progress: what a line says, that it fits, and how often it is written.
import { stripVTControlCharacters } from 'node:util'
import fc from 'fast-check'
import { expect, it, test } from 'vitest'
import { clock, Progress, stageBar, stageLine } from '#dist/cli/progress.js'

const terminal = { live: true, columns: 80, unicode: true, colors: false }
const half = { rows: 30_000, totalRows: 60_000, bytes: 23_520_000, seconds: 2 }

test.each([
  [0, '0:00'],
  [6.1, '0:07'],
  [754, '12:34'],
  [3723, '1:02:03'],
])('%d seconds are %s', (seconds, text) => {
  expect(clock(seconds)).toBe(text)
})

it('says everything where there is room, and less where there is less', () => {
  const lines = [120, 70, 58, 40, 25, 12].map((columns) => stageBar(half, { ...terminal, columns, unicode: false }))
  expect(`\n${lines.join('\n')}\n`).toMatchInlineSnapshot(`
    "
     50%  ####################....................  30,000/60,000 rows  11.8 MB/s  ETA 0:02
     50%  ##########..........  30,000/60,000 rows  11.8 MB/s  ETA 0:02
     50%  ####....  30,000/60,000 rows  11.8 MB/s  ETA 0:02
     50%  #####.....  11.8 MB/s  ETA 0:02
     50%  ETA 0:02
     50%
    "
  `)
})

it('never reaches the last three columns, whatever the numbers', () => {
  const stages = fc.record({
    rows: fc.integer({ min: 0, max: 2 ** 24 }),
    more: fc.integer({ min: 0, max: 2 ** 24 }),
    bytes: fc.integer({ min: 0, max: 2 ** 44 }),
    seconds: fc.double({ min: 0.001, max: 1e6, noNaN: true }),
  })
  fc.assert(
    fc.property(stages, fc.integer({ min: 10, max: 200 }), fc.boolean(), (stage, columns, colors) => {
      const totalRows = Math.max(1, stage.rows + stage.more)
      const line = stageBar({ ...stage, totalRows }, { ...terminal, columns, colors })
      const visible = stripVTControlCharacters(line)
      expect(visible.length).toBeLessThanOrEqual(columns - 3)
      expect(visible).toMatch(/^ *\d+%/)
    }),
  )
})

it('has a line for logs', () => {
  expect(stageLine(half)).toBe('50% (30,000 of 60,000 rows), 11.8 MB/s, 0:02 left')
  expect(stageLine({ ...half, rows: 60_000 })).toBe('100% (60,000 of 60,000 rows), 11.8 MB/s')
  expect(stageLine({ rows: 1, totalRows: 1, bytes: 3, seconds: 0 })).toBe('100% (1 of 1 row)')
})

/** Shows 100 stages, `ms` apart, and gives what was written. */
function written(live: boolean, ms: number): string[] {
  const texts: string[] = []
  let now = 0
  const output = {
    write: (text: string) => void texts.push(text),
    terminal: () => ({ ...terminal, live }),
    now: () => now,
  }
  const progress = new Progress(output, 100)
  for (let rows = 1; rows <= 100; rows++) {
    now += ms
    progress.update({ rows, totalRows: 100, bytes: rows })
  }
  progress.clear()
  progress.clear()
  return texts
}

it('draws at most ten times a second on a terminal, the last stage always, and clears once', () => {
  const lines = written(true, 25)
  // One at the start, one every fourth of 100 stages, and the line that takes it away.
  expect(lines.length).toBe(1 + 25 + 1)
  expect(lines.every((line) => line.startsWith('\r\x1b[2K'))).toBe(true)
  expect(lines.at(-2)).toContain('100%')
  expect(lines.at(-1)).toBe('\r\x1b[2K')
  expect(written(true, 1).length).toBe(1 + 1 + 1)
})

it('writes a line every two seconds elsewhere: the first at once, the last always, nothing to clear', () => {
  const lines = written(false, 110)
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['1%', '20%', '39%', '58%', '77%', '96%', '100%'])
  expect(lines.every((line) => line.endsWith('\n') && !line.includes('\x1b'))).toBe(true)
})
