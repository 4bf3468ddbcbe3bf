/**
 * Unspent outputs before each block of an audit. An audit from block 0 keeps count in memory, about 100 bytes an output, and
 * compares the archive's own account with it at the end. An audit that begins later takes the outputs from the transactions
 * that made them, and cannot see that an output is spent by two blocks.
 */

import { encodeTxOut } from '../../chain/codec.js';
import { createdOutput, isUnspendable, outPointKey } from '../../chain/transaction.js';
import type { OutPoint, TxOut } from '../../chain/types.js';
import type { Kv } from '../../db/kv.js';
import type { LedgerView } from '../../ledger/block/spending.js';
import type { VerifiedBlock } from '../../ledger/block/verified-block.js';
import { HASH_KEY_BYTES } from '../../ledger/utxo/keyed-hash.js';
import { UtxoTable } from '../../ledger/utxo/utxo-table.js';
import { equalBytes } from '../../lib/bytes.js';
import { systemRandom } from '../../lib/random.js';
import type { ArchiveReader } from '../archive/reader.js';
import { damaged, type TransactionRecord } from '../archive/records.js';
import { unspentIn } from '../archive/unspent-outputs.js';

export interface AuditedOutputs extends LedgerView {
  /** Applies a block that was found valid. */
  apply(block: VerifiedBlock): void;
}

/** Unspent outputs, counted from block 0 on. */
export class CountedOutputs implements AuditedOutputs {
  readonly #table = new UtxoTable(systemRandom.bytes(HASH_KEY_BYTES));

  /** No hashes: the index of transactions is audited by itself. */
  readonly knownHashes = async (): Promise<readonly string[]> => [];

  async unspent(outPoints: readonly OutPoint[]): Promise<readonly (TxOut | undefined)[]> {
    return this.#table.outputs(outPoints);
  }

  apply({ spent, created }: VerifiedBlock): void {
    for (const outPoint of spent) this.#table.remove(this.#table.find(outPoint));
    for (const { outPoint, txOut } of created) {
      // Original nodes let an item be created again: its output may exist already.
      if (this.#table.find(outPoint) === 0) this.#table.insert(outPoint, txOut);
    }
  }

  /** Throws `data_corrupt` when the account in the database has another output, or lacks one. */
  async compareWith(kv: Kv): Promise<void> {
    let count = 0;
    for await (const [outPoint, txOut] of unspentIn(kv)) {
      const counted = this.#find(outPoint);
      if (counted === undefined || !equalBytes(encodeTxOut(counted), encodeTxOut(txOut))) {
        throw damaged(`${outPointKey(outPoint)} is among the unspent outputs, and the blocks say otherwise`);
      }
      count++;
    }
    if (count !== this.#table.size) {
      throw damaged(`${count} unspent outputs are kept, but the blocks leave ${this.#table.size}`);
    }
  }

  #find(outPoint: OutPoint): TxOut | undefined {
    const slot = this.#table.find(outPoint);
    return slot === 0 ? undefined : this.#table.output(slot);
  }
}

/** Outputs from the stored transactions that made them. */
export class RecordedOutputs implements AuditedOutputs {
  readonly #reader: ArchiveReader;
  /** Height of the block under audit. */
  #height: number;

  constructor(reader: ArchiveReader, height: number) {
    this.#reader = reader;
    this.#height = height;
  }

  readonly knownHashes = async (): Promise<readonly string[]> => [];

  async unspent(outPoints: readonly OutPoint[]): Promise<readonly (TxOut | undefined)[]> {
    const records = await this.#reader.transactions(outPoints.map(({ tHash }) => tHash));
    return outPoints.map((outPoint, i) => this.#output(outPoint, records[i]));
  }

  apply({ height }: VerifiedBlock): void {
    this.#height = height + 1;
  }

  #output({ n }: OutPoint, record: TransactionRecord | undefined): TxOut | undefined {
    if (record === undefined || record.height >= this.#height) return undefined;
    const txOut = createdOutput(record.transaction, n);
    return txOut === undefined || isUnspendable(txOut) ? undefined : txOut;
  }
}
