// Test support: types of crash-work.mjs.
export declare function operationAt(
  work: string,
  seed: number,
  step: number,
  length: number,
): { kind: 'append' | 'delete' | 'compact'; records?: Uint8Array[]; targets?: number[] }
