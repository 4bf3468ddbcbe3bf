/** Randomness as a seam: services take a `Random`, tests give them a seeded one. */

import { randomBytes } from 'node:crypto';

export interface Random {
  /** `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
}

export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
};
