/** Of a large block the wallet looks at the transactions that concern it: none is missed, wherever it stands (rule P4). */

import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openFullBlock } from '../../src/chain/decode-in-pieces.js';
import { transactionHash } from '../../src/chain/hash.js';
import type { OpenBlock, OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { inPieces } from '../../src/lib/pieces.js';
import type { ToldBlock } from '../../src/wallet/block-check.js';
import { Concern } from '../../src/wallet/concern.js';
import { encodeFullBlock } from '../support/full-block.js';
import {
  block,
  NOBODY,
  newWallet,
  nextBlock,
  openWallet,
  paymentFromOutside,
  removeFolders,
  temporaryFolder,
  tokens,
  type WholeBlock,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

/** Payments between others, to stand around those that count. */
const others = (count: number): Transaction[] =>
  Array.from({ length: count }, (_, i) => paymentFromOutside([tokens(NOBODY, 1n)], i));

const spending = (previousOut: OutPoint, outputs: readonly TxOut[]): Transaction => ({
  ...paymentFromOutside(outputs),
  inputs: [{ previousOut, script: [] }],
});

const asItIs = async (told: WholeBlock): Promise<ToldBlock> => told;
/** As a mempool node sends it. */
const inItsBytes = async ({ full, ...named }: WholeBlock): Promise<ToldBlock> => ({
  ...named,
  full: await openFullBlock(encodeFullBlock(full), async () => undefined),
});

/** A block with so many transactions, each of which fails the test when it is read. */
const unreadable = ({ block }: OpenBlock, length: number): OpenBlock => {
  const read = (): never => {
    throw new Error('a transaction was read');
  };
  return {
    block,
    transactions: { length, at: read },
    get miningTransaction() {
      return read();
    },
  };
};

describe.each([asItIs, inItsBytes])('a block with hundreds of transactions (%o)', (tellOf) => {
  it('is taken in with what it pays, what it spends, and what it spends of what it pays itself', async () => {
    const { wallet, close } = await newWallet();
    const given = paymentFromOutside([tokens(await wallet.newAddress(), 100n)]);
    await wallet.chain.apply(nextBlock(wallet, [given]));
    const first = paymentFromOutside([tokens(NOBODY, 5n), tokens(await wallet.newAddress(), 7n)]);
    const spent = spending({ tHash: transactionHash(first), n: 1 }, [tokens(NOBODY, 7n)]);
    const second = paymentFromOutside([tokens(await wallet.newAddress(), 11n)]);
    const away = spending({ tHash: transactionHash(given), n: 0 }, [tokens(NOBODY, 100n)]);
    const told = await tellOf(
      nextBlock(wallet, [...others(200), first, ...others(150), spent, away, ...others(3), second]),
    );
    await wallet.chain.check(told);
    expect(await wallet.chain.apply(told)).toBe('applied');
    expect(wallet.coins.totals().running).toBe(11n);
    const { movements } = await wallet.history.movements({ limit: 100, newestFirst: false });
    expect(movements.map(({ net }) => net)).toEqual([100n, 7n, -7n, -100n, 11n]);
    await close();
  });

  it('pays addresses that are watched only once an earlier transaction of it has paid another', async () => {
    const folder = await temporaryFolder();
    const first = await openWallet(folder);
    await first.close();
    const copy = join(await temporaryFolder(), 'copy');
    await cp(folder, copy, { recursive: true });
    // One copy hands out more addresses than the other looks ahead.
    const ahead = await openWallet(folder);
    const addresses: string[] = [];
    for (let i = 0; i < 130; i++) addresses.push(await ahead.wallet.newAddress());
    await ahead.close();
    const { wallet, close } = await openWallet(copy);
    const paid = addresses.map((address) => paymentFromOutside([tokens(address, 1n)]));
    const told = await tellOf(nextBlock(wallet, [...others(150), ...paid, ...others(150)]));
    await wallet.chain.check(told);
    expect(await wallet.chain.apply(told)).toBe('applied');
    expect(wallet.coins.totals().running).toBe(130n);
    await close();
  });

  it('pays a key that is imported after the block was checked', async () => {
    const [one, other] = [await newWallet(), await newWallet()];
    const paid = paymentFromOutside([tokens(await other.wallet.newAddress(), 9n)]);
    const told = await tellOf(nextBlock(one.wallet, [...others(200), paid]));
    await one.wallet.chain.check(told);
    await one.wallet.importKeyPairs(await other.wallet.exportKeyPairs()).catch(() => undefined);
    await one.wallet.chain.apply(told);
    expect(one.wallet.coins.totals().running).toBe(9n);
    await one.close();
    await other.close();
  });

  it.each<[string, (told: ToldBlock) => ToldBlock]>([
    ['has another hash', (told) => ({ ...told, hash: `b${'0'.repeat(64)}` })],
    ['has more transactions than names', ({ full, ...told }) => ({ ...told, full: unreadable(full, 100_000) })],
  ])('is refused before a transaction of it is read when it %s', async (_, alter) => {
    const { wallet, close } = await newWallet();
    const { full, ...told } = await tellOf(nextBlock(wallet, others(3)));
    const altered = alter({ ...told, full: unreadable(full, 3) });
    await expect(wallet.chain.check(altered)).rejects.toMatchObject({ code: 'protocol_violation' });
    await close();
  });

  it('is looked at again when keys or coins come while it is', async () => {
    const own = new Set(['before']);
    const state = { arrived: 0, changes: 0 };
    const coins = {
      has: () => false,
      get arrived() {
        return state.arrived;
      },
    };
    const keys = {
      owns: (address: string) => own.has(address),
      get changes() {
        return state.changes;
      },
    };
    const paid = ['before', 'meanwhile'].map((address) => paymentFromOutside([tokens(address, 1n)]));
    const { full } = await tellOf(block(3, [...paid, ...others(500)]));
    let turns = 0;
    const concern = await inPieces(Concern.of(full, { coins, keys }), async () => {
      if (++turns !== 2) return;
      own.add('meanwhile');
      state.changes++;
    });
    expect([...concern.places]).toEqual([0, 1]);
    expect(concern.isCurrent).toBe(true);
    state.arrived++;
    expect(concern.isCurrent).toBe(false);
    expect(concern.hasKeys).toBe(true);
  });
});
