/** Finds the state of own transactions at a mempool node. Spent inputs reject none: only a block says what spent them. */

import { createdOutPoints, outPointKey, spentOutPoints } from '../chain/transaction.js';
import type { OutPoint, Transaction, TxOut, Utxo } from '../chain/types.js';
import { TesseraError } from '../lib/errors.js';
import { MAX_LIST, type MessageBody } from '../peers/messages.js';
import type { Link, RequestOptions } from '../peers/network.js';
import type { OwnTransaction } from '../wallet/payments/outgoing.js';

/** Pattern of a hash in messages between nodes. The outputs of a node that lies may name anything. */
const ASKABLE = /^[\x21-\x7e]{1,128}$/;

export type TransactionStatus = MessageBody<'statuses'>['statuses'][number];

/**
 * `confirmed`: in the chain. `copied`: a copy with another hash is. `admitted`: the mempool node has it. `missing`: it was admitted, but is
 * gone, and must be sent again. `absent`: in no block, and never will be if its form is refused too. `open`: nothing is proven.
 */
export type Finding = 'confirmed' | 'copied' | 'admitted' | 'missing' | 'absent' | 'open';

export class Evidence {
  readonly #entries: readonly OwnTransaction[];
  readonly #wanted = new Set<string>();
  readonly #present = new Set<string>();
  /** Change by index and address: outputs to an address that no other payment has for the same amount (`keys/own-outputs.ts`). */
  readonly #changes = new Map<string, { readonly hash: string; readonly txOut: TxOut }>();
  readonly #copied = new Set<string>();

  /** Takes entries in the order in which they were made, each with all its parents that are in flight. */
  constructor(entries: readonly OwnTransaction[]) {
    this.#entries = entries;
    for (const { hash, kind, transaction } of entries) {
      for (const outPoint of outPointsOf(hash, transaction)) this.#wanted.add(outPointKey(outPoint));
      // A payment pays, then gives change; a merge has one output, to an address of its own.
      const n = kind === 'merge' ? 0 : 1;
      const txOut = kind === 'item' ? undefined : transaction.outputs[n];
      if (txOut) this.#changes.set(`${n} ${txOut.scriptPublicKey}`, { hash, txOut });
    }
  }

  /** Records outputs that the mempool node reports as unspent. */
  note(utxos: readonly Utxo[]): void {
    for (const [outPoint, txOut] of utxos) {
      const key = outPointKey(outPoint);
      if (this.#wanted.has(key)) this.#present.add(key);
      const change = this.#changes.get(`${outPoint.n} ${txOut.scriptPublicKey}`);
      if (change && change.hash !== outPoint.tHash && isSameOutput(change.txOut, txOut)) this.#copied.add(change.hash);
    }
  }

  /** Hashes of foreign parents of transactions that were admitted but neither wait nor are in the chain: their statuses are needed too. */
  creators(statuses: ReadonlyMap<string, TransactionStatus>): readonly string[] {
    const creators = new Set<string>();
    for (const { hash, state, transaction } of this.#entries) {
      const status = statuses.get(hash)?.status;
      if (state !== 'sent' || status === 'Pending' || status === 'Confirmed') continue;
      for (const { tHash } of spentOutPoints(transaction)) creators.add(tHash);
    }
    for (const { hash } of this.#entries) creators.delete(hash);
    return [...creators].filter((hash) => ASKABLE.test(hash));
  }

  /** Findings by hash, in order. The statuses, those of `creators` among them, must have been asked for before the outputs. */
  findings(statuses: ReadonlyMap<string, TransactionStatus>): ReadonlyMap<string, Finding> {
    const inChain = this.#inChain(statuses);
    const findings = new Map<string, Finding>();
    for (const entry of this.#entries) {
      const parents = spentOutPoints(entry.transaction).flatMap(({ tHash }) => findings.get(tHash) ?? []);
      if (statuses.get(entry.hash)?.status === 'Pending') findings.set(entry.hash, 'admitted');
      else if (inChain.has(entry.hash)) findings.set(entry.hash, 'confirmed');
      else findings.set(entry.hash, this.#findingByInputs(entry, parents, statuses));
    }
    return findings;
  }

  /** Hashes of transactions that are proven to be in the chain, and of their parents. */
  #inChain(statuses: ReadonlyMap<string, TransactionStatus>): ReadonlySet<string> {
    const inChain = new Set<string>();
    for (const { hash, transaction } of [...this.#entries].reverse()) {
      const status = statuses.get(hash)?.status;
      const hasOutput = createdOutPoints(transaction, hash).some(({ outPoint }) => this.#isPresent(outPoint));
      if (!inChain.has(hash) && status !== 'Confirmed' && (status === 'Pending' || !hasOutput)) continue;
      inChain.add(hash);
      for (const { tHash } of spentOutPoints(transaction)) inChain.add(tHash);
    }
    return inChain;
  }

  /** What the inputs of a transaction tell. `parents`: findings about its parents in flight. */
  #findingByInputs(
    { hash, transaction, state }: OwnTransaction,
    parents: readonly Finding[],
    statuses: ReadonlyMap<string, TransactionStatus>,
  ): Finding {
    const inputs = spentOutPoints(transaction);
    const isWaiting = parents.some((found) => found !== 'confirmed');
    // A transaction with an unspent input is in no block, nor is a transaction with an input that does not exist yet.
    if (isWaiting || inputs.length === 0 || inputs.some((outPoint) => this.#isPresent(outPoint))) {
      if (state === 'sent') return 'missing';
      return parents.includes('open') ? 'open' : 'absent';
    }
    if (this.#copied.has(hash)) return 'copied';
    if (state !== 'sent') return 'open';
    // An input may be absent because the block that made it was given up, and with it this transaction.
    const isGivenUp =
      statuses.get(hash)?.status === 'Rejected' ||
      inputs.some(({ tHash }) => {
        const creator = statuses.get(tHash)?.status;
        return creator !== undefined && creator !== 'Confirmed';
      });
    // Nothing else can spend the inputs of an admitted transaction: if they are spent, it is in the chain.
    return isGivenUp ? 'missing' : 'confirmed';
  }

  #isPresent(outPoint: OutPoint): boolean {
    return this.#present.has(outPointKey(outPoint));
  }
}

function outPointsOf(hash: string, transaction: Transaction): OutPoint[] {
  return [...spentOutPoints(transaction), ...createdOutPoints(transaction, hash).map(({ outPoint }) => outPoint)];
}

function isSameOutput(a: TxOut, b: TxOut): boolean {
  return a.value.kind === b.value.kind && a.value.amount === b.value.amount && a.locktime === b.locktime;
}

/** Payments that are looked for at once; the others have their turn at the next look. */
const MAX_ASKED = 100;

/**
 * Looks for payments by their outputs for others, since a payment without change leaves the wallet none. A page may begin behind an output
 * that exists, so one question tells of one output. Returns payments with an unspent output; the others may be in the chain too.
 */
export async function findPaid(
  link: Link,
  payments: readonly OwnTransaction[],
  options: RequestOptions,
): Promise<ReadonlyMap<string, TransactionStatus>> {
  const found = new Map<string, TransactionStatus>();
  for (const { hash, transaction } of payments.slice(0, MAX_ASKED)) {
    const [paid] = createdOutPoints(transaction, hash);
    const address = paid?.txOut.scriptPublicKey ?? null;
    if (paid === undefined || address === null) continue;
    const after = { t_hash: paid.outPoint.tHash, n: paid.outPoint.n };
    try {
      const answer = await link.request('utxos.get', { addresses: [address], after }, options);
      if (answer.type === 'utxos') found.set(hash, { hash, status: 'Confirmed', info: 'its payee has it' });
    } catch {
      // The output is not there, or the node does not say.
      options.signal?.throwIfAborted();
    }
  }
  return found;
}

/** Statuses by hash; hashes that the node does not know are absent. */
export async function fetchStatuses(
  link: Link,
  wanted: readonly string[],
  options: RequestOptions,
): Promise<ReadonlyMap<string, TransactionStatus>> {
  const found = new Map<string, TransactionStatus>();
  for (let at = 0; at < wanted.length; at += MAX_LIST) {
    const hashes = wanted.slice(at, at + MAX_LIST);
    const answer = await link.request('statuses.get', { hashes }, options);
    if (answer.type !== 'statuses') throw unexpected(link, answer.type);
    for (const status of (answer.body as MessageBody<'statuses'>).statuses) found.set(status.hash, status);
  }
  return found;
}

export function unexpected(link: Link, type: string): TesseraError {
  return new TesseraError('protocol_violation', `${link.address} answered ${type}, which was not asked for`);
}
