// Eight processes that take locks of all kinds on one store as fast as they can, and look that nobody is beside them
// who should not be; what they count together proves that none was.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { newPlace, noteFiles, startLocker } from '../support/lockers.ts'

const MILLISECONDS = 2500
const PROCESSES = 8

it.each([
  ['flock', () => true],
  ['notes alone', () => false],
  ['flock in every other', (process: number) => process % 2 === 0],
] as const)('never lets in two that exclude each other: %s', async (_, koffi) => {
  const place = newPlace()
  const board = join(dirname(place.store), 'board')
  mkdirSync(board)
  const lockers = await Promise.all(
    Array.from({ length: PROCESSES }, (_, process) => startLocker(place, { koffi: koffi(process) })),
  )
  const work = { path: place.store, board, ms: MILLISECONDS }
  const done = await Promise.all(
    lockers.map((locker) => locker.call('hammer', work) as Promise<{ raised: number; refused: number }>),
  )
  const raised = done.map((one) => one.raised)
  console.log(
    `locks taken by each process: ${raised.join(', ')}; refused: ${done.map((one) => one.refused).join(', ')}`,
  )
  expect(Number(readFileSync(join(board, 'counter'), 'utf8'))).toBe(raised.reduce((sum, one) => sum + one, 0))
  expect(Math.max(...raised)).toBeGreaterThan(0)
  expect(readdirSync(board)).toEqual(['counter'])
  expect(noteFiles(place)).toEqual([])
  expect(readdirSync(place.store).sort()).toEqual(['0.zr', 'meta.zr'])
})
