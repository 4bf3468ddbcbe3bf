/**
 * Adopting a block from storage instead of making one: what the block spends and creates, and what becomes of the waiting
 * transactions. The block was already checked against the state; only the pool is judged here.
 */

import { decodeTransaction } from '../../chain/codec.js';
import { createdOutPoints, isCoinbase, isCreate, isUnspendable, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction, Utxo } from '../../chain/types.js';
import { UNKNOWN_UTXO } from '../../chain/validation.js';
import type { KvBatch } from '../../db/kv.js';
import type { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { type Fault, fault } from '../../lib/fault.js';
import type { TxStatus } from '../service.js';
import { SPENT } from './acceptance.js';
import type { AdoptedBlock } from './adopted-block.js';
import { insertCoin, spendCoin } from './coins.js';
import type { FinalStatuses } from './final-statuses.js';
import { keys } from './layout.js';
import type { DruidPool, Pool, PooledTx } from './pool.js';
import type { Round } from './round.js';

const WITHOUT_IT = fault('transaction_rejected', 'The DRUID set went into a block without this transaction');

export interface AdoptionModules {
  readonly utxos: UtxoTable;
  readonly pool: Pool;
  readonly druids: DruidPool;
  readonly statuses: FinalStatuses;
  /** Counts a transaction that this node has not seen before. */
  readonly noteArrival: () => void;
  /** Notes a transaction that was accepted and is rejected, for the events of the node. */
  readonly noteRejected: (hash: string, rule: string) => void;
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
    const { utxos } = this.#modules;
    const remove = (tx: Transaction, hash: string): void => {
      for (const { outPoint, txOut } of createdOutPoints(tx, hash)) {
        if (!isUnspendable(txOut)) spendCoin(utxos, outPoint, batch);
      }
    };
    const proof = round.winner === null ? undefined : round.proofs[round.winner];
    if (proof !== undefined) remove(decodeTransaction(proof.coinbase), proof.hash);
    for (const { hash, bytes } of round.transactions) {
      const tx = decodeTransaction(bytes);
      remove(tx, hash);
      if (isCreate(tx)) batch.del(keys.create(hash));
    }
    for (const [outPoint, txOut] of spent) insertCoin(utxos, outPoint, txOut, batch);
    return round.transactions.filter(({ arrival }) => arrival !== 0);
  }

  /** Takes in the block. `returned` are the transactions of the round that was given up, null when there was none. */
  take(block: AdoptedBlock, returned: readonly PooledTx[] | null, batch: KvBatch): void {
    const { utxos, statuses } = this.#modules;
    const timestamp = Number(block.full.block.header.timestamp);
    const waiting = new Map(returned?.map((tx) => [tx.hash, tx]));
    const decided = new Map<string, TxStatus>();
    const seen = this.#takeOut(block, waiting, decided, batch);
    if (block.height > 0) {
      const additionalInfo = `In block ${block.height} ${block.hash}`;
      for (const { hash } of block.transactions)
        decided.set(hash, { status: 'Confirmed', timestamp: seen.get(hash) ?? timestamp, additionalInfo });
    }
    // Waiting transactions may spend outputs of a round that was given up.
    let isContested = returned !== null;
    for (const { hash, tx } of block.transactions) {
      for (const outPoint of spentOutPoints(tx)) {
        const slot = utxos.find(outPoint);
        isContested ||= slot !== 0 && utxos.isClaimed(slot);
        spendCoin(utxos, outPoint, batch);
      }
      if (isCreate(tx)) batch.put(keys.create(hash), new Uint8Array());
    }
    for (const { hash, tx } of block.transactions) this.#insertOutputs(tx, hash, batch);
    this.#insertOutputs(block.full.miningTransaction, block.full.block.header.miningTxHash, batch);
    if (isContested) this.#settlePool([...waiting.values()], decided, batch);
    statuses.decide(decided, timestamp, batch);
  }

  /**
   * What is in the block no longer waits; returns the unix seconds at which each such transaction was first seen. What
   * waited with it for others of its set has missed its block.
   */
  #takeOut(
    { height, transactions }: AdoptedBlock,
    waiting: Map<string, PooledTx>,
    decided: Map<string, TxStatus>,
    batch: KvBatch,
  ): ReadonlyMap<string, number> {
    const { pool, druids, noteArrival } = this.#modules;
    const names = new Set(transactions.map(({ hash }) => hash));
    const seen = new Map<string, number>();
    for (const { hash, tx } of transactions) {
      const pooled = waiting.get(hash) ?? pool.get(hash);
      const set = druids.setOf(hash);
      if (pooled !== undefined) {
        seen.set(hash, pooled.time);
        waiting.delete(hash);
        pool.remove(hash);
        batch.del(keys.pooled(pooled.arrival));
        this.#claim(pooled, false);
      } else if (set !== undefined) {
        druids.remove(set.druid);
        for (const member of set.members) {
          batch.del(keys.waiting(member.arrival));
          if (names.has(member.hash)) seen.set(member.hash, member.time);
          else this.#reject(member, WITHOUT_IT, decided);
        }
      } else if (height > 0 && !seen.has(hash) && !isCoinbase(tx)) noteArrival();
    }
    return seen;
  }

  #insertOutputs(tx: Transaction, hash: string, batch: KvBatch): void {
    for (const { outPoint, txOut } of createdOutPoints(tx, hash)) {
      if (!isUnspendable(txOut)) insertCoin(this.#modules.utxos, outPoint, txOut, batch);
    }
  }

  /** Rebuilds the pool in the order of arrival; what is no longer possible is Rejected, a set as a whole. */
  #settlePool(returned: readonly PooledTx[], decided: Map<string, TxStatus>, batch: KvBatch): void {
    const { pool } = this.#modules;
    const all = [...returned, ...[...pool.units()].flat(), ...pool.singles()].sort((a, b) => a.arrival - b.arrival);
    for (const { hash } of all) pool.remove(hash);
    for (const tx of all) this.#claim(tx, false);
    for (const unit of unitsOf(all)) {
      const claimed: PooledTx[] = [];
      const wrong = this.#claimUnit(unit, claimed);
      if (wrong === null) {
        for (const tx of unit) pool.add(tx);
        continue;
      }
      for (const tx of claimed) this.#claim(tx, false);
      for (const tx of unit) {
        batch.del(keys.pooled(tx.arrival));
        this.#reject(tx, wrong, decided);
      }
    }
  }

  /** Claims the inputs of all members; those that were claimed are in `claimed`, whatever the verdict. */
  #claimUnit(unit: readonly PooledTx[], claimed: PooledTx[]): Fault | null {
    const { utxos } = this.#modules;
    for (const tx of unit) {
      const slots = spentOutPoints(decodeTransaction(tx.bytes)).map((outPoint) => utxos.find(outPoint));
      if (slots.some((slot) => slot === 0)) return UNKNOWN_UTXO;
      if (slots.some((slot) => utxos.isClaimed(slot))) return SPENT;
      for (const slot of slots) utxos.setClaimed(slot, true);
      claimed.push(tx);
    }
    return null;
  }

  #claim({ bytes }: PooledTx, isClaimed: boolean): void {
    const { utxos } = this.#modules;
    for (const outPoint of spentOutPoints(decodeTransaction(bytes))) {
      const slot = utxos.find(outPoint);
      if (slot !== 0) utxos.setClaimed(slot, isClaimed);
    }
  }

  #reject({ hash, time }: PooledTx, { message }: Fault, decided: Map<string, TxStatus>): void {
    decided.set(hash, { status: 'Rejected', timestamp: time, additionalInfo: message });
    this.#modules.noteRejected(hash, message);
  }
}

/** Single transactions and whole sets, in the order of the first member. */
function unitsOf(all: readonly PooledTx[]): Iterable<readonly PooledTx[]> {
  const units = new Map<string, PooledTx[]>();
  for (const tx of all) {
    const key = tx.unit === 0 ? `s${tx.arrival}` : `u${tx.unit}`;
    const unit = units.get(key);
    if (unit === undefined) units.set(key, [tx]);
    else unit.push(tx);
  }
  return units.values();
}
