// dataset/: rows on their way into a dataset. This file: elements of any size packed into blocks of whole rows, and
// waiting for an iterator that can be cut short.

/** Bytes of whole rows, an element at a time. */
export type Elements = Iterator<Uint8Array> | AsyncIterator<Uint8Array>

/** Bytes of the first buffer; it doubles as elements come, up to the size of a block. */
const FIRST_BYTES = 2 ** 16

/**
 * The next element of `iterator`; rejects with the reason of `signal` as soon as that is aborted, whatever the
 * iterator does.
 */
export async function pull<T>(
  iterator: Iterator<T> | AsyncIterator<T>,
  signal: AbortSignal | undefined,
): Promise<IteratorResult<T>> {
  if (signal === undefined) return iterator.next()
  signal.throwIfAborted()
  let stop = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
  })
  // Before the call: an iterator may abort the signal itself.
  signal.addEventListener('abort', stop)
  try {
    return await Promise.race([iterator.next(), aborted])
  } finally {
    signal.removeEventListener('abort', stop)
    aborted.catch(() => {})
  }
}

/**
 * Packs elements into blocks of at most `maxBytes` bytes, whole rows each. Small elements are copied together; a large
 * one is handed on in pieces, without a copy.
 * @param rowBytes bytes of one row; with 0 there is nothing to pack
 */
export async function* packRows(
  elements: Elements,
  rowBytes: number,
  maxBytes: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (rowBytes === 0) return
  const blockBytes = Math.max(1, Math.floor(maxBytes / rowBytes)) * rowBytes
  let buffer = new Uint8Array(0)
  let used = 0
  for (let result = await pull(elements, signal); !result.done; result = await pull(elements, signal)) {
    const bytes = result.value
    let at = 0
    while (at < bytes.length) {
      if (used === 0 && bytes.length - at >= blockBytes) {
        yield bytes.subarray(at, at + blockBytes)
        signal?.throwIfAborted()
        at += blockBytes
        continue
      }
      const count = Math.min(bytes.length - at, blockBytes - used)
      if (used + count > buffer.length) buffer = grown(buffer, used, used + count, blockBytes)
      buffer.set(bytes.subarray(at, at + count), used)
      used += count
      at += count
      if (used === blockBytes) {
        yield buffer.subarray(0, used)
        signal?.throwIfAborted()
        used = 0
      }
    }
  }
  if (used > 0) yield buffer.subarray(0, used)
}

function grown(buffer: Uint8Array, used: number, needed: number, limit: number): Uint8Array<ArrayBuffer> {
  let bytes = Math.max(FIRST_BYTES, buffer.length)
  while (bytes < needed) bytes *= 2
  const larger = new Uint8Array(Math.min(bytes, limit))
  larger.set(buffer.subarray(0, used))
  return larger
}
