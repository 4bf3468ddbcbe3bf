/** One of three mempool nodes at one journal has a damaged state: it stops, and the others go on. */

import { cp } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Journal, Leadership } from '../../src/journal/journal.js';
import { damageState } from '../support/damaged-state.js';
import { openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { createBed } from '../support/peers.js';
import { addMiner, addStorage, alice, atEnd, bob, newFolder, type Setup, send, setUp, stored } from './running.js';

const follower: Leadership = { leads: false, problem: null, changed: { on: () => () => undefined } };

/** Three nodes with the same state after block 0, but that the third is damaged; the first leads. */
async function startThree(): Promise<{ readonly nodes: readonly Setup[]; readonly journal: Journal }> {
  const journalKv = new MemoryKv();
  const folders = [await newFolder(), await newFolder(), await newFolder()] as const;
  const first = await setUp({ folder: folders[0], journalKv, replica: 'a' });
  await stored(first.mempool, 0);
  await first.close();
  for (const folder of folders.slice(1)) await cp(folders[0], folder, { recursive: true });
  await damageState(folders[2], 'test');
  const bed = createBed('memory');
  const journal = await openJournal(journalKv);
  const nodes: Setup[] = [];
  for (const [i, folder] of folders.entries()) {
    const replica = `node-${'abc'[i]}`;
    const leadership = i === 0 ? {} : { leadership: follower };
    const options = { folder, bed, name: replica, replica, wrapJournal: () => journal, journalKv, miners: [] };
    nodes.push(await setUp({ ...options, ...leadership, storage: false }));
  }
  atEnd(() => journal.close());
  return { nodes, journal };
}

describe('a node whose state differs from that of two others', () => {
  it('stops with state_diverged after the next block, and says between which commands it came to differ', async () => {
    const { nodes } = await startThree();
    const [one, two, three] = nodes as [Setup, Setup, Setup];
    three.mempool.failed.catch(() => undefined);
    const storage = await addStorage(one.bed, one.network, []);
    for (const node of [two, three]) await storage.dial(node.network.address, { timeoutMs: 5_000 });
    await addMiner(one.bed, one.network, 'miner');
    await two.mempool.submit([send(alice, 0, bob)]);
    await expect(three.mempool.failed).rejects.toMatchObject({
      code: 'state_diverged',
      message: expect.stringMatching(
        /nodes \(node-[ab], node-[ab]\).*after block 1: they came apart after command \d+ \(block 0\) and by command \d+;/,
      ),
    });
    await Promise.all([stored(one.mempool, 1), stored(two.mempool, 1)]);
    await one.mempool.submit([send(bob, 1, alice)]);
    await Promise.all([stored(one.mempool, 2), stored(two.mempool, 2)]);
    expect(two.mempool.digest()).toBe(one.mempool.digest());
  });
});
