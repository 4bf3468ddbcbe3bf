/**
 * A mempool node as small as a wallet's tests allow: real links, real rules for transactions, one set of outputs in memory,
 * and a block whenever the test asks for one.
 */

import { coinbaseTransaction } from '../../src/chain/builders.js';
import { decodeTransactions, encodeUtxos } from '../../src/chain/decode-in-pieces.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints, isCreate, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { type ErrorCode, TesseraError } from '../../src/lib/errors.js';
import type { Signer } from '../../src/mempool/blocks/signer.js';
import type { MessageBody } from '../../src/peers/messages.js';
import type { PeerNetwork, Reply } from '../../src/peers/network.js';
import { encodeFullBlock } from './full-block.js';
import { createFault, transactionFault } from './validate.js';
import { block, NOBODY, type WholeBlock } from './wallet-fixtures.js';

type StatusKind = 'Pending' | 'Confirmed' | 'Rejected';

export interface FakeMempool {
  readonly utxos: Map<string, readonly [OutPoint, TxOut]>;
  readonly statuses: Map<string, StatusKind>;
  /** Hashes of every submission, repeated ones included. */
  readonly submissions: string[];
  /** Last block; -1 before the first. */
  readonly height: number;
  /** Every block by height, as it was signed; block 0 only where blocks are signed. */
  readonly blocks: Map<number, WholeBlock>;
  /** Answers submissions with this code while set: every one, or those that the function has a code for. */
  refuseWith: ErrorCode | ((hash: string) => ErrorCode | undefined) | undefined;
  /** Admits, but lets the answer get lost; and does not say whether it takes transactions. */
  silent: boolean;
  /** How often it was asked for its certificate, and whether it takes transactions. */
  asked: number;
  /** What it says why it takes none. */
  unready: string | undefined;
  /** Refuses what is behind more transactions of the pool. */
  maxAncestors: number;
  /** Answers no page of outputs. */
  failPages: boolean;
  /** How many it has not answered. */
  failedPages: number;
  /** Outputs of one page. */
  maxUtxos: number;
  /** Names another block as the last one. */
  pretend(hash: string): void;
  /** Answers every page with the first one. */
  loop: boolean;
  /** Signs, where it can. */
  sign: boolean;
  /** Puts a transaction into the pool that somebody else has sent. */
  admit(transaction: Transaction): void;
  /** Loses its pool and its statuses. */
  forget(): void;
  /** Puts outputs into the set by hand. */
  grant(outputs: readonly TxOut[]): void;
  /** Closes a block of everything admitted, and tells every wallet that is linked unless `tell` is false. */
  mine(options?: { readonly rewardTo?: string; readonly reward?: bigint; readonly tell?: boolean }): void;
}

/** `signer`: signs blocks and vouches for the node; without one it is the mempool of a network that names no producers. */
export function createFakeMempool(network: PeerNetwork, signer?: Signer): FakeMempool {
  const utxos = new Map<string, readonly [OutPoint, TxOut]>();
  const statuses = new Map<string, StatusKind>();
  const pool = new Map<string, Transaction>();
  const submissions: string[] = [];
  let grants = 0;
  /** Block 0 is stored: what is granted is there from the beginning. */
  let height = 0;
  /** Hash of that block; null for block 0, which nobody has seen, unless blocks are signed. */
  let tip: string | null = null;
  const blocks = new Map<number, WholeBlock>();
  if (signer !== undefined) {
    const { full, hash } = block(0, []);
    tip = hash;
    blocks.set(0, { full, hash, certificate: signer.block({ height, hash }) });
  }

  const certified = () =>
    signer === undefined || tip === null || !fake.sign ? {} : { certificate: signer.block({ height, hash: tip }) };

  /** Those of the pool that it is behind. */
  function ancestorsOf(transaction: Transaction): Set<string> {
    const found = new Set<string>();
    const open = [transaction];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const { tHash } of spentOutPoints(next)) {
        const parent = pool.get(tHash);
        if (parent === undefined || found.has(tHash)) continue;
        found.add(tHash);
        open.push(parent);
      }
    }
    return found;
  }

  function admit(transaction: Transaction): { code: string; detail: string } | undefined {
    const hash = transactionHash(transaction);
    submissions.push(hash);
    const refusal = typeof fake.refuseWith === 'function' ? fake.refuseWith(hash) : fake.refuseWith;
    if (refusal !== undefined) return { code: refusal, detail: 'as the test wants' };
    if (statuses.has(hash)) return undefined;
    if (ancestorsOf(transaction).size > fake.maxAncestors) return { code: 'too_many_ancestors', detail: hash };
    const lookup = (outPoint: OutPoint) => {
      const parent = pool.get(outPoint.tHash);
      const created = parent && createdOutPoints(parent).find(({ outPoint: { n } }) => n === outPoint.n);
      return created?.txOut ?? utxos.get(outPointKey(outPoint))?.[1];
    };
    const verdict = isCreate(transaction)
      ? createFault(transaction)
      : transactionFault(transaction, BigInt(Math.max(height, 0)), lookup);
    const taken = [...pool.values()].flatMap(spentOutPoints).map(outPointKey);
    if (spentOutPoints(transaction).some((outPoint) => taken.includes(outPointKey(outPoint)))) {
      return { code: 'double_spend', detail: hash };
    }
    if (verdict !== null) return { code: 'unknown_input', detail: verdict.message };
    pool.set(hash, transaction);
    statuses.set(hash, 'Pending');
    return undefined;
  }

  network.handle('transactions.submit', async (_, { attachment }) => {
    const refusals = decodeTransactions(attachment).map(admit);
    if (fake.silent) await new Promise(() => undefined);
    const refusal = refusals.find((found) => found !== undefined);
    return { type: 'transactions.result', body: { accepted: !refusal, code: '', detail: '', ...refusal } };
  });
  network.handle('utxos.get', (_, { body }) => {
    const found: (readonly [OutPoint, TxOut])[] = [];
    const answer = (next?: MessageBody<'utxos'>['next']): Reply<'utxos'> => ({
      type: 'utxos',
      body: { block_num: height, hash: tip, ...certified(), ...(next === undefined ? {} : { next }) },
      attachment: encodeUtxos(found),
    });
    if (fake.failPages) {
      fake.failedPages += 1;
      throw new TesseraError('internal_error', 'as the test wants');
    }
    if (fake.loop) return answer({ address: body.addresses[0] ?? '' });
    for (const [index, address] of body.addresses.entries()) {
      const { after } = index === 0 ? body : {};
      const here = [...utxos.values()].filter(([, { scriptPublicKey }]) => scriptPublicKey === address);
      const at = after ? here.findIndex(([{ tHash, n }]) => tHash === after.t_hash && n === after.n) : -1;
      if (after && at < 0) throw new TesseraError('invalid_request', 'the last output of the page before is spent');
      for (const [position, utxo] of here.slice(at + 1).entries()) {
        const last = position === 0 ? undefined : found.at(-1)?.[0];
        const next = { address, ...(last ? { after: { t_hash: last.tHash, n: last.n } } : {}) };
        if (found.length === fake.maxUtxos) return answer(next);
        found.push(utxo);
      }
    }
    return answer();
  });
  network.handle('producer.get', () => {
    const certificate = signer?.node(network.nodeKey);
    const { unready } = fake;
    fake.asked += 1;
    if (fake.silent) return new Promise(() => undefined);
    return { type: 'producer', body: { ...(certificate && { certificate }), ...(unready && { unready }) } };
  });
  network.handle('statuses.get', (_, { body }) => {
    const known = body.hashes.flatMap((hash) => {
      const status = statuses.get(hash);
      return status ? [{ hash, status, info: 'told by the test' }] : [];
    });
    return { type: 'statuses', body: { statuses: known } };
  });

  const fake: FakeMempool = {
    utxos,
    statuses,
    submissions,
    blocks,
    get height() {
      return height;
    },
    refuseWith: undefined,
    silent: false,
    asked: 0,
    unready: undefined,
    failPages: false,
    failedPages: 0,
    maxAncestors: 100,
    maxUtxos: 1_000,
    loop: false,
    sign: true,
    pretend(hash) {
      tip = hash;
    },
    admit(transaction) {
      pool.set(transactionHash(transaction), transaction);
    },
    forget() {
      pool.clear();
      statuses.clear();
    },
    grant(outputs) {
      grants += 1;
      outputs.forEach((txOut, n) => {
        const outPoint = { tHash: `grant ${grants}`, n };
        utxos.set(outPointKey(outPoint), [outPoint, txOut]);
      });
    },
    mine({ rewardTo = NOBODY, reward = 1n, tell = true } = {}) {
      height += 1;
      const mining = coinbaseTransaction(BigInt(height), reward, rewardTo);
      const { full, hash } = block(height, [...pool.values()], { mining, previous: tip });
      tip = hash;
      const all = [...full.transactions, full.miningTransaction];
      for (const transaction of all) {
        for (const outPoint of spentOutPoints(transaction)) utxos.delete(outPointKey(outPoint));
        for (const { outPoint, txOut } of createdOutPoints(transaction)) {
          utxos.set(outPointKey(outPoint), [outPoint, txOut]);
        }
      }
      for (const name of pool.keys()) statuses.set(name, 'Confirmed');
      pool.clear();
      blocks.set(height, { full, hash, ...(signer && { certificate: signer.block({ height, hash }) }) });
      if (!tell) return;
      const attachment = encodeFullBlock(full);
      const body = { block_num: height, hash, ...certified() };
      for (const link of network.links) link.send('block.mined', body, attachment);
    },
  };
  return fake;
}
