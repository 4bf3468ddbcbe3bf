/** Payments to admit: a genesis with many outputs of one key, and one signed transaction for each of them. */

import { addressOf } from '../src/chain/address.js';
import { tokenAsset } from '../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../src/chain/builders.js';
import { outPointKey } from '../src/chain/transaction.js';
import type { Transaction } from '../src/chain/types.js';
import { keyPairFromSeed } from '../src/crypto/ed25519.js';
import { sha3Bytes } from '../src/crypto/sha3.js';
import { toHex } from '../src/lib/bytes.js';
import { stringifyExact } from '../src/lib/json.js';

/** Different keys, as in real life: a verifier that caches keys must not look faster than it is. */
const KEYS = 1_000;
const AMOUNT = 1_000n;
const keys = Array.from({ length: KEYS }, (_, i) => keyPairFromSeed(sha3Bytes(`bench key ${i}`)));
const keyOf = (i: number) => keys[i % KEYS] ?? keyPairFromSeed(sha3Bytes(''));

/** The text of a genesis file with `count` outputs. */
export function benchGenesis(count: number): string {
  const outputs = Array.from({ length: count }, (_, i) => ({
    public_key: toHex(keyOf(i).publicKey),
    amount: Number(AMOUNT),
    locktime: 0,
  }));
  return stringifyExact({ mempool_seed_utxo: { '000000': outputs } });
}

/** Signed payments of the outputs `from` up to `from + count`: one input, two outputs. */
export function benchPayments(from: number, count: number): Transaction[] {
  return Array.from({ length: count }, (_, k) => {
    const n = from + k;
    const key = keyOf(n);
    const outPoint = { tHash: '000000', n };
    const outputs = [
      txOut(tokenAsset(400n), addressOf(keyOf(n + 1).publicKey)),
      txOut(tokenAsset(600n), addressOf(key.publicKey)),
    ];
    return assembleSigned({ inputs: [unsignedInput(outPoint)], outputs }, new Map([[outPointKey(outPoint), key]]));
  });
}
