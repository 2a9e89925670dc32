// kernel/: CRC-32 (reversed polynomial 0xedb88320, as zlib, PNG and gzip), sixteen bytes a turn over sixteen tables.
// The module has no static data, so the tables are computed to an address of the caller's.

const POLYNOMIAL: u32 = 0xedb88320

/** Writes the sixteen tables of 256 u32 (16 KiB) to `tables`. */
export function crcTables(tables: usize): void {
  for (let i: u32 = 0; i < 256; i++) {
    let crc = i
    for (let bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (POLYNOMIAL & (0 - (crc & 1)))
    store<u32>(tables + (<usize>i << 2), crc)
  }
  for (let i: usize = 0; i < 15 * 1024; i += 4) {
    const crc = load<u32>(tables + i)
    store<u32>(tables + i, (crc >> 8) ^ load<u32>(tables + (<usize>(crc & 0xff) << 2)), 1024)
  }
}

// What the four bytes of `word` contribute, the last of them looked up in the table at byte `last`. An entry has four
// bytes, so a byte is shifted to 4 * byte.
@inline
function terms(tables: usize, word: u32): u32 {
  return load<u32>(tables + <usize>((word << 2) & 0x3fc), 3072) ^ load<u32>(tables + <usize>((word >> 6) & 0x3fc), 2048) ^
    load<u32>(tables + <usize>((word >> 14) & 0x3fc), 1024) ^ load<u32>(tables + <usize>((word >> 22) & 0x3fc))
}

/**
 * The CRC-32 of `n` bytes at `bytes`, going on from `seed` (0, or the CRC-32 of the bytes before).
 * `tables` is what crcTables wrote.
 */
export function crc32(tables: usize, bytes: usize, n: u32, seed: u32): u32 {
  let crc = ~seed
  while (n >= 16) {
    crc =
      terms(tables + 12288, load<u32>(bytes) ^ crc) ^ terms(tables + 8192, load<u32>(bytes, 4)) ^
      terms(tables + 4096, load<u32>(bytes, 8)) ^ terms(tables, load<u32>(bytes, 12))
    bytes += 16
    n -= 16
  }
  while (n > 0) {
    crc = (crc >> 8) ^ load<u32>(tables + (<usize>((crc ^ load<u8>(bytes)) & 0xff) << 2))
    bytes++
    n--
  }
  return ~crc
}
