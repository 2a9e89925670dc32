// Test support: reads and edits the header, record table and stored bytes of a store behind the package's back.
import { closeSync, lstatSync, openSync, readdirSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { decodeEntry, type Entry, encodeEntry, entryPosition } from '#dist/format/entry.js'
import { decodeHeader, encodeHeader, type Header } from '#dist/format/header.js'

/** `length` bytes of the file from `position`; fewer where the file ends. */
export function readAt(path: string, position: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  const fd = openSync(path, 'r')
  try {
    let done = 0
    for (let count = 1; count > 0 && done < length; done += count) {
      count = readSync(fd, bytes, done, length - done, position + done)
    }
    return bytes.subarray(0, done)
  } finally {
    closeSync(fd)
  }
}

/** Writes `bytes` over the file at `position`. */
export function writeAt(path: string, position: number, bytes: Uint8Array): void {
  const fd = openSync(path, 'r+')
  try {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(fd, bytes, done, bytes.length - done, position + done)
    }
  } finally {
    closeSync(fd)
  }
}

/** The header of the store. */
export function readHeader(store: string): Header {
  const path = join(store, 'meta.zr')
  return decodeHeader(readAt(path, 0, 16), path)
}

/** Changes fields of the header. */
export function editHeader(store: string, changes: Partial<Header>): void {
  writeAt(join(store, 'meta.zr'), 0, encodeHeader({ ...readHeader(store), ...changes }))
}

/** Entry `index` of the record table. */
export function readEntry(store: string, index: number): Entry {
  return decodeEntry(new DataView(readAt(join(store, 'meta.zr'), entryPosition(index), 16).buffer), 0)
}

/** Writes entries from `index` on. */
export function writeEntries(store: string, index: number, entries: readonly Entry[]): void {
  const view = new DataView(new ArrayBuffer(16 * entries.length))
  for (const [i, entry] of entries.entries()) encodeEntry(view, 16 * i, entry)
  writeAt(join(store, 'meta.zr'), entryPosition(index), new Uint8Array(view.buffer))
}

/** The stored bytes of record `index`. */
export function readStored(store: string, index: number): Uint8Array {
  const { chunk, offset, phys } = readEntry(store, index)
  return readAt(join(store, `${chunk}.zr`), offset, phys)
}

/** Name, size, blocks and time of change of everything in the directory: equal as long as nothing was written. */
export function fingerprint(directory: string): string[] {
  return readdirSync(directory)
    .sort()
    .map((name) => {
      const { size, blocks, mtimeNs, mode } = lstatSync(join(directory, name), { bigint: true })
      return [name, size, blocks, mtimeNs, mode].join(' ')
    })
}
