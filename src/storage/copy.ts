// storage/: copies between shared and other memory. Where one side is shared, `TypedArray.set` and `Buffer.copy` go word
// by word, at half the speed of memory; `fill`, given a value as long as its place, is one memcpy.

/** Copies `from` to `into`, from byte `at` on, where it has to fit. */
export function copyBytes(from: Uint8Array, into: Uint8Array, at: number): void {
  if (from.length > 0) Buffer.prototype.fill.call(into as Buffer, from, at, at + from.length)
}
