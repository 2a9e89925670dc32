// cli/: bytes as people read them. Pure.

/** Bytes of a record that are shown. */
export const MAX_DUMP_BYTES = 64

/** `5a 52 45 43` */
export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
}

/** The first bytes, 16 in a line where it has room for them, else 8; each line with its characters of ASCII. */
export function dumpLines(bytes: Uint8Array, columns: number): string[] {
  const perLine = columns < 76 ? 8 : 16
  const lines: string[] = []
  for (let at = 0; at < Math.min(bytes.length, MAX_DUMP_BYTES); at += perLine) {
    const some = bytes.subarray(at, Math.min(at + perLine, MAX_DUMP_BYTES))
    const characters = Array.from(some, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'))
    lines.push(`  ${at.toString(16).padStart(4, '0')}  ${hex(some).padEnd(3 * perLine - 1)}  ${characters.join('')}`)
  }
  const more = bytes.length - MAX_DUMP_BYTES
  return more > 0 ? [...lines, `  ... ${more.toLocaleString('en-US')} more`] : lines
}
