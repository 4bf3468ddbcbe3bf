/** One outpoint of the wallet, its states, and its record on disk. */

import { withFixedHash } from '../../chain/assets.js';
import { type BincodeReader, BincodeWriter } from '../../chain/bincode.js';
import { readAsset, readOutPoint, writeAsset, writeOutPoint } from '../../chain/codec.js';
import { outPointKey } from '../../chain/transaction.js';
import type { Asset, OutPoint, TxOut } from '../../chain/types.js';
import { decodeRecord, readChoice } from '../../db/decode-record.js';
import { compareUtf8 } from '../../lib/bytes.js';

/**
 * `expected`: own output, in no block yet. `unspent`: of the chain. `aside`: kept for a trade. `reserved`: input of a payment being built,
 * in memory only. `pending`: input of an own transaction in no block. `spent`: for good.
 */
export type CoinState = 'expected' | 'unspent' | 'aside' | 'reserved' | 'pending' | 'spent';

export interface Coin {
  readonly key: string;
  readonly outPoint: OutPoint;
  /** Content of the output, with its genesis hash set (decision V6). */
  readonly value: Asset;
  readonly amount: bigint;
  /** Genesis hash of an item; empty for tokens. */
  readonly assetId: string;
  readonly address: string;
  /** Number of the batch (block, refresh, payment) in which the coin came; orders the pages (decision V12). */
  readonly arrival: number;
  readonly locktime: bigint;
  state: CoinState;
  /** False while the coin is an output of an own transaction that no block has yet. */
  inChain: boolean;
  /** Hash of the own transaction that makes an `expected` or spends a `pending` coin, id of the trade of an `aside` one; else null. */
  by: string | null;
}

/** States in records. `chained`: pending, and not in the chain. `promised`: aside, and not in the chain. */
type RecordState = CoinState | 'chained' | 'promised';
/** States by their index in records: new states go to the end. */
const STATES: readonly RecordState[] = [
  'expected',
  'unspent',
  'reserved',
  'pending',
  'spent',
  'chained',
  'aside',
  'promised',
];

export const TOKENS = '';

function assetIdOf(asset: Asset): string {
  return asset.kind === 'token' ? TOKENS : (asset.genesisHash ?? '');
}

/** The order of pages: by arrival, then by outpoint (decision V12). */
export function compareCoins(a: Coin, b: Coin): number {
  return a.arrival - b.arrival || compareUtf8(a.outPoint.tHash, b.outPoint.tHash) || a.outPoint.n - b.outPoint.n;
}

// Encoding is synchronous, so one buffer serves every call.
const scratch = new BincodeWriter();

export function encodeCoin(coin: Coin): Uint8Array {
  const to = scratch.reset();
  to.u8(STATES.indexOf(recordState(coin)));
  writeOutPoint(to, coin.outPoint);
  writeAsset(to, coin.value);
  to.string(coin.address);
  to.u64(BigInt(coin.arrival));
  to.u64(coin.locktime);
  to.optionalString(coin.by);
  return to.toBytes();
}

/** A coin from its record. Throws `wallet_unreadable`. */
export function decodeCoin(key: string, bytes: Uint8Array): Coin {
  return decodeRecord('coin', bytes, (from) => readCoin(key, from), 'wallet_unreadable');
}

function readCoin(key: string, from: BincodeReader): Coin {
  const stored = readChoice(from, STATES);
  const outPoint = readOutPoint(from);
  const value = readAsset(from);
  const address = from.string();
  const arrival = from.number64();
  const locktime = from.u64();
  const by = from.optionalString();
  const state = stored === 'chained' ? 'pending' : stored === 'promised' ? 'aside' : stored;
  const inChain = stored !== 'chained' && stored !== 'expected' && stored !== 'promised';
  const txOut = { value, locktime, scriptPublicKey: address };
  return { ...newCoin(outPoint, txOut, address, arrival, state, by), key, inChain };
}

/** State for the record. A reservation ends with the process, so a reserved coin is stored as free. */
function recordState({ state, inChain }: Coin): RecordState {
  if (state === 'reserved') return inChain ? 'unspent' : 'expected';
  if (inChain) return state;
  return state === 'pending' ? 'chained' : state === 'aside' ? 'promised' : state;
}

/** True for coins that count as owned; inputs of a payment being built count until the payment is made. */
export function isListed({ state }: Coin): boolean {
  return state === 'unspent' || state === 'expected' || state === 'reserved' || state === 'aside';
}

/** True for coins that are unspent in the chain and taken by no own transaction. */
export function isCounted({ state, inChain }: Coin): boolean {
  return state === 'unspent' || (state === 'aside' && inChain);
}

export function freed({ inChain, outPoint }: Coin): { readonly state: CoinState; readonly by: string | null } {
  return inChain ? { state: 'unspent', by: null } : { state: 'expected', by: outPoint.tHash };
}

export function newCoin(
  outPoint: OutPoint,
  txOut: TxOut,
  address: string,
  arrival: number,
  state: Coin['state'],
  by: string | null,
): Coin {
  const value = withFixedHash(txOut.value, outPoint);
  return {
    key: outPointKey(outPoint),
    outPoint,
    value,
    amount: value.amount,
    assetId: assetIdOf(value),
    address,
    arrival,
    locktime: txOut.locktime,
    state,
    inChain: state !== 'expected',
    by,
  };
}
