/** Adopts a block from storage, which was checked before, in pieces: what it spends and creates, and what becomes of the pool. */

import { decodeTransaction, encodedBefore } from '../../chain/codec.js';
import { decodeFullBlockInPieces, type Turn } from '../../chain/decode-in-pieces.js';
import { blockHash } from '../../chain/hash.js';
import {
  createdOutPoints,
  isCoinbase,
  isCreate,
  isUnspendable,
  type PlacedTxOut,
  spentOutPoints,
} from '../../chain/transaction.js';
import type { FullBlock, OutPoint, Transaction, Utxo } from '../../chain/types.js';
import type { KvBatch } from '../../db/kv.js';
import { type Fault, fault } from '../../lib/fault.js';
import type { Pieces } from '../../lib/pieces.js';
import type { TxStatus } from '../service.js';
import type { CandidateTx } from './acceptance.js';
import { APPROACHED, type Coins } from './coins.js';
import type { RoundFacts } from './commands.js';
import type { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import type { DruidPool, Pool, PooledTx } from './pool.js';
import { type LostUnit, resettle } from './resettle.js';
import type { Round } from './round.js';

export interface AdoptedBlock {
  readonly height: number;
  readonly hash: string;
  /** Unix seconds of the block, as far as a number holds what original nodes may say. */
  readonly time: number;
  readonly full: FullBlock;
  /** The block as `FullBlock` bytes. */
  readonly bytes: Uint8Array;
  /** Transactions by the names that the block gives them. */
  readonly transactions: readonly CandidateTx[];
  readonly facts: RoundFacts | null;
}

/** Decodes a block, in pieces, and checks nothing but its form. Throws `malformed_transaction`. */
export async function readAdoptedBlock(bytes: Uint8Array, facts: RoundFacts | null, turn: Turn): Promise<AdoptedBlock> {
  const full = await decodeFullBlockInPieces(bytes, turn, { isForRules: true });
  const { header, transactions: names } = full.block;
  const transactions: CandidateTx[] = [];
  for (const [i, tx] of full.transactions.entries()) {
    await turn();
    transactions.push({ hash: names[i] ?? '', bytes: encodedBefore(tx), tx });
  }
  const time = Math.min(Math.max(Number(header.timestamp), 0), Number.MAX_SAFE_INTEGER);
  return { height: Number(header.bNum), hash: blockHash(header), time, full, bytes, transactions, facts };
}

const WITHOUT_IT = fault('transaction_rejected', 'The DRUID set went into a block without this transaction');

export interface AdoptionModules {
  readonly coins: Coins;
  readonly pool: Pool;
  readonly druids: DruidPool;
  readonly statuses: FinalStatuses;
  /** Counts a transaction that this node has not seen before. */
  readonly noteArrival: () => void;
}

type Applied = Pick<CandidateTx, 'hash' | 'tx'>;

interface Taking {
  readonly block: AdoptedBlock;
  readonly names: ReadonlySet<string>;
  /** Transactions of the abandoned round that the block has not had so far. */
  readonly waiting: Map<string, PooledTx>;
  /** Unix seconds at which each transaction of the block that waited was first seen. */
  readonly seen: Map<string, number>;
  readonly sets: Set<number>;
  readonly decided: Map<string, TxStatus>;
  /** Outputs that existed already when the block made them, as original nodes let happen. */
  readonly there: PlacedTxOut[];
  /** True when the pool has to be put together again. */
  isContested: boolean;
}

export class Adoption {
  readonly #modules: AdoptionModules;

  constructor(modules: AdoptionModules) {
    this.#modules = modules;
  }

  /** Undoes a cut, from its end. Returns those of its transactions that came through the pool; they are then in no pool. */
  *giveUp(round: Round, spent: readonly Utxo[], batch: KvBatch): Pieces<readonly PooledTx[]> {
    const proof = round.winner === null ? undefined : round.proofs[round.winner];
    if (proof !== undefined) yield* this.#undo(decodeTransaction(proof.coinbase), proof.hash, [], batch);
    // The last transaction is undone first: another may have spent what one creates. Spent outputs are kept in order.
    let end = spent.length;
    const returned: PooledTx[] = [];
    for (const pooled of [...round.transactions].reverse()) {
      yield;
      const tx = decodeTransaction(pooled.bytes);
      const begin = end - spentOutPoints(tx).length;
      yield* this.#undo(tx, pooled.hash, spent.slice(begin, end), batch);
      end = begin;
      if (isCreate(tx)) batch.del(keys.known(pooled.hash));
      if (pooled.arrival !== 0) returned.push(pooled);
    }
    return returned.reverse();
  }

  *#undo(tx: Transaction, hash: string, spent: readonly Utxo[], batch: KvBatch): Pieces<void> {
    const { coins } = this.#modules;
    const created = spendableOutputs(tx, hash).map(({ outPoint }) => outPoint);
    const back = spent.map(([outPoint, txOut]) => ({ outPoint, txOut }));
    yield* coins.erase(created, batch);
    yield* coins.record(back, batch);
    for (const outPoint of created) coins.remove(outPoint);
    coins.add(back);
  }

  /** Takes in the block, its transactions one after the other. `returned`: those of the abandoned round, null without one. */
  *take(block: AdoptedBlock, returned: readonly PooledTx[] | null, batch: KvBatch): Pieces<void> {
    const { statuses } = this.#modules;
    const taking: Taking = {
      block,
      names: new Set(block.transactions.map(({ hash }) => hash)),
      waiting: new Map(returned?.map((tx) => [tx.hash, tx])),
      seen: new Map(),
      sets: new Set(),
      decided: new Map(),
      there: [],
      // Waiting transactions may spend outputs of a round that was given up, or of what is taken out.
      isContested: returned !== null,
    };
    for (const [i, candidate] of block.transactions.entries()) {
      yield;
      if (i % APPROACHED === 0) {
        this.#modules.coins.approach(block.transactions.slice(i, i + APPROACHED).map(({ tx }) => tx));
      }
      yield* this.#apply(candidate, taking, batch);
    }
    const { miningTxHash } = block.full.block.header;
    yield* this.#apply({ hash: miningTxHash, tx: block.full.miningTransaction }, taking, batch);
    // A block of original nodes spends first, then it creates: what it has spent and made again is there.
    for (const { outPoint, txOut } of taking.there) {
      yield;
      if (!this.#isThere(outPoint)) this.#modules.coins.insert(outPoint, txOut, batch);
    }
    yield* this.#takeOutTorn(taking, batch);
    if (taking.isContested) yield* this.#settlePool(taking, batch);
    yield* statuses.decideInPieces(taking.decided, block.time, batch);
  }

  /** Puts transactions of given-up rounds back into the pool, if they still can wait. `time` is in unix seconds. */
  *putBack(returned: readonly PooledTx[], time: number, batch: KvBatch): Pieces<void> {
    const settling = { waiting: new Map(returned.map((tx) => [tx.hash, tx])), decided: new Map<string, TxStatus>() };
    yield* this.#settlePool(settling, batch);
    yield* this.#modules.statuses.decideInPieces(settling.decided, time, batch);
  }

  /** Applies a transaction of the block: it changes the outputs at once, and leaves the pool if it waited there. */
  *#apply({ hash, tx }: Applied, taking: Taking, batch: KvBatch): Pieces<void> {
    const { coins } = this.#modules;
    const spent = spentOutPoints(tx);
    const outputs = spendableOutputs(tx, hash);
    const { header } = taking.block.full.block;
    const there = header.isOriginal ? outputs.filter(({ outPoint }) => this.#isThere(outPoint)) : [];
    const created = there.length === 0 ? outputs : outputs.filter((one) => !there.includes(one));
    taking.there.push(...there);
    yield* coins.record(created, batch);
    yield* coins.erase(spent, batch);
    if (isCreate(tx) || header.isOriginal) batch.put(keys.known(hash), new Uint8Array());
    if (hash !== header.miningTxHash) {
      this.#takeOut(hash, tx, taking, batch);
      this.#confirm(hash, taking);
    }
    for (const outPoint of spent) {
      if (coins.isClaimed(outPoint)) taking.isContested = true;
      coins.remove(outPoint);
    }
    coins.add(created);
  }

  #isThere(outPoint: OutPoint): boolean {
    return this.#modules.coins.utxos.find(outPoint) !== 0;
  }

  /** Takes a transaction of the block out of the pool. What waited with it for others of its set has missed its block. */
  #takeOut(hash: string, tx: Transaction, taking: Taking, batch: KvBatch): void {
    const { coins, pool, druids, noteArrival } = this.#modules;
    const { block, names, waiting, seen, sets } = taking;
    const pooled = waiting.get(hash) ?? pool.get(hash);
    const set = druids.setOf(hash);
    if (pooled !== undefined) {
      seen.set(hash, pooled.time);
      if (pooled.unit !== 0) sets.add(pooled.unit);
      waiting.delete(hash);
      pool.remove(hash);
      batch.del(keys.pooled(pooled.arrival));
      coins.release(tx);
    } else if (set !== undefined) {
      druids.remove(set.druid);
      for (const member of set.members) {
        batch.del(keys.waiting(member.arrival));
        if (!names.has(member.hash)) this.#reject(member, WITHOUT_IT, taking);
        else {
          seen.set(member.hash, member.time);
          // The transaction is in no place of the pool until its turn in the block comes.
          this.#confirm(member.hash, taking);
        }
      }
    } else if (block.height > 0 && !seen.has(hash) && !isCoinbase(tx)) noteArrival();
  }

  #confirm(hash: string, { block, seen, decided }: Taking): void {
    if (block.height === 0) return;
    const timestamp = seen.get(hash) ?? block.time;
    const additionalInfo = `In block ${block.height} ${block.hash}`;
    this.#decide(hash, { status: 'Confirmed', timestamp, additionalInfo }, decided);
  }

  /** Removes the rest of complete sets of which the block has a part only: no block may hold it any more. */
  *#takeOutTorn(taking: Taking, batch: KvBatch): Pieces<void> {
    const { coins, pool } = this.#modules;
    const { sets, waiting } = taking;
    const returned = [...waiting.values()].filter(({ unit }) => sets.has(unit));
    const torn = [...[...sets].flatMap((unit) => pool.membersOf(unit)), ...returned];
    if (torn.length > 0) taking.isContested = true;
    for (const member of torn) {
      yield;
      if (!waiting.delete(member.hash)) {
        const tx = decodeTransaction(member.bytes);
        pool.remove(member.hash);
        coins.release(tx);
        coins.withdraw(member.hash, tx);
      }
      batch.del(keys.pooled(member.arrival));
      this.#reject(member, WITHOUT_IT, taking);
    }
  }

  /** Rejects waiting transactions that are no longer possible, sets as a whole. */
  *#settlePool(taking: Pick<Taking, 'waiting' | 'decided'>, batch: KvBatch): Pieces<void> {
    const lost = ({ unit, fault: wrong }: LostUnit): void => {
      for (const tx of unit) {
        batch.del(keys.pooled(tx.arrival));
        this.#reject(tx, wrong, taking);
      }
    };
    yield* resettle(this.#modules, [...taking.waiting.values()], lost);
  }

  #reject({ hash, time }: PooledTx, { message }: Fault, { decided }: Pick<Taking, 'decided'>): void {
    this.#decide(hash, { status: 'Rejected', timestamp: time, additionalInfo: message }, decided);
    this.#modules.statuses.noteRejected(hash, message);
  }

  /** Decides a status, which can be read at once: the transaction may have left all other places. */
  #decide(hash: string, status: TxStatus, decided: Map<string, TxStatus>): void {
    decided.set(hash, status);
    this.#modules.statuses.show(hash, status);
  }
}

function spendableOutputs(tx: Transaction, hash: string): readonly PlacedTxOut[] {
  return createdOutPoints(tx, hash).filter(({ txOut }) => !isUnspendable(txOut));
}
