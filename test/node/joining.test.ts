/** When a mempool node takes the state of another one, and what a kill in the middle of that leaves. */

import { describe, expect, it, onTestFinished } from 'vitest';
import type { Kv } from '../../src/db/kv.js';
import type { LastEntry } from '../../src/journal/journal.js';
import { TesseraError } from '../../src/lib/errors.js';
import { silentLogger } from '../../src/lib/logger.js';
import { isBeingTaken } from '../../src/mempool/replicas/snapshot-records.js';
import { EMPTY_HEAD } from '../../src/mempool/state/chain-head.js';
import { keys } from '../../src/mempool/state/layout.js';
import { decodeHead, encodeHead } from '../../src/mempool/state/records.js';
import type { FromStorage } from '../../src/node/roles/mempool/from-storage.js';
import { Joining } from '../../src/node/roles/mempool/joining.js';
import type { Link } from '../../src/peers/network.js';
import { MemoryKv } from '../support/memory-kv.js';
import type { Bed } from '../support/peers.js';
import { createStateGiver } from '../support/state-giver.js';

const STATUS = keys.status('a transaction');

/** A database whose state ends at that command. */
async function stateAt(seq: number): Promise<Kv> {
  const kv = new MemoryKv();
  const head = encodeHead({ seq, arrivals: 0, head: EMPTY_HEAD, digest: '' });
  const batch = kv
    .batch()
    .put(keys.head, head)
    .put(STATUS, Buffer.from(`status ${seq}`));
  for (let n = 0; n < 2_000; n++) batch.put(keys.utxo({ tHash: `t${n}`, n }), Buffer.alloc(1_000, n));
  await kv.write(batch, { sync: true });
  return kv;
}

interface Setup {
  readonly bed: Bed;
  readonly peer: string;
  /** A node with that database, at a journal that begins at `base`. */
  join(kv: Kv, base: number, peers?: readonly string[]): { readonly joining: Joining; readonly dialed: () => number };
  /** What the journal says of the last entry of a state. */
  found: (last: LastEntry) => LastEntry;
  /** Why storage is not used; null when it is. */
  refusal: Awaited<ReturnType<FromStorage['refusal']>>;
  /** Where the state was made from storage. */
  readonly madeFrom: number[];
  /** From now on the other node answers nothing from that part on. */
  breakAt(part: number): void;
}

async function setUp(given: Kv): Promise<Setup> {
  let broken = Number.POSITIVE_INFINITY;
  const { bed, giver, taker, stop } = await createStateGiver(given, {
    before: ({ body }) => {
      const { part } = body as { readonly part: number };
      if (part >= broken) throw new TesseraError('entry_not_found', 'that transfer has ended');
    },
  });
  onTestFinished(stop);
  const madeFrom: number[] = [];
  const setup: Setup = {
    bed,
    madeFrom,
    refusal: { reason: 'another one does', forGood: false },
    peer: giver.address,
    found: (last) => last,
    join(kv, base, peers = [giver.address]) {
      let dialed = 0;
      const dial = (address: string, options: { readonly timeoutMs: number }): Promise<Link> => {
        dialed++;
        return taker.dial(address, options);
      };
      const storage = { refusal: async () => setup.refusal, take: async (from: number) => void madeFrom.push(from) };
      const modules = {
        kv,
        join: async (last: LastEntry) => ({ base, last: setup.found(last) }),
        network: { dial },
        storage,
        clock: bed.clock,
        logger: silentLogger,
      };
      return { joining: new Joining(peers, modules), dialed: () => dialed };
    },
    breakAt(part) {
      broken = part;
    },
  };
  return setup;
}

const seqOf = async (kv: Kv): Promise<number | undefined> => {
  const head = await kv.get(keys.head);
  return head && decodeHead(head).seq;
};

/** Takes a part of another state into the database, and stops there. */
async function killedInTheMiddle({ join, breakAt }: Setup, kv: Kv): Promise<void> {
  breakAt(1);
  const { joining } = join(kv, 42);
  const running = joining.run();
  await asksInVain(joining);
  joining.stop();
  await expect(running).rejects.toMatchObject({ code: 'shutting_down' });
}

const asksInVain = (joining: Joining): Promise<void> =>
  expect.poll(() => joining.problem).toMatch(/no mempool node has given its state yet/);

/** What is wrong, two seconds later each time. */
const later = ({ bed }: Setup, joining: Joining) =>
  expect.poll(async () => {
    await bed.clock.advance(2_000);
    return joining.problem;
  });

describe('a mempool node that comes to a journal', () => {
  it('keeps a state that the journal goes on from', async () => {
    const { join } = await setUp(await stateAt(90));
    const kv = await stateAt(41);
    const { joining, dialed } = join(kv, 42);
    await joining.run();
    await joining.done();
    expect([await seqOf(kv), dialed(), joining.problem]).toEqual([41, 0, null]);
  });

  it('notes the id of its last entry in a state of an earlier version, which has the number alone', async () => {
    const setup = await setUp(await stateAt(90));
    const asked: LastEntry[] = [];
    setup.found = (last) => {
      asked.push(last);
      return { seq: 41, id: 'a process-000000000007', cluster: 'c1' };
    };
    const kv = await stateAt(41);
    for (let n = 0; n < 2; n++) await setup.join(kv, 42).joining.run();
    expect(asked).toMatchObject([{ seq: 41 }, { seq: 41, id: 'a process-000000000007', cluster: 'c1' }]);
    expect(asked[0]?.id).toBeUndefined();
  });

  it('takes no state that ends with what the journal has lost', async () => {
    const setup = await setUp(await stateAt(90));
    setup.found = (last) => {
      if (last.seq === 90) throw new TesseraError('data_corrupt', 'the journal in etcd has lost command 90');
      return last;
    };
    const { joining } = setup.join(await stateAt(40), 42);
    const running = joining.run();
    await expect.poll(() => joining.problem).toMatch(/has given its state yet; .*has lost command 90/);
    joining.stop();
    await expect(running).rejects.toMatchObject({ code: 'shutting_down' });
  });

  it('takes another state for one that ends before the journal begins, and for none', async () => {
    const { join } = await setUp(await stateAt(90));
    for (const kv of [await stateAt(40), new MemoryKv()]) {
      const { joining } = join(kv, 42);
      await joining.run();
      expect(await isBeingTaken(kv)).toBe(true);
      await joining.done();
      expect([await seqOf(kv), await isBeingTaken(kv), joining.problem]).toEqual([90, false, null]);
    }
  });

  it('begins anew when it was killed in the middle, and goes on asking until a node gives its state', async () => {
    const setup = await setUp(await stateAt(90));
    const kv = await stateAt(40);
    await killedInTheMiddle(setup, kv);
    expect(await isBeingTaken(kv)).toBe(true);
    expect(Buffer.from((await kv.get(STATUS)) ?? []).toString()).not.toBe('status 40');
    const { joining } = setup.join(kv, 42);
    const again = joining.run();
    await asksInVain(joining);
    setup.breakAt(Number.POSITIVE_INFINITY);
    await later(setup, joining).toBeNull();
    await again;
    await joining.done();
    expect([await seqOf(kv), await isBeingTaken(kv)]).toEqual([90, false]);
  });

  it('starts from the first command when half a state is there and the journal still has everything', async () => {
    const setup = await setUp(await stateAt(90));
    const kv = await stateAt(40);
    await killedInTheMiddle(setup, kv);
    const { joining, dialed } = setup.join(kv, 1);
    await joining.run();
    await joining.done();
    expect([await seqOf(kv), await kv.get(STATUS), dialed()]).toEqual([undefined, undefined, 0]);
  });

  it('asks storage when the others were asked in vain for a minute, and as soon as that is right', async () => {
    const setup = await setUp(await stateAt(90));
    const { bed, join, breakAt, madeFrom } = setup;
    breakAt(0);
    const { joining } = join(await stateAt(40), 42);
    const running = joining.run();
    await asksInVain(joining);
    const begun = bed.clock.monotonic();
    await later(setup, joining).toMatch(
      /none of peers.mempool gives its state; it makes none from storage: another one does/,
    );
    expect(bed.clock.monotonic() - begun).toBeGreaterThan(50_000);
    expect(madeFrom).toEqual([]);
    setup.refusal = null;
    await bed.clock.advance(2_000);
    await running;
    expect([madeFrom, joining.problem]).toEqual([[42], null]);
  });

  it('asks storage at once when it knows no other node, and ends by name where that is never right', async () => {
    const setup = await setUp(await stateAt(90));
    const { join, madeFrom } = setup;
    const kv = await stateAt(40);
    setup.refusal = { reason: 'run tessera rebuild', forGood: true };
    await expect(join(kv, 42, []).joining.run()).rejects.toMatchObject({
      code: 'data_corrupt',
      message: expect.stringContaining('peers.mempool names none; it makes none from storage: run tessera rebuild'),
    });
    expect(await seqOf(kv)).toBe(40);
    setup.refusal = null;
    await join(kv, 42, []).joining.run();
    expect(madeFrom).toEqual([42]);
  });
});
