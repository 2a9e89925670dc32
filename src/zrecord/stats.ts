// zrecord/: what a store holds and what it takes on the disk.

import { CODEC_FLATE, CODEC_RAW, entryPosition } from '../format/entry.ts'
import { CHUNK_BYTES, chunkName, META_NAME } from '../format/limits.ts'
import { SUMS_NAME } from '../format/sums.ts'
import type { StoreDirectory, StoreFile } from '../storage/files.ts'
import { readFrontier } from './frontier.ts'
import { readSums, readSumsState, sealedRecords } from './sums.ts'

/** Facts about a store. All sizes in bytes. */
export interface StoreStats {
  /** Live records. */
  readonly records: number
  /** Stored bytes of all live records. */
  readonly liveBytes: number
  /** Bytes of all live records after decoding. */
  readonly logicalBytes: number
  /** Bytes up to the frontier over all chunks, the unused ends of full chunks included. */
  readonly chunkBytes: number
  /** What a compact would free: `chunkBytes - liveBytes`. Negative on a store whose records share bytes. */
  readonly reclaimable: number
  /** What the store's files take on the disk. */
  readonly allocatedBytes: number
  /** Records stored as they are. */
  readonly raw: number
  /** Records stored deflated. */
  readonly flate: number
  /** Records with a codec that does not exist: they are damaged. */
  readonly unknown: number
  /** Records without a checksum of their present bytes: another program wrote them, or they are older than sums.zr. */
  readonly unsealed: number
}

/** Reads the whole table (16 bytes a record). @throws as Zrecord.open */
export function readStats(directory: StoreDirectory, meta: StoreFile): StoreStats {
  const { header } = readFrontier(directory, meta)
  const bytes = new Uint8Array(entryPosition(header.length))
  meta.readSync(bytes, 0)
  const view = new DataView(bytes.buffer)
  let liveBytes = 0
  let logicalBytes = 0
  const codecs = { raw: 0, flate: 0, unknown: 0 }
  for (let at = entryPosition(0); at < bytes.length; at += 16) {
    liveBytes += view.getUint32(at + 4, true)
    logicalBytes += view.getUint32(at + 8, true)
    const codec = view.getUint8(at + 14)
    codecs[codec === CODEC_RAW ? 'raw' : codec === CODEC_FLATE ? 'flate' : 'unknown']++
  }
  const { summed } = readSumsState(directory, header)
  const sealed = sealedRecords(bytes, readSums(directory, summed), summed).reduce((sum, one) => sum + one, 0)
  const chunkBytes = header.tailChunk * CHUNK_BYTES + header.tailOffset
  const names = [META_NAME, SUMS_NAME, ...Array.from({ length: header.tailChunk + 1 }, (_, chunk) => chunkName(chunk))]
  return {
    records: header.length,
    liveBytes,
    logicalBytes,
    chunkBytes,
    reclaimable: chunkBytes - liveBytes,
    allocatedBytes: names.reduce((sum, name) => sum + (directory.look(name)?.allocated ?? 0), 0),
    ...codecs,
    unsealed: header.length - sealed,
  }
}
