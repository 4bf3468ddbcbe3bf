/** What a node tells the journal when it begins to make the blocks (docs/adr/0048-a-state-from-storage.md). */

import { expect, it } from 'vitest';
import { encodeTransaction } from '../../src/chain/codec.js';
import type { Leadership } from '../../src/journal/journal.js';
import { SignalSource } from '../../src/lib/signal.js';
import { type Command, decodeCommand } from '../../src/mempool/state/commands.js';
import { closedBlockBytes, closedHash, type Round } from '../../src/mempool/state/round.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { journalWith, openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, applierOf, mine, rulesFor } from '../support/mempool.js';
import { newFolder, setUp, stored } from './running.js';

class Lease implements Leadership {
  readonly changed = new SignalSource<void>();
  readonly problem = null;
  leads = true;
  resign(): void {
    this.set(false);
  }
  set(leads: boolean): void {
    this.leads = leads;
    this.changed.emit();
  }
}

it('names the block that is stored, whether the journal knows it or not', async () => {
  const appended: Command[] = [];
  const wrapJournal: Parameters<typeof setUp>[0]['wrapJournal'] = (journal) =>
    journalWith(journal, {
      append: (payload) => {
        appended.push(decodeCommand(payload));
        return journal.append(payload);
      },
    });
  const leadership = new Lease();
  const { mempool } = await setUp({ folder: await newFolder(), leadership, wrapJournal });
  await stored(mempool, 0);
  const digest = mempool.digest();
  leadership.set(false);
  appended.length = 0;
  leadership.set(true);
  await expect.poll(() => appended[0], { timeout: 60_000 }).toMatchObject({ kind: 'block-stored', height: 0 });
  expect(mempool.digest()).toBe(digest);
});

/** A node at a journal of its own, which the test gives the same commands as another one. */
async function replica() {
  const state = new MempoolState(rulesFor([account('alice')]));
  const applier = applierOf(await openJournal(new MemoryKv()), new MemoryKv(), state);
  await applier.start();
  const run = <K extends Command['kind']>(command: Extract<Command, { kind: K }>) => applier.submit<K>(command);
  return {
    state,
    run,
    cut: async (height: number) => (await run({ kind: 'cut-block', height, time: 9 + height, miners: ['m'] })) as Round,
    close: async ({ height, header, reward }: Round) => {
      const { nonce, coinbase } = mine(header, reward, account('m'));
      await run({ kind: 'proof', height, miner: 'm', nonce, coinbase: encodeTransaction(coinbase) });
      return (await run({ kind: 'close-block', height })) as Round;
    },
  };
}

it('with that, a node whose closed block another one has from storage goes on', async () => {
  const [one, two] = [await replica(), await replica()];
  const storage = async (round: Round): Promise<void> => {
    await two.run({ kind: 'block-adopted', block: closedBlockBytes(round), facts: one.state.closingFacts(round) });
  };
  const first = await one.close(await one.cut(0));
  await storage(first);
  await one.run({ kind: 'block-stored', height: 0, hash: closedHash(first) });
  // It ends before it notes that its block is stored, and the other one has it from storage and leads.
  await storage(await one.close(await one.cut(1)));
  const { height, hash } = two.state.head;
  for (const { run } of [one, two]) await run({ kind: 'block-stored', height, hash: hash ?? '' });
  await one.cut(2);
  const last = await two.close(await two.cut(2));
  await one.close(one.state.round as Round);
  for (const { run } of [one, two]) await run({ kind: 'block-stored', height: 2, hash: closedHash(last) });
  expect([one.state.head, two.state.head].map((head) => head.height)).toEqual([2, 2]);
  expect(one.state.sharedDigest).toBe(two.state.sharedDigest);
});
