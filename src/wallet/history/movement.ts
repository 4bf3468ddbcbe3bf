/** One movement of the wallet: a transaction as far as it concerns the wallet's coins, and its record on disk. */

import { withFixedHash } from '../../chain/assets.js';
import { type BincodeReader, BincodeWriter } from '../../chain/bincode.js';
import { pay2pkhParts } from '../../chain/script/builders.js';
import { createdOutPoints, isCreate, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { decodeRecord, readChoice } from '../../db/decode-record.js';
import { type Coin, TOKENS } from '../coins/coin.js';
import {
  MOVEMENT_KINDS,
  type MovementDirection,
  type MovementKind,
  PAYMENT_STATES,
  type WalletMovement,
} from '../service.js';

/** Raw units of tokens (`''`) and numbers of items by genesis hash. */
type Amounts = ReadonlyMap<string, bigint>;

interface MovementOutput {
  readonly n: number;
  readonly address: string | null;
  readonly assetId: string;
  readonly amount: bigint;
  /** True if the output came to this wallet by this movement. */
  readonly own: boolean;
}

export interface MovementFacts {
  readonly kind: MovementKind;
  /** Addresses whose keys signed the transaction, when not all of its inputs are of this wallet. */
  readonly from: readonly string[];
  /** The first outputs to each side; `outputCount` is the number of all. */
  readonly outputs: readonly MovementOutput[];
  readonly outputCount: number;
  /** True when an output goes to an address that is not of this wallet. */
  readonly leaves: boolean;
  /** Raw units of the fee, when this wallet has paid it. */
  readonly fee: bigint | null;
}

export interface Movement extends MovementFacts, Pick<WalletMovement, 'height' | 'peer' | 'reason' | 'state' | 'time'> {
  /** Number in the history: movements are numbered as this wallet learns of them. */
  readonly number: number;
  /** Hash of the transaction; null when the wallet does not know which one it was. */
  readonly hash: string | null;
  /** Hash in the chain, when it is another one (docs/wallet.md#payments). */
  readonly copyHash: string | null;
  readonly isOwn: boolean;
  /** Time when the wallet learned of the movement, in ms since the Unix epoch; 0 when that was not recorded. */
  readonly seenAt: number;
  readonly received: Amounts;
  readonly spent: Amounts;
}

export const UNKNOWN = {
  copyHash: null,
  isOwn: false,
  state: 'confirmed',
  reason: '',
  peer: null,
  seenAt: 0,
  height: null,
  time: null,
  received: new Map() as Amounts,
  spent: new Map() as Amounts,
} as const;

/** True for movements that count; rejected ones move nothing. */
export function counts({ state }: Pick<Movement, 'state'>): boolean {
  return state !== 'rejected';
}

/** Numbers of the movement's outputs that count as own, as far as they are recorded. */
export function ownNumbers({ outputs }: MovementFacts): ReadonlySet<number> {
  return new Set(outputs.flatMap(({ own, n }) => (own ? [n] : [])));
}

export function sumOf(a: Amounts, b: Amounts, sign: 1n | -1n = 1n): Map<string, bigint> {
  const sum = new Map(a);
  for (const [assetId, amount] of b) {
    const total = (sum.get(assetId) ?? 0n) + sign * amount;
    if (total === 0n) sum.delete(assetId);
    else sum.set(assetId, total);
  }
  return sum;
}

export function netOf({ received, spent }: Pick<Movement, 'received' | 'spent'>): Amounts {
  return sumOf(received, spent, -1n);
}

type Moved = Pick<Movement, 'received' | 'spent' | 'leaves' | 'fee' | 'isOwn' | 'outputs'>;

export function directionOf(movement: Moved): MovementDirection {
  const { spent, leaves } = movement;
  if (spent.size === 0) return 'in';
  if (isPaidHere(movement)) return leaves ? 'out' : 'self';
  const [first = 0n] = netOf(movement).values();
  const tokens = netOf(movement).get(TOKENS) ?? first;
  if (tokens === 0n) return 'self';
  return tokens > 0n ? 'in' : 'out';
}

/** True when all inputs are the wallet's: they are what it pays, change and fee. */
function isPaidHere({ isOwn, fee }: Moved): boolean {
  return isOwn || fee !== null;
}

/** Amounts that were moved: received, paid to others, or paid to the wallet itself; without change and fee. */
export function movedBy(movement: Moved): Amounts {
  const direction = directionOf(movement);
  if (movement.spent.size === 0) return movement.received;
  if (!isPaidHere(movement)) {
    return new Map([...netOf(movement)].map(([assetId, net]) => [assetId, net < 0n ? -net : net]));
  }
  if (direction === 'out') {
    const fee = new Map([[TOKENS, movement.fee ?? 0n]]);
    return sumOf(sumOf(movement.spent, movement.received, -1n), fee, -1n);
  }
  const [paid] = movement.outputs;
  return new Map(paid === undefined ? [] : [[paid.assetId, paid.amount]]);
}

const scratch = new BincodeWriter();

export function encodeMovement(movement: Movement): Uint8Array {
  const to = scratch.reset();
  to.u8(MOVEMENT_KINDS.indexOf(movement.kind));
  to.u8(PAYMENT_STATES.indexOf(movement.state));
  to.u8((movement.isOwn ? 1 : 0) | (movement.leaves ? 2 : 0));
  to.optionalString(movement.hash);
  to.optionalString(movement.copyHash);
  to.string(movement.reason);
  to.optionalString(movement.peer);
  to.u64(BigInt(Math.floor(movement.seenAt)));
  writeOptional(to, movement.height);
  writeOptional(to, movement.time);
  writeAmounts(to, movement.received);
  writeAmounts(to, movement.spent);
  to.optionalString(movement.fee === null ? null : String(movement.fee));
  writeList(to, movement.from, (address) => to.string(address));
  to.u32(movement.outputCount);
  writeList(to, movement.outputs, (output) => {
    to.u32(output.n);
    to.optionalString(output.address);
    to.string(output.assetId);
    to.u64(output.amount);
    to.u8(output.own ? 1 : 0);
  });
  return to.toBytes();
}

/** A movement from its record. Throws `wallet_unreadable`. */
export function decodeMovement(number: number, bytes: Uint8Array): Movement {
  return decodeRecord('movement', bytes, (from) => readMovement(number, from), 'wallet_unreadable');
}

function readMovement(number: number, from: BincodeReader): Movement {
  const kind = readChoice(from, MOVEMENT_KINDS);
  const state = readChoice(from, PAYMENT_STATES);
  const flags = from.u8();
  const hash = from.optionalString();
  const copyHash = from.optionalString();
  const reason = from.string();
  const peer = from.optionalString();
  const seenAt = from.number64();
  const [height, time] = [readOptional(from), readOptional(from)];
  const [received, spent] = [readAmounts(from), readAmounts(from)];
  const fee = from.optionalString();
  const senders = from.list(1, () => from.string());
  const outputCount = from.u32();
  const outputs = from.list(1, () => ({
    n: from.u32(),
    address: from.optionalString(),
    assetId: from.string(),
    amount: from.u64(),
    own: from.u8() === 1,
  }));
  const { isOwn, leaves } = { isOwn: (flags & 1) !== 0, leaves: (flags & 2) !== 0 };
  const facts = { kind, from: senders, outputs, outputCount, leaves, fee: fee === null ? null : BigInt(fee) };
  const whole = { ...facts, number, hash, copyHash, isOwn, state, reason, peer, seenAt, height, time };
  return { ...whole, received, spent };
}

function writeOptional(to: BincodeWriter, value: number | null): void {
  to.u8(value === null ? 0 : 1);
  if (value !== null) to.i64(BigInt(value));
}

function readOptional(from: BincodeReader): number | null {
  return from.option() ? Number(from.i64()) : null;
}

/** Writes amounts as texts: sums of items have no bound. */
function writeAmounts(to: BincodeWriter, amounts: Amounts): void {
  writeList(to, [...amounts], ([assetId, amount]) => {
    to.string(assetId);
    to.string(String(amount));
  });
}

function readAmounts(from: BincodeReader): Amounts {
  return new Map(from.list(2, () => [from.string(), BigInt(from.string())] as const));
}

function writeList<T>(to: BincodeWriter, list: readonly T[], write: (item: T) => void): void {
  to.length64(list.length);
  for (const item of list) write(item);
}

const MAX_OUTPUTS = 16;
const MAX_SENDERS = 4;
const MAX_INPUTS = 64;

/** A transaction and the part of it that concerns this wallet. */
export interface Concerned {
  readonly hash: string;
  readonly transaction: Transaction;
  /** Numbers of the outputs that go to this wallet. */
  readonly own: ReadonlySet<number>;
  readonly inputs: number;
  readonly spent: Amounts;
  readonly isReward?: boolean;
  /** Kind that the transaction was made for; taken from its form when it was not made here. */
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

/** The number of the output with the change of an own payment; a merge has one output, which pays the wallet too. */
export function changeNumber(kind: MovementKind): number {
  return kind === 'merge' ? 0 : 1;
}

/** Facts of a transaction of which a refresh has brought these coins. */
export function seenOutputs(coins: readonly Coin[]): MovementFacts {
  const outputs = coins.slice(0, MAX_OUTPUTS).map(ownOutput);
  return { kind: 'payment', from: [], outputs, outputCount: coins.length, leaves: false, fee: null };
}

/** Outputs of a movement once these coins count as the wallet's too. */
export function joined(known: Movement, coins: readonly Coin[]): Pick<Movement, 'outputs' | 'outputCount' | 'leaves'> {
  const numbers = new Set(coins.map(({ outPoint }) => outPoint.n));
  const outputs = known.outputs.map((output) => (numbers.has(output.n) ? { ...output, own: true } : output));
  const listed = new Set(outputs.map(({ n }) => n));
  const more = coins.filter(({ outPoint }) => !listed.has(outPoint.n)).map(ownOutput);
  const all = [...outputs, ...more.slice(0, Math.max(0, MAX_OUTPUTS - outputs.length))];
  // Only some outputs of a stranger's transaction are known until it is in a block.
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

/** Fee in tokens: inputs without all outputs but those of the fee. */
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

export function byTransaction(coins: readonly Coin[]): ReadonlyMap<string, readonly Coin[]> {
  const groups = new Map<string, Coin[]>();
  for (const coin of coins) {
    const group = groups.get(coin.outPoint.tHash);
    if (group) group.push(coin);
    else groups.set(coin.outPoint.tHash, [coin]);
  }
  return groups;
}
