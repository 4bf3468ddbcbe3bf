/** Data that signatures cover, and names of parties of a trade (docs/chain.md#signables): 64 hex characters in ASCII. */

import { sha3Hex, sha3HexAfter } from '../crypto/sha3.js';
import { toHex } from '../lib/bytes.js';
import { outPointJson, txOutJson } from './json.js';
import { opcodeName } from './script/opcodes.js';
import type { Asset, OutPoint, StackEntry, TxIn, TxOut } from './types.js';

/** Number of characters of outputs from which on copying the state of a hash is cheaper than hashing them again. */
const HASHED_ONCE_FROM = 2_048;

/** The outputs' part of a signable: the same for every input, so compute it once (docs/chain.md#signables). */
export function outputsPreimage(outputs: readonly TxOut[]): string {
  let preimage = '';
  for (const output of outputs) preimage += txOutJson(output);
  return preimage;
}

/** The signable of one input, given `outputsPreimage` of the transaction (docs/chain.md#signables). */
export function signableOf(preimageOfOutputs: string, previousOut: OutPoint | null): string {
  return sha3Hex(preimageOfOutputs + outPointJson(previousOut));
}

/** The signables of the inputs of a transaction with these outputs. Many outputs are hashed once: no quadratic work. */
export function signablesFor(outputs: readonly TxOut[]): (previousOut: OutPoint | null) => string {
  const preimage = outputsPreimage(outputs);
  if (preimage.length < HASHED_ONCE_FROM) return (previousOut) => signableOf(preimage, previousOut);
  const signableAfter = sha3HexAfter(preimage);
  return (previousOut) => signableAfter(outPointJson(previousOut));
}

/** Data that a signature covered before April 2024: the outpoint alone (docs/chain.md#eras). */
export function outPointSignable(outPoint: OutPoint): string {
  return sha3Hex(outPointText(outPoint));
}

/** The signable of an item creation: kind and amount only, neither metadata nor address (docs/chain.md#signables). */
export function assetSignable(asset: Asset): string {
  return sha3Hex(`${asset.kind === 'token' ? 'Token' : 'Item'}:${asset.amount}`);
}

/** The text behind `txInsAddress` (docs/chain.md#parties). */
export function txInsPreimage(inputs: readonly TxIn[]): string {
  return inputs
    .map(({ previousOut, script }) => {
      const outPoint = previousOut === null ? 'null' : outPointText(previousOut);
      return `${outPoint}-${script.map(entryText).join('-')}`;
    })
    .join('-');
}

/** The name of a party of a trade, made from its signed inputs; the `from` of an expectation. */
export function txInsAddress(inputs: readonly TxIn[]): string {
  return sha3Hex(txInsPreimage(inputs));
}

function outPointText(outPoint: OutPoint): string {
  return `${outPoint.n}-${outPoint.tHash}`;
}

function entryText(entry: StackEntry): string {
  switch (entry.kind) {
    case 'op':
      return `Op:${opcodeName(entry.op)}`;
    case 'signature':
      return `Signature:${toHex(entry.bytes)}`;
    case 'pubkey':
      return `PubKey:${toHex(entry.bytes)}`;
    case 'num':
      return `Num:${entry.value}`;
    case 'bytes':
      return `Bytes:${entry.text}`;
  }
}
