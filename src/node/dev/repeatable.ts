/** Randomness of a network whose clock stands: its wallets and nodes have the same keys at every start, so its blocks the same hashes. */

import { sha3Bytes } from '../../crypto/sha3.js';
import { concatBytes } from '../../lib/bytes.js';
import type { Random } from '../../lib/random.js';

const HASH_BYTES = 32;

export class RepeatableRandom implements Random {
  readonly #seed: string;
  #count = 0;

  constructor(seed: string) {
    this.#seed = seed;
  }

  bytes(length: number): Uint8Array {
    const hashes = Array.from({ length: Math.ceil(length / HASH_BYTES) }, () =>
      sha3Bytes(`tessera dev random ${this.#seed} ${this.#count++}`),
    );
    return concatBytes(...hashes).slice(0, length);
  }
}
