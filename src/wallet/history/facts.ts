/** Facts that a transaction gives about itself, as the owner of some of its coins reads it. */

import { withFixedHash } from '../../chain/assets.js';
import { pay2pkhParts } from '../../chain/script/builders.js';
import { createdOutPoints, isCreate, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { type Coin, TOKENS } from '../coins/coin.js';
import type { MovementKind } from '../service.js';
import type { Amounts, Movement, MovementFacts, MovementOutput } from './movement.js';

const MAX_OUTPUTS = 16;
const MAX_SENDERS = 4;
const MAX_INPUTS = 64;

/** A transaction and the part of it that is this wallet's. */
export interface Concerned {
  readonly hash: string;
  readonly transaction: Transaction;
  /** Numbers of its outputs that go to this wallet. */
  readonly own: ReadonlySet<number>;
  /** Number of this wallet's coins that it spends, and their worth. */
  readonly inputs: number;
  readonly spent: Amounts;
  /** The mining transaction of a block. */
  readonly isReward?: boolean;
  /** Kind that it was made for; found out from its form when it was not made here. */
  readonly kind?: MovementKind;
}

export function factsOf(concerned: Concerned): MovementFacts {
  const { hash, transaction, own, inputs, spent } = concerned;
  const created = createdOutPoints(transaction, hash);
  const isPaidHere = inputs > 0 && spentOutPoints(transaction).length === inputs;
  const paysOthers = transaction.outputs.some((_, n) => !own.has(n));
  return {
    kind: concerned.kind ?? kindOf(concerned, isPaidHere && !paysOthers),
    from: isPaidHere ? [] : sendersOf(transaction),
    outputs: firstOutputs(hash, transaction, own),
    outputCount: created.length,
    leaves: paysOthers,
    fee: isPaidHere ? feeOf(transaction, spent) : null,
  };
}

/** The number of the change of an own payment; a merge has one output, which pays the wallet too. */
export function changeNumber(kind: MovementKind): number {
  return kind === 'merge' ? 0 : 1;
}

/** Movement of a transaction of which a refresh has brought these coins. */
export function seenOutputs(coins: readonly Coin[]): MovementFacts {
  const outputs = coins.slice(0, MAX_OUTPUTS).map(ownOutput);
  return { kind: 'payment', from: [], outputs, outputCount: coins.length, leaves: false, fee: null };
}

/** Movement of a transaction once these coins count as the wallet's too. */
export function joined(known: Movement, coins: readonly Coin[]): Pick<Movement, 'outputs' | 'outputCount' | 'leaves'> {
  const numbers = new Set(coins.map(({ outPoint }) => outPoint.n));
  const outputs = known.outputs.map((output) => (numbers.has(output.n) ? { ...output, own: true } : output));
  const listed = new Set(outputs.map(({ n }) => n));
  const more = coins.filter(({ outPoint }) => !listed.has(outPoint.n)).map(ownOutput);
  const all = [...outputs, ...more.slice(0, Math.max(0, MAX_OUTPUTS - outputs.length))];
  // Without a block, what was seen of others is all that is known of it.
  const isWhole = known.isOwn || known.height !== null;
  const outputCount = isWhole ? known.outputCount : known.outputCount + more.length;
  return {
    outputs: all,
    outputCount,
    leaves: known.leaves && (all.length < outputCount || all.some(({ own }) => !own)),
  };
}

function ownOutput({ outPoint: { n }, address, assetId, amount }: Coin): MovementOutput {
  return { n, address, assetId, amount, own: true };
}

/** Worth of coins, by asset. */
export function amountsOf(coins: readonly Pick<Coin, 'assetId' | 'amount'>[]): Amounts {
  const amounts = new Map<string, bigint>();
  for (const { assetId, amount } of coins) {
    if (amount > 0n) amounts.set(assetId, (amounts.get(assetId) ?? 0n) + amount);
  }
  return amounts;
}

function kindOf({ transaction, isReward }: Concerned, staysHere: boolean): MovementKind {
  if (isReward === true) return 'reward';
  if (transaction.druidInfo !== null) return 'trade';
  if (isCreate(transaction)) return 'item';
  return staysHere && transaction.outputs.length === 1 ? 'merge' : 'payment';
}

function sendersOf({ inputs }: Transaction): readonly string[] {
  const senders = new Set<string>();
  for (const { script } of inputs.slice(0, MAX_INPUTS)) {
    const address = pay2pkhParts(script)?.address;
    if (address !== undefined && address.length <= 64) senders.add(address);
    if (senders.size === MAX_SENDERS) break;
  }
  return [...senders];
}

/** Tokens that went in and came out in no output but those of the fee. */
function feeOf({ outputs }: Transaction, spent: Amounts): bigint {
  const paid = outputs.reduce((sum, { value }) => (value.kind === 'token' ? sum + value.amount : sum), 0n);
  return (spent.get(TOKENS) ?? 0n) - paid;
}

function firstOutputs(hash: string, transaction: Transaction, own: ReadonlySet<number>): readonly MovementOutput[] {
  const found: MovementOutput[] = [];
  const left = { own: MAX_OUTPUTS, others: MAX_OUTPUTS };
  for (const { outPoint, txOut } of createdOutPoints(transaction, hash)) {
    const isOwn = own.has(outPoint.n);
    const side = isOwn ? 'own' : 'others';
    if (left[side] === 0) continue;
    left[side] -= 1;
    const value = withFixedHash(txOut.value, outPoint);
    const assetId = value.kind === 'token' ? TOKENS : (value.genesisHash ?? '');
    found.push({ n: outPoint.n, address: txOut.scriptPublicKey, assetId, amount: value.amount, own: isOwn });
  }
  return found;
}

/** The coins of each transaction. */
export function byTransaction(coins: readonly Coin[]): ReadonlyMap<string, readonly Coin[]> {
  const groups = new Map<string, Coin[]>();
  for (const coin of coins) {
    const group = groups.get(coin.outPoint.tHash);
    if (group) group.push(coin);
    else groups.set(coin.outPoint.tHash, [coin]);
  }
  return groups;
}
