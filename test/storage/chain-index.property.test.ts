/**
 * The index of the chain against a model that works everything out from the blocks: random chains of payments, trades, items,
 * fees and locked outputs, taken in one by one or in steps (docs/adr/0031).
 */

import { describe, expect } from 'vitest';
import { outPointKey } from '../../src/chain/transaction.js';
import type { Page, PageQuery } from '../../src/storage/chain-index/service.js';
import { fc, test } from '../support/property.js';
import { ChainModel } from '../support/storage/chain-model.js';
import { IndexedChain } from '../support/storage/indexed-chain.js';
import { RANDOM_RULES, randomChain } from '../support/storage/random-chain.js';

const numbers = fc.array(fc.nat({ max: 1_000 }), { minLength: 6, maxLength: 6 });
const choices = fc.array(fc.array(numbers, { maxLength: 5 }), { minLength: 3, maxLength: 7 });

/** All pages of a list, one after the other. */
async function all<T>(limit: number, read: (query: PageQuery) => Promise<Page<T>>): Promise<T[]> {
  const entries: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({ limit, cursor });
    expect(page.entries.length).toBeLessThanOrEqual(limit);
    entries.push(...page.entries);
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  return entries;
}

async function compare({ index }: IndexedChain, model: ChainModel, limit: number): Promise<void> {
  await index.at(async (view) => {
    expect(view.tip).toEqual({ height: model.blocks.length - 1, hash: model.hashOfBlock(model.blocks.length - 1) });
    const blocks = await view.blocks(500);
    expect(blocks.map(({ hash }) => hash)).toEqual(model.blocks.map((_, i) => model.hashOfBlock(i)).reverse());

    for (const { hash, height, txNum, transaction } of model.transactions) {
      const found = await view.transaction(hash, { firstInput: 0, firstOutput: 0 });
      expect(found).toMatchObject({ hash, height, txNum, confirmations: model.blocks.length - height, transaction });
      const druid = transaction.druidInfo === null ? [] : [txNum - 1, txNum + 1];
      const names = model.transactions.filter((one) => one.height === height && druid.includes(one.txNum));
      // A set has two members here, which stand side by side.
      expect(found?.partners.length).toBe(transaction.druidInfo === null ? 0 : 1);
      for (const partner of found?.partners ?? []) expect(names.map((one) => one.hash)).toContain(partner);
      for (const [i, { source }] of (found?.inputList ?? []).entries()) {
        const previousOut = transaction.inputs[i]?.previousOut ?? null;
        const made = previousOut && model.outputs.get(outPointKey(previousOut));
        expect(source?.outPoint ?? null).toEqual(previousOut);
        expect(source?.address).toEqual(made?.address ?? undefined);
        expect(source?.asset.amount).toEqual(made?.amount);
        expect(source?.height).toEqual(made?.placed.height);
      }
      for (const { outPoint, spender } of found?.outputList ?? []) {
        const by = model.spenders.get(outPointKey(outPoint));
        const expected = by ? { hash: by.placed.hash, input: by.input, height: by.placed.height } : null;
        expect(spender).toEqual(expected);
        expect((await view.output(outPoint))?.spender).toEqual(expected);
      }
    }

    for (const address of model.addresses) {
      const movements = model.movementsOf(address);
      const unspent = model.unspentOf(address);
      const items = model.items.filter((item) => model.holders(item).has(address));
      const summary = await view.address(address);
      expect(summary).toMatchObject({
        tokens: model.holders(null).get(address) ?? 0n,
        received: movements.reduce((sum, { received }) => sum + received, 0n),
        sent: movements.reduce((sum, { sent }) => sum + sent, 0n),
        transactions: movements.length,
        unspentOutputs: unspent.length,
        itemKinds: items.length,
      });
      expect([summary.first?.hash, summary.last?.hash]).toEqual([movements.at(-1)?.hash, movements[0]?.hash]);
      const outputs = await all(limit, (query) => view.addressOutputs(address, query));
      expect(outputs.map(({ outPoint, asset }) => [outPoint, asset.amount])).toEqual(
        unspent.map(({ outPoint, amount }) => [outPoint, amount]),
      );
      const history = await all(limit, (query) => view.addressTransactions(address, query));
      expect(
        history.map(({ hash, height, txNum, received, sent, items: moved }) => ({
          hash,
          height,
          txNum,
          received,
          sent,
          items: new Map(moved.map(({ genesisHash, ...amounts }) => [genesisHash, amounts])),
        })),
      ).toEqual(movements);
      const held = await all(limit, (query) => view.addressItems(address, query));
      expect(new Map(held.map(({ genesisHash, amount }) => [genesisHash, amount]))).toEqual(
        new Map(items.map((item) => [item, model.holders(item).get(address)])),
      );
    }

    const rich = await all(limit, (query) => view.tokenHolders(query));
    const tokens = [...model.holders(null)].filter(([, amount]) => amount > 0n);
    expect(new Map(rich.map(({ address, amount }) => [address, amount]))).toEqual(new Map(tokens));
    const amountsOf = rich.map(({ amount }) => amount);
    expect(amountsOf).toEqual([...amountsOf].sort((a, b) => (a > b ? -1 : a < b ? 1 : 0)));

    for (const item of model.items) {
      const holders = model.holders(item);
      const transfers = model.transfersOf(item);
      const summary = await view.item(item);
      expect(summary).toMatchObject({
        issued: model.issued(item),
        holders: holders.size,
        transfers: transfers.length,
        created: { hash: transfers.at(-1)?.hash },
      });
      const shown = await all(limit, (query) => view.itemHolders(item, query));
      expect(new Map(shown.map(({ address, amount }) => [address, amount]))).toEqual(holders);
      const amounts = shown.map(({ amount }) => amount);
      expect(amounts).toEqual([...amounts].sort((a, b) => (a > b ? -1 : a < b ? 1 : 0)));
      const moved = await all(limit, (query) => view.itemTransfers(item, query));
      expect(
        moved.map(({ hash, amount, from, to }) => ({
          hash,
          amount,
          from: new Map(from.map((party) => [party.address, party.amount])),
          to: new Map(to.map((party) => [party.address, party.amount])),
        })),
      ).toEqual(transfers);
    }
  });
}

describe('the index of a random chain', () => {
  test.prop([choices, fc.integer({ min: 1, max: 7 })], { numRuns: 12 })(
    'says what the blocks say, whether they come one by one or are caught up with',
    async (chosen, limit) => {
      const blocks = randomChain(chosen);
      const model = new ChainModel(blocks);
      const followed = await IndexedChain.open({}, RANDOM_RULES);
      try {
        for (const [height, block] of blocks.entries()) {
          await followed.store([block]);
          await followed.index.at(async () => undefined);
          // Short lists are in the accounts of their addresses, longer ones have records of their own.
          if (height === 1) await compare(followed, new ChainModel(blocks.slice(0, 2)), limit);
        }
        await compare(followed, model, limit);
        const records = await followed.records();
        // Anew, a block in each step, and all blocks in one.
        for (const stepChanges of [1, 1_000_000]) {
          await followed.stopIndex();
          await followed.forgetIndex();
          await followed.startIndex({ stepChanges });
          await followed.caughtUp();
          expect(await followed.records()).toEqual(records);
        }
      } finally {
        await followed.close();
      }
    },
  );
});
