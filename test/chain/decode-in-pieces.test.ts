/** Large blocks and lists are decoded in pieces, with other work between them (rule P6). */

import { describe, expect, it } from 'vitest';
import { MAX_TRANSACTION_BYTES } from '../../src/chain/constants.js';
import {
  decodeFullBlockInPieces,
  decodeTransactionsInPieces,
  encodeTransactions,
  openFullBlock,
} from '../../src/chain/decode-in-pieces.js';
import { transactionAt } from '../../src/chain/transaction.js';
import type { FullBlock, Transaction } from '../../src/chain/types.js';
import { equalBytes } from '../../src/lib/bytes.js';
import { decodeFullBlock, encodeFullBlock } from '../support/full-block.js';
import { fc, test } from '../support/property.js';
import { createTestChain, payment } from '../support/storage/test-chain.js';

const KIB = 1024;
const EMPTY: Transaction = { inputs: [], outputs: [], version: 6n, fees: [], druidInfo: null };

/** A transaction of about so many bytes. */
const large = (bytes: number): Transaction => ({
  ...payment(1),
  inputs: [{ previousOut: null, script: Array(Math.ceil(bytes / 512)).fill({ kind: 'bytes', text: 'x'.repeat(500) }) }],
});

function blockOf(transactions: readonly Transaction[], bNum = 1n): FullBlock {
  const full = createTestChain().add();
  const { header } = full.block;
  const names = transactions.map((_, i) => `g${i}`);
  return { ...full, block: { header: { ...header, bNum }, transactions: names }, transactions };
}

/** Counts the turns that were asked for. */
function counter(): { count: number; readonly turn: () => Promise<void> } {
  const turns = {
    count: 0,
    turn: async (): Promise<void> => {
      turns.count++;
    },
  };
  return turns;
}

const untimed = async (): Promise<void> => undefined;

describe('a block that is decoded in pieces', () => {
  it.each([
    ['200 transactions of 16 KiB', Array(200).fill(large(16 * KIB)), 200],
    ['2,000 payments', Array.from({ length: 2_000 }, (_, i) => payment(1 + (i % 300))), 40],
    ['100,000 transactions of 33 bytes', Array(100_000).fill(EMPTY), 600],
  ])('is the same, and waits for its turn often: %s', async (_, transactions, least) => {
    const full = blockOf(transactions);
    const turns = counter();
    const bytes = encodeFullBlock(full);
    expect(equalBytes(encodeFullBlock(await decodeFullBlockInPieces(bytes, turns.turn)), bytes)).toBe(true);
    expect(turns.count).toBeGreaterThanOrEqual(least);
  });

  it('is not read on behind a transaction that is longer than the chain allows', async () => {
    const full = blockOf([large(MAX_TRANSACTION_BYTES)]);
    const malformed = expect.objectContaining({ code: 'malformed_transaction' });
    await expect(decodeFullBlockInPieces(encodeFullBlock(full), untimed)).rejects.toEqual(malformed);
    // Those of block 0 are the operator's.
    const first = encodeFullBlock(blockOf([large(MAX_TRANSACTION_BYTES)], 0n));
    expect(equalBytes(encodeFullBlock(await decodeFullBlockInPieces(first, untimed)), first)).toBe(true);
  });

  test.prop([fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 })])(
    'is refused where the decoder in one piece refuses it, and read where that reads it',
    async (at, change) => {
      const bytes = encodeFullBlock(blockOf([payment(1), EMPTY, payment(2)]));
      bytes.set(change, at % (bytes.length - change.length));
      const whole = outcome(() => decodeFullBlock(bytes));
      expect(await decodeFullBlockInPieces(bytes, untimed).catch(codeOf)).toEqual(whole);
    },
  );
});

describe('a block whose transactions are read when they are asked for', () => {
  test.prop([fc.array(fc.nat({ max: 6 }), { maxLength: 20 })])(
    'gives each of them, in any order and again',
    async (order) => {
      const bytes = encodeFullBlock(blockOf([payment(1), large(2 * KIB), EMPTY, payment(2), payment(3)]));
      const [full, opened] = [decodeFullBlock(bytes), await openFullBlock(bytes, untimed)];
      expect([opened.block, opened.transactions.length]).toEqual([full.block, 5]);
      for (const place of order) expect(transactionAt(opened, place)).toEqual(transactionAt(full, place));
      expect(opened.miningTransaction).toEqual(full.miningTransaction);
    },
  );

  test.prop([fc.nat(), fc.uint8Array({ minLength: 1, maxLength: 4 })])(
    'is refused where the decoder in one piece refuses it, once all are read',
    async (at, change) => {
      const bytes = encodeFullBlock(blockOf([payment(1), EMPTY, payment(2)]));
      bytes.set(change, at % (bytes.length - change.length));
      const read = async (): Promise<FullBlock> => {
        const { block, transactions, miningTransaction } = await openFullBlock(bytes, untimed);
        const all = Array.from({ length: transactions.length }, (_, i) => transactions.at(i) ?? EMPTY);
        return { block, transactions: all, miningTransaction };
      };
      expect(await read().catch(codeOf)).toEqual(outcome(() => decodeFullBlock(bytes)));
    },
  );

  it('is refused with bytes behind its coinbase, and a transaction that is longer than the chain allows', async () => {
    const malformed = expect.objectContaining({ code: 'malformed_transaction' });
    const followed = await openFullBlock(Uint8Array.of(...encodeFullBlock(blockOf([payment(1)])), 0), untimed);
    expect(() => followed.miningTransaction).toThrow(malformed);
    const tooLong = await openFullBlock(encodeFullBlock(blockOf([large(MAX_TRANSACTION_BYTES)])), untimed);
    expect(() => tooLong.transactions.at(0)).toThrow(malformed);
  });
});

describe('a list of transactions that is decoded in pieces', () => {
  it('is the same, and waits for its turn often', async () => {
    const bytes = encodeTransactions(Array(20_000).fill(EMPTY));
    const turns = counter();
    expect(equalBytes(encodeTransactions(await decodeTransactionsInPieces(bytes, turns.turn)), bytes)).toBe(true);
    expect(turns.count).toBeGreaterThan(40);
  });
});

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown }).code;

function outcome(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return codeOf(error);
  }
}
