/** Who submits while a block of storage is taken in is not refused for what is not there at that moment. */

import { expect, it } from 'vitest';
import { endlessRoom } from '../../src/db/disk-room.js';
import { Verifier } from '../../src/ledger/verifier/verifier.js';
import { silentLogger } from '../../src/lib/logger.js';
import { atOnce } from '../../src/lib/pieces.js';
import { Admission } from '../../src/mempool/admission/admission.js';
import { readAdoptedBlock } from '../../src/mempool/state/adopted-block.js';
import type { Applier } from '../../src/mempool/state/applier.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { Statuses } from '../../src/mempool/state/statuses.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { ManualClock } from '../support/manual-clock.js';
import { account, candidate, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
import { createNode } from './state-node.js';

const alice = account('alice');
const bob = account('bob');
const rules = rulesFor([alice, bob]);

it('a payment of what the block pays is told to come again, has no status, and is judged afterwards', async () => {
  const first = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] });
  const paid = { tHash: candidate(first).hash, n: 0 };
  const next = payment({ from: bob, inputs: [paid], outputs: [pay(alice, 1_000_000n)] });
  const maker = createNode(rules);
  await maker.make();
  await maker.make(first);
  const { kv, state, adopt } = createNode(rules);
  await adopt(await maker.kept(0));

  const clock = new ManualClock();
  const store = new StateStore(kv, clock);
  const statuses = new Statuses({ lifetime: 86_400 }, { store, state, clock, logger: silentLogger });
  const verifier = new Verifier({ threads: 0 });
  const refused: string[] = [];
  const admission = new Admission(
    { maxTransactions: 100, maxBytes: 1_000_000 },
    {
      state,
      statuses,
      verifier,
      clock,
      metrics: noMetrics,
      // What passes every check gets this far.
      applier: { submit: () => Promise.reject(new Error('admitted')) } as unknown as Applier,
      assertNotBehind: () => undefined,
      onRefused: ({ hash }) => refused.push(hash),
      room: endlessRoom,
    },
  );

  const { bytes } = await maker.kept(1);
  const block = await readAdoptedBlock(bytes, null, async () => undefined);
  const work = state.adoptBlock(block, kv.batch());
  work.next();
  await expect(admission.submit([next])).rejects.toMatchObject({ code: 'mempool_unreachable' });
  expect([refused, [...(await statuses.get([candidate(next).hash]))]]).toEqual([[], []]);
  expect(atOnce(work)).toBe(true);
  await expect(admission.submit([next])).rejects.toThrow('admitted');
  await statuses.stop();
  await verifier.close();
});
