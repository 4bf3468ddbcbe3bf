/** Unspent outputs by number, as random as those of a chain: the same ones in every run. */

import type { OutPoint, TxOut } from '../src/chain/types.js';

/** 32 hex digits as random as those of a hash, for a number. */
function digits(i: number): string {
  let text = '';
  for (let k = 1; k <= 4; k++) {
    let x = (Math.imul(i, 4) + k) | 0;
    x = Math.imul(x ^ (x >>> 16), 0x21f0_aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a_2d97);
    text += ((x ^ (x >>> 15)) >>> 0).toString(16).padStart(8, '0');
  }
  return text;
}

export const manyOutPoint = (i: number): OutPoint => ({ tHash: `g${digits(i).slice(0, 31)}`, n: i & 1 });

/** Pays an address of its own. */
export const manyOutput = (i: number): TxOut => ({
  value: { kind: 'token', amount: BigInt(i + 1) },
  locktime: 0n,
  scriptPublicKey: digits(i) + digits(i + 7),
});
