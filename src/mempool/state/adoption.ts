/**
 * Adopting a block from storage instead of making one: what the block spends and creates, and what becomes of the waiting
 * transactions. The block was already checked against the state; only the pool is judged here.
 */

import { decodeTransaction } from '../../chain/codec.js';
import {
  createdOutPoints,
  isCoinbase,
  isCreate,
  isUnspendable,
  outPointKey,
  spentOutPoints,
} from '../../chain/transaction.js';
import type { Transaction, Utxo } from '../../chain/types.js';
import type { KvBatch } from '../../db/kv.js';
import { type Fault, fault } from '../../lib/fault.js';
import type { TxStatus } from '../service.js';
import type { AdoptedBlock } from './adopted-block.js';
import type { Coins } from './coins.js';
import type { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import type { DruidPool, Pool, PooledTx } from './pool.js';
import { resettle } from './resettle.js';
import type { Round } from './round.js';

const WITHOUT_IT = fault('transaction_rejected', 'The DRUID set went into a block without this transaction');

export interface AdoptionModules {
  readonly coins: Coins;
  readonly pool: Pool;
  readonly druids: DruidPool;
  readonly statuses: FinalStatuses;
  /** Counts a transaction that this node has not seen before. */
  readonly noteArrival: () => void;
  /** Notes a transaction that was accepted and is rejected, for the events of the node. */
  readonly noteRejected: (hash: string, rule: string) => void;
}

export interface TakeOptions {
  /** The transactions of the round that was given up, null when there was none. */
  readonly returned: readonly PooledTx[] | null;
  /** By the rules of earlier versions: nothing spends what waits. */
  readonly isUnchained: boolean;
}

interface TakenOut {
  /** Unix seconds at which each transaction of the block that waited was first seen. */
  readonly seen: ReadonlyMap<string, number>;
  /** The complete sets that they belonged to. */
  readonly sets: ReadonlySet<number>;
}

export class Adoption {
  readonly #modules: AdoptionModules;

  constructor(modules: AdoptionModules) {
    this.#modules = modules;
  }

  /**
   * Undoes a cut: its outputs are removed, what it spent comes back. Returns those of its transactions that came through the
   * pool; they are then in no pool.
   */
  giveUp(round: Round, spent: readonly Utxo[], batch: KvBatch): readonly PooledTx[] {
    const { coins } = this.#modules;
    const spentBefore = new Map(spent.map(([outPoint, txOut]) => [outPointKey(outPoint), txOut]));
    const undo = (tx: Transaction, hash: string): void => {
      for (const { outPoint, txOut } of createdOutPoints(tx, hash)) {
        if (!isUnspendable(txOut)) coins.spend(outPoint, batch);
      }
      for (const outPoint of spentOutPoints(tx)) {
        const txOut = spentBefore.get(outPointKey(outPoint));
        if (txOut !== undefined) coins.insert(outPoint, txOut, batch);
      }
    };
    const proof = round.winner === null ? undefined : round.proofs[round.winner];
    if (proof !== undefined) undo(decodeTransaction(proof.coinbase), proof.hash);
    // The last first: what one creates, another may have spent.
    for (const { hash, bytes } of [...round.transactions].reverse()) {
      const tx = decodeTransaction(bytes);
      undo(tx, hash);
      if (isCreate(tx)) batch.del(keys.create(hash));
    }
    return round.transactions.filter(({ arrival }) => arrival !== 0);
  }

  /** Takes in the block, its transactions one after the other. */
  take(block: AdoptedBlock, { returned, isUnchained }: TakeOptions, batch: KvBatch): void {
    const { coins, statuses } = this.#modules;
    const timestamp = Number(block.full.block.header.timestamp);
    const waiting = new Map(returned?.map((tx) => [tx.hash, tx]));
    const decided = new Map<string, TxStatus>();
    const { seen, sets } = this.#takeOut(block, waiting, decided, batch);
    const torn = isUnchained ? [] : this.#takeOutTorn(sets, waiting, decided, batch);
    if (block.height > 0) {
      const additionalInfo = `In block ${block.height} ${block.hash}`;
      for (const { hash } of block.transactions)
        decided.set(hash, { status: 'Confirmed', timestamp: seen.get(hash) ?? timestamp, additionalInfo });
    }
    // Waiting transactions may spend outputs of a round that was given up, or of what was taken out.
    let isContested = returned !== null || torn.length > 0;
    for (const { hash, tx } of block.transactions) {
      for (const outPoint of spentOutPoints(tx)) {
        isContested ||= coins.isClaimed(outPoint);
        coins.spend(outPoint, batch);
      }
      if (isCreate(tx)) batch.put(keys.create(hash), new Uint8Array());
      coins.create(hash, tx, batch);
    }
    coins.create(block.full.block.header.miningTxHash, block.full.miningTransaction, batch);
    if (isContested) this.#settlePool([...waiting.values()], isUnchained, decided, batch);
    statuses.decide(decided, timestamp, batch);
  }

  /** What is in the block no longer waits. What waited with it for others of its set has missed its block. */
  #takeOut(
    { height, transactions }: AdoptedBlock,
    waiting: Map<string, PooledTx>,
    decided: Map<string, TxStatus>,
    batch: KvBatch,
  ): TakenOut {
    const { coins, pool, druids, noteArrival } = this.#modules;
    const names = new Set(transactions.map(({ hash }) => hash));
    const seen = new Map<string, number>();
    const sets = new Set<number>();
    for (const { hash, tx } of transactions) {
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
          if (names.has(member.hash)) seen.set(member.hash, member.time);
          else this.#reject(member, WITHOUT_IT, decided);
        }
      } else if (height > 0 && !seen.has(hash) && !isCoinbase(tx)) noteArrival();
    }
    return { seen, sets };
  }

  /** The rest of complete sets of which the block has a part, with others: no block may hold it any more. */
  #takeOutTorn(
    sets: ReadonlySet<number>,
    waiting: Map<string, PooledTx>,
    decided: Map<string, TxStatus>,
    batch: KvBatch,
  ): readonly PooledTx[] {
    const { coins, pool } = this.#modules;
    const pooled = [...sets].flatMap((unit) => pool.membersOf(unit));
    const returned = [...waiting.values()].filter(({ unit }) => sets.has(unit));
    for (const { hash, bytes } of pooled) {
      const tx = decodeTransaction(bytes);
      pool.remove(hash);
      coins.release(tx);
      coins.withdraw(hash, tx);
    }
    for (const { hash } of returned) waiting.delete(hash);
    const torn = [...pooled, ...returned];
    for (const tx of torn) {
      batch.del(keys.pooled(tx.arrival));
      this.#reject(tx, WITHOUT_IT, decided);
    }
    return torn;
  }

  /** What is no longer possible is Rejected, a set as a whole. */
  #settlePool(
    returned: readonly PooledTx[],
    isUnchained: boolean,
    decided: Map<string, TxStatus>,
    batch: KvBatch,
  ): void {
    for (const { unit, fault: wrong } of resettle(this.#modules, returned, { isUnchained })) {
      for (const tx of unit) {
        batch.del(keys.pooled(tx.arrival));
        this.#reject(tx, wrong, decided);
      }
    }
  }

  #reject({ hash, time }: PooledTx, { message }: Fault, decided: Map<string, TxStatus>): void {
    decided.set(hash, { status: 'Rejected', timestamp: time, additionalInfo: message });
    this.#modules.noteRejected(hash, message);
  }
}
