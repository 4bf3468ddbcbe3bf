/** Looks for outputs, and for what spends them, in the blocks of the chain, shown one after the other from block 0 on. */

import { withFixedHash } from '../chain/assets.js';
import { transactionHash } from '../chain/hash.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../chain/transaction.js';
import type { Asset, FullBlock, OutPoint, TxOut, Utxo } from '../chain/types.js';
import { TesseraError } from '../lib/errors.js';
import type { ProvenOutput } from '../wallet/block-intake.js';

interface Wanted {
  readonly named: Utxo;
  /** Output as its block has it. */
  proven?: ProvenOutput;
  /** Height of the block that has spent it. */
  spentAt?: number;
  /** A block has it with another content. */
  isOther?: true;
}

/** Result for an output that was named: what blocks say of it. */
export type ScanResult =
  | { readonly kind: 'unspent'; readonly output: ProvenOutput }
  | { readonly kind: 'spent'; readonly height: number }
  | { readonly kind: 'other' | 'nowhere' };

export class OutputScan {
  readonly #wanted = new Map<string, Wanted>();
  readonly #makers = new Set<string>();

  constructor(utxos: Iterable<Utxo>) {
    for (const utxo of utxos) {
      this.#wanted.set(outPointKey(utxo[0]), { named: utxo });
      this.#makers.add(utxo[0].tHash);
    }
  }

  /** Throws `protocol_violation` when a transaction that matters is not the one that the block lists. */
  take({ block, transactions, miningTransaction }: FullBlock): void {
    const height = Number(block.header.bNum);
    const place = { height, time: Number(block.header.timestamp) };
    const reward = block.header.miningTxHash;
    const all = [...transactions, miningTransaction];
    for (const [i, hash] of [...block.transactions, reward].entries()) {
      const transaction = all[i];
      if (transaction === undefined) continue;
      const spent = spentOutPoints(transaction).flatMap((outPoint) => this.#wanted.get(outPointKey(outPoint)) ?? []);
      if (spent.length === 0 && !this.#makers.has(hash)) continue;
      // What block 0 has is compared with the genesis file, for its names are free texts.
      if (height > 0 && transactionHash(transaction) !== hash)
        throw new TesseraError('protocol_violation', `block ${height} has another transaction as ${hash}`);
      for (const one of spent) one.spentAt = height;
      if (this.#makers.has(hash)) this.#noteMade({ hash, transaction, isReward: hash === reward, place });
    }
  }

  find(key: string): ScanResult {
    const { proven, spentAt, isOther } = this.#wanted.get(key) ?? {};
    if (isOther === true) return { kind: 'other' };
    if (proven === undefined) return { kind: 'nowhere' };
    return spentAt === undefined ? { kind: 'unspent', output: proven } : { kind: 'spent', height: spentAt };
  }

  #noteMade(made: ProvenOutput['made']): void {
    for (const { outPoint, txOut } of createdOutPoints(made.transaction, made.hash)) {
      const wanted = this.#wanted.get(outPointKey(outPoint));
      if (wanted === undefined) continue;
      if (isSame(outPoint, wanted.named[1], txOut)) wanted.proven = { utxo: [outPoint, txOut], made };
      else wanted.isOther = true;
    }
  }
}

function isSame(outPoint: OutPoint, a: TxOut, b: TxOut): boolean {
  const [x, y] = [withFixedHash(a.value, outPoint), withFixedHash(b.value, outPoint)];
  const idOf = (asset: Asset): string | null => (asset.kind === 'token' ? null : asset.genesisHash);
  return (
    a.scriptPublicKey === b.scriptPublicKey &&
    a.locktime === b.locktime &&
    x.kind === y.kind &&
    x.amount === y.amount &&
    idOf(x) === idOf(y)
  );
}
