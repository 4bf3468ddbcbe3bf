/**
 * What is known stays known (decisions V1, V4): from its admission on, a transaction is Pending or Confirmed at every
 * moment, and its poster always gets the same answer, whatever the disk is doing meanwhile.
 */

import { describe, expect, it } from 'vitest';
import { transactionHash } from '../../src/chain/hash.js';
import type { Kv } from '../../src/db/kv.js';
import { unsealRecord, writesOf } from '../../src/db/record.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { keys } from '../../src/mempool/state/layout.js';
import { decodeStatus } from '../../src/mempool/state/records.js';
import { withWrite } from '../support/kv.js';
import { settle } from '../support/manual-clock.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
import { alice, bob, newFolder, send, setUp, stored } from './running.js';

/** Holds back the first write that sets the status of `hash` to `kind`, until it is released. */
function holdStatus(hash: string, kind: 'Confirmed' | 'Rejected') {
  const reached = createDeferred<void>();
  const released = createDeferred<void>();
  const key = Buffer.from(keys.status(hash));
  let held = false;
  const isIt = (batch: Parameters<Kv['write']>[0]): boolean =>
    writesOf(batch).some(
      ({ key: written, record }) =>
        key.equals(written) && record !== undefined && decodeStatus(unsealRecord(written, record)).status === kind,
    );
  const wrap = (kv: Kv): Kv =>
    withWrite(kv, async (batch, options) => {
      if (!held && isIt(batch)) {
        held = true;
        reached.resolve();
        await released.promise;
      }
      await kv.write(batch, options);
    });
  return { wrap, reached: reached.promise, release: () => released.resolve() };
}

/** The same store on a disk that takes some turns of the loop more for each write. */
function slowly(kv: Kv): Kv {
  return withWrite(kv, async (batch, options) => {
    for (let turn = 0; turn < 10; turn++) await settle();
    await kv.write(batch, options);
  });
}

describe('an admitted transaction', () => {
  it('is known while the write that confirms it is under way', async () => {
    const tx = send(alice, 0, bob);
    const hash = transactionHash(tx);
    const gate = holdStatus(hash, 'Confirmed');
    const { mempool, bed } = await setUp({ folder: await newFolder(), wrapKv: gate.wrap });
    await stored(mempool, 0);
    const first = await mempool.submit([tx]);
    let isReached = false;
    void gate.reached.then(() => {
      isReached = true;
    });
    // It is written behind.
    while (!isReached) await bed.clock.advance(300);
    expect((await mempool.statuses([hash])).get(hash)).toMatchObject({
      status: 'Confirmed',
      additionalInfo: expect.stringMatching(/^In block 1 b/),
    });
    expect(await mempool.submit([tx])).toEqual(first);
    gate.release();
    await stored(mempool, 1);
    expect((await mempool.statuses([hash])).get(hash)).toMatchObject({ status: 'Confirmed' });
    expect(await mempool.submit([tx])).toEqual(first);
  });

  it('is not called Rejected by an earlier refusal whose write is late', async () => {
    const parent = send(alice, 0, bob);
    const child = payment({
      from: bob,
      inputs: [{ tHash: transactionHash(parent), n: 0 }],
      outputs: [pay(alice, 999_999n)],
    });
    const hash = transactionHash(child);
    const gate = holdStatus(hash, 'Rejected');
    // In memory, so that turns of the loop are all that anything has to wait for.
    const { mempool } = await setUp({
      folder: await newFolder(),
      journalKv: new MemoryKv(),
      wrapKv: () => gate.wrap(new MemoryKv()),
    });
    await stored(mempool, 0);
    const refused = mempool.submit([child]).catch((error: unknown) => error);
    await gate.reached;
    const admitted = (async () => {
      await mempool.submit([parent]);
      await stored(mempool, 1);
      await mempool.submit([child]);
      await stored(mempool, 2);
    })();
    for (let turn = 0; turn < 500; turn++) await settle();
    gate.release();
    await admitted;
    expect(await refused).toMatchObject({ code: 'unknown_input' });
    for (let turn = 0; turn < 10; turn++) await settle();
    expect((await mempool.statuses([hash])).get(hash)).toMatchObject({ status: 'Confirmed' });
  });

  it('keeps its status for the whole lifetime, though it was refused once before that', async () => {
    const lifetime = 7_200;
    const hour = 3_600_000;
    const { mempool, bed } = await setUp({ folder: await newFolder(), mempool: { statuses: { lifetime } } });
    await stored(mempool, 0);
    const parent = send(alice, 0, bob);
    const child = payment({
      from: bob,
      inputs: [{ tHash: transactionHash(parent), n: 0 }],
      outputs: [pay(alice, 999_999n)],
    });
    const other = send(alice, 77, bob);
    for (const tx of [child, other]) {
      await expect(mempool.submit([tx])).rejects.toMatchObject({ code: 'unknown_input' });
    }
    await bed.clock.advance(2 * hour - 1_000);
    await mempool.submit([parent]);
    await stored(mempool, 1);
    await mempool.submit([child]);
    await stored(mempool, 2);
    // The refusals of the first minute have expired when the other one is gone.
    const refusals = async (): Promise<number> => {
      await bed.clock.advance(hour / 4);
      return (await mempool.statuses([transactionHash(other)])).size;
    };
    await expect.poll(refusals, { timeout: 60_000 }).toBe(0);
    expect((await mempool.statuses([transactionHash(child)])).get(transactionHash(child))).toMatchObject({
      status: 'Confirmed',
    });
  });

  it('is known to everybody who posts it again while blocks are made, each time', async () => {
    const count = 1_200;
    const rounds = 15;
    const accounts = Array.from({ length: count }, (_, i) => account(`payer ${i}`));
    const { mempool } = await setUp({
      folder: await newFolder(),
      wrapKv: slowly,
      mempool: { rules: rulesFor(accounts), pool: { maxTransactions: 10_000, maxBytes: 100_000_000 } },
    });
    await stored(mempool, 0);
    const transactions = accounts.map((from, n) =>
      payment({ from, inputs: [genesisOut(n)], outputs: [pay(bob, 1_000_000n)] }),
    );
    const hashes = transactions.map(transactionHash);
    const refusals: unknown[] = [];
    const absent: string[] = [];
    const posted = new Set<string>();
    const post = async (i: number): Promise<void> => {
      const [tx, hash] = [transactions[i], hashes[i]];
      if (tx === undefined || hash === undefined) return;
      try {
        await mempool.submit([tx]);
        posted.add(hash);
        if (!(await mempool.statuses([hash])).has(hash)) absent.push(hash);
      } catch (error) {
        refusals.push(error);
      }
    };
    for (let round = 0; round < rounds; round++) {
      const posts: Promise<void>[] = [];
      for (let i = 0; i < count; i++) {
        posts.push(post((i * 7 + round) % count));
        if (i % 100 === 0) await settle();
      }
      await Promise.all(posts);
    }
    expect({ refusals, absent, posted: posted.size }).toEqual({ refusals: [], absent: [], posted: count });
    await expect.poll(() => mempool.figures().waitingCount).toBe(0);
    expect(mempool.balances([bob.address]).tokens).toBe(1_000_000n * BigInt(count));
  });
});
