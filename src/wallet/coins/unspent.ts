/** Unspent outputs as a mempool node lists them, and the choice among them, for wallets that keep no coins of their own. */

import { withFixedHash } from '../../chain/assets.js';
import { at, readArray, readObject, rootPlace } from '../../chain/json-fields.js';
import { parseAsset, parseOutPoint } from '../../chain/json-read.js';
import { createdOutput, outPointKey } from '../../chain/transaction.js';
import type { Asset, OutPoint, Transaction } from '../../chain/types.js';
import { TesseraError } from '../../lib/errors.js';
import { fault, type Verdict } from '../../lib/fault.js';
import { selectCoins } from './coin-selection.js';

/** The most inputs of one transaction, and the smallest sound change in raw units: the values of wallets. */
const LIMITS = { maxInputs: 500, dust: 72_072n };

export interface Unspent {
  readonly outPoint: OutPoint;
  readonly address: string;
  readonly value: Asset;
}

/** The outputs in an answer of `getBalances` or `queryBalances`. Throws `malformed_transaction` for anything else. */
export function unspentIn(answer: unknown): Unspent[] {
  const balance = readObject(readObject(answer, rootPlace('')).balance, rootPlace('balance'));
  const place = at(rootPlace('balance'), 'address_list');
  return Object.entries(readObject(balance.address_list, place)).flatMap(([address, outputs]) =>
    readArray(outputs, at(place, address), (entry, where) => {
      const object = readObject(entry, where);
      const outPoint = parseOutPoint(object.out_point, at(where, 'out_point'));
      return { outPoint, address, value: withFixedHash(parseAsset(object.value, at(where, 'value')), outPoint) };
    }),
  );
}

/** Outputs of tokens, or of this item, as few as cover the total. Throws `insufficient_funds`. */
export function chooseUnspent(unspent: readonly Unspent[], total: bigint, item?: string): readonly Unspent[] {
  const fitting = unspent.filter(({ value }) => (value.kind === 'token' ? undefined : value.genesisHash) === item);
  const coins = fitting.map((one) => ({ one, amount: one.value.amount }));
  coins.sort((a, b) => (a.amount < b.amount ? -1 : a.amount > b.amount ? 1 : 0));
  const selection = selectCoins(coins, total, item === undefined ? LIMITS : { ...LIMITS, dust: 0n });
  if (selection.kind === 'found') return selection.coins.map(({ one }) => one);
  const [most, why] =
    selection.kind === 'short'
      ? [selection.total, 'the addresses hold']
      : [selection.reachable, `the largest ${LIMITS.maxInputs} outputs, as many as fit, hold`];
  throw new TesseraError('insufficient_funds', `${why} ${most}, and ${total} are to be paid`);
}

/** Fault of an output that is said to hold something else, or to belong to somebody else, than in the transaction that made it. */
export function unspentFault({ outPoint, address, value }: Unspent, maker: Transaction): Verdict {
  const name = outPointKey(outPoint);
  const broken = (message: string): Verdict => fault('malformed_transaction', message);
  const made = createdOutput(maker, outPoint.n);
  if (made === undefined) return broken(`there is no ${name}: the transaction has no such output`);
  const [held, said] = [withFixedHash(made.value, outPoint), withFixedHash(value, outPoint)];
  if (nameOfAsset(held) !== nameOfAsset(said) || held.amount !== said.amount) {
    const truth = `it holds ${held.amount} ${nameOfAsset(held)}, not ${said.amount} ${nameOfAsset(said)}`;
    return broken(`what is said of ${name} is wrong: ${truth}`);
  }
  return made.scriptPublicKey === address ? null : broken(`${name} does not belong to ${address}`);
}

export function nameOfAsset(value: Asset): string {
  return value.kind === 'token' ? 'raw units' : `items of ${value.genesisHash}`;
}
