import { transactionHash } from './hash.js';
import type { Block, OpenBlock, OutPoint, Transaction, TxIn, TxOut } from './types.js';

/** One output with its name. */
export interface PlacedTxOut {
  readonly outPoint: OutPoint;
  readonly txOut: TxOut;
}

/** A transaction without the scripts of its inputs, which are most of its memory. */
export interface Unscripted extends Omit<Transaction, 'inputs'> {
  readonly inputs: readonly Pick<TxIn, 'previousOut'>[];
}

/** True for one input without previous output, and one output: the shape that coinbase and create transactions share. */
function isCreateCandidate(tx: Unscripted): boolean {
  return tx.inputs.length === 1 && tx.inputs[0]?.previousOut === null && tx.outputs.length === 1;
}

/** The names of all transactions of a block, the coinbase last. */
export function namesOf({ transactions, header }: Block): string[] {
  return [...transactions, header.miningTxHash];
}

/** The transaction with this number, in the order of `namesOf`; undefined where the block has names without transactions. */
export function transactionAt(full: OpenBlock, place: number): Transaction | undefined {
  return place === full.block.transactions.length ? full.miningTransaction : full.transactions.at(place);
}

/** True for the shape of a coinbase: nothing spent, one output of tokens. */
export function isCoinbase(tx: Unscripted): boolean {
  return isCreateCandidate(tx) && tx.outputs[0]?.value.kind === 'token';
}

/** True for the shape of an item creation: nothing spent, one output of items. */
export function isCreate(tx: Unscripted): boolean {
  return isCreateCandidate(tx) && tx.outputs[0]?.value.kind === 'item';
}

/** True when the transaction moves tokens. Whoever only creates items or passes them on needs none. */
export function movesTokens(tx: Transaction): boolean {
  const isToken = ({ value }: TxOut): boolean => value.kind === 'token';
  return tx.outputs.some(isToken) || tx.fees.some(isToken);
}

/** The outpoints that the inputs spend, in order; inputs without one are left out. */
export function spentOutPoints(tx: Transaction): OutPoint[] {
  const outPoints: OutPoint[] = [];
  for (const { previousOut } of tx.inputs) if (previousOut !== null) outPoints.push(previousOut);
  return outPoints;
}

/** The parts of a transaction that determine the outputs it creates. */
export type Creating = Pick<Transaction, 'outputs' | 'fees' | 'feesReplace'>;

/** All outputs that the transaction creates: outputs, then fees (decision B5), which in original blocks replace the first outputs. */
export function createdOutPoints(tx: Transaction, hash: string = transactionHash(tx)): PlacedTxOut[] {
  return placedOutputs(tx, hash);
}

/** The outputs as of `createdOutPoints`, of a transaction whose hash is known. */
export function placedOutputs({ outputs, fees, feesReplace }: Creating, hash: string): PlacedTxOut[] {
  const created = [...(feesReplace ? [] : outputs), ...fees, ...(feesReplace ? outputs.slice(fees.length) : [])];
  return created.map((txOut, n) => ({ outPoint: { tHash: hash, n }, txOut }));
}

/** The created output with the index `n`; undefined when there is none. */
export function createdOutput({ outputs, fees, feesReplace }: Creating, n: number): TxOut | undefined {
  if (feesReplace) return fees[n] ?? outputs[n];
  return n < outputs.length ? outputs[n] : fees[n - outputs.length];
}

/** True for an output that can never be spent, so that no node needs to keep it (docs/chain.md#conservation). */
export function isUnspendable({ scriptPublicKey }: TxOut): boolean {
  return scriptPublicKey === null;
}

/** Text of an outpoint, usable as a key of maps: `<n>-<t_hash>`, the form of wallet seeds. */
export function outPointKey(outPoint: OutPoint): string {
  return `${outPoint.n}-${outPoint.tHash}`;
}

/** True when two inputs spend the same output (decision B7). The reference finds out only when it builds a block. */
export function hasDuplicateInputs(tx: Transaction): boolean {
  const { inputs } = tx;
  if (inputs.length < 2) return false;
  const seen = new Set<string>();
  for (const { previousOut } of inputs) {
    if (previousOut === null) continue;
    const key = outPointKey(previousOut);
    if (seen.has(key)) return true;
    seen.add(key);
  }
  return false;
}

/**
 * Raw units paid, from the token amounts of the outputs without fees. The last of several outputs counts as change, as
 * wallets put it there: a guess. A transaction that spends nothing has no change.
 */
export function paidOf(spends: boolean, amounts: readonly bigint[]): bigint {
  const paid = spends && amounts.length > 1 ? amounts.slice(0, -1) : amounts;
  return paid.reduce((sum, amount) => sum + amount, 0n);
}
