/** What the index of the chain should say, worked out from all blocks anew for each question, as simply as possible. */

import { withFixedHash } from '../../../src/chain/assets.js';
import { blockHash, transactionHash } from '../../../src/chain/hash.js';
import { createdOutPoints, outPointKey } from '../../../src/chain/transaction.js';
import type { FullBlock, OutPoint, Transaction } from '../../../src/chain/types.js';

interface Placed {
  readonly hash: string;
  readonly height: number;
  readonly txNum: number;
  readonly time: bigint;
  readonly transaction: Transaction;
}

interface Made {
  readonly outPoint: OutPoint;
  readonly placed: Placed;
  readonly address: string | null;
  readonly amount: bigint;
  /** Genesis hash; null for tokens. */
  readonly item: string | null;
  readonly locktime: bigint;
}

export class ChainModel {
  readonly blocks: readonly FullBlock[];
  readonly transactions: readonly Placed[];
  readonly outputs = new Map<string, Made>();
  /** By what an output is spent. */
  readonly spenders = new Map<string, { readonly placed: Placed; readonly input: number }>();

  constructor(blocks: readonly FullBlock[]) {
    this.blocks = blocks;
    this.transactions = blocks.flatMap(({ block, transactions, miningTransaction }, height) => {
      const names = [...block.transactions, transactionHash(miningTransaction)];
      return [...transactions, miningTransaction].map((transaction, txNum) => ({
        hash: names[txNum] ?? '',
        height,
        txNum,
        time: block.header.timestamp,
        transaction,
      }));
    });
    for (const placed of this.transactions) {
      for (const { outPoint, txOut } of createdOutPoints(placed.transaction, placed.hash)) {
        const asset = withFixedHash(txOut.value, outPoint);
        const item = asset.kind === 'item' ? asset.genesisHash : null;
        const { scriptPublicKey: address, locktime } = txOut;
        this.outputs.set(outPointKey(outPoint), { outPoint, placed, address, amount: asset.amount, item, locktime });
      }
      for (const [input, { previousOut }] of placed.transaction.inputs.entries()) {
        if (previousOut !== null) this.spenders.set(outPointKey(previousOut), { placed, input });
      }
    }
  }

  hashOfBlock(height: number): string {
    const block = this.blocks[height];
    if (block === undefined) throw new Error(`no block ${height}`);
    return blockHash(block.block.header);
  }

  get addresses(): string[] {
    return [...new Set([...this.outputs.values()].flatMap(({ address }) => address ?? []))];
  }

  get items(): string[] {
    return [...new Set([...this.outputs.values()].flatMap(({ item }) => item ?? []))];
  }

  /** Newest first, and of one transaction the last output first. */
  unspentOf(address: string): Made[] {
    const all = [...this.outputs.values()].filter((made) => made.address === address);
    return all.filter(({ outPoint }) => !this.spenders.has(outPointKey(outPoint))).reverse();
  }

  /** The outputs that a transaction spends. */
  spentBy({ transaction }: Placed): Made[] {
    return transaction.inputs.flatMap(({ previousOut }) => {
      const made = previousOut && this.outputs.get(outPointKey(previousOut));
      return made ? [made] : [];
    });
  }

  madeBy({ hash }: Placed): Made[] {
    return [...this.outputs.values()].filter(({ outPoint }) => outPoint.tHash === hash);
  }

  /** The transactions of an address, newest first, with what they bring and take. */
  movementsOf(address: string) {
    const concerned = this.transactions.filter((placed) =>
      [...this.spentBy(placed), ...this.madeBy(placed)].some((made) => made.address === address),
    );
    return concerned.reverse().map((placed) => {
      const of = (list: readonly Made[]) => list.filter((made) => made.address === address);
      const [came, went] = [of(this.madeBy(placed)), of(this.spentBy(placed))];
      const items = new Set([...came, ...went].flatMap(({ item }) => item ?? []));
      return {
        hash: placed.hash,
        height: placed.height,
        txNum: placed.txNum,
        received: sumOf(came, null),
        sent: sumOf(went, null),
        items: new Map([...items].map((item) => [item, { received: sumOf(came, item), sent: sumOf(went, item) }])),
      };
    });
  }

  /** How many of an item, or of tokens, each address has. */
  holders(item: string | null): Map<string, bigint> {
    const held = this.addresses.map((address) => [address, sumOf(this.unspentOf(address), item)] as const);
    return new Map(held.filter(([, amount]) => amount > 0n));
  }

  issued(item: string): bigint {
    const founding = this.transactions.filter(({ transaction }) =>
      transaction.inputs.every(({ previousOut }) => previousOut === null),
    );
    return founding.reduce((sum, placed) => sum + sumOf(this.madeBy(placed), item), 0n);
  }

  /** Newest first. */
  transfersOf(item: string) {
    const concerned = this.transactions.filter((placed) =>
      [...this.spentBy(placed), ...this.madeBy(placed)].some((made) => made.item === item),
    );
    return concerned.reverse().map((placed) => ({
      hash: placed.hash,
      amount: sumOf(this.madeBy(placed), item),
      from: byAddress(this.spentBy(placed), item),
      to: byAddress(this.madeBy(placed), item),
    }));
  }
}

function sumOf(outputs: readonly Made[], item: string | null): bigint {
  return outputs.reduce((sum, made) => sum + (made.item === item ? made.amount : 0n), 0n);
}

function byAddress(outputs: readonly Made[], item: string): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { address, amount, item: of } of outputs) {
    if (of === item && address !== null) sums.set(address, (sums.get(address) ?? 0n) + amount);
  }
  return sums;
}
