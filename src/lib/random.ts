/** The interface for randomness: services take a `Random`, and tests pass a seeded one. */

import { randomBytes } from 'node:crypto';

export interface Random {
  /** Gives `length` unpredictable bytes. */
  bytes(length: number): Uint8Array;
}

export const systemRandom: Random = {
  bytes: (length) => randomBytes(length),
};
