/**
 * Funds that a wallet starts with on test and development networks: the `user_wallet_seeds` of a genesis file (node.md
 * §1.6). The keys are known to everyone who has the file.
 */

import { addressVersionOf } from '../chain/address.js';
import type { OutPoint } from '../chain/types.js';
import { fromHex, isHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import type { KeyPairRecord } from './service.js';

export interface WalletSeed {
  readonly outPoint: OutPoint;
  readonly keyPair: KeyPairRecord;
  /** Raw units. */
  readonly amount: bigint;
}

/** One entry as it stands in a genesis file; `amount` is exact when the file was read with exact integers. */
export interface WalletSeedEntry {
  readonly out_point: string;
  readonly secret_key: string;
  readonly public_key: string;
  readonly amount: number | bigint;
  readonly address_version: number | bigint | null;
}

/** Reads `{out_point: "<n>-<t_hash>", secret_key, public_key, amount, address_version}`. Throws `invalid_config`. */
export function parseWalletSeed(entry: WalletSeedEntry): WalletSeed {
  const match = /^(-?\d{1,10})-(.+)$/.exec(entry.out_point);
  const [, n, tHash] = match ?? [];
  if (n === undefined || tHash === undefined) throw invalid(entry, 'out_point is not "<n>-<t_hash>"');
  if (!isHex(entry.secret_key) || !isHex(entry.public_key)) throw invalid(entry, 'its keys are not hexadecimal');
  if (typeof entry.amount === 'number' && !Number.isSafeInteger(entry.amount)) {
    throw invalid(entry, 'its amount is not an exact integer');
  }
  return {
    outPoint: { tHash, n: Number(n) },
    keyPair: {
      publicKey: fromHex(entry.public_key),
      secretKey: fromHex(entry.secret_key),
      addressVersion: addressVersionOf(entry.address_version),
    },
    amount: BigInt(entry.amount),
  };
}

function invalid({ out_point }: WalletSeedEntry, why: string): TesseraError {
  return new TesseraError('invalid_config', `the wallet seed "${out_point.slice(0, 80)}" is wrong: ${why}`);
}
