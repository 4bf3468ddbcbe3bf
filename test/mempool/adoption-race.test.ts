/** Who submits while a block of storage is taken in is not refused for what is not there at that moment. */

import { expect, it } from 'vitest';
import { itemAsset } from '../../src/chain/assets.js';
import { txOut } from '../../src/chain/builders.js';
import type { Transaction } from '../../src/chain/types.js';
import { endlessRoom } from '../../src/db/disk-room.js';
import type { Kv } from '../../src/db/kv.js';
import { Verifier } from '../../src/ledger/verifier/verifier.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { silentLogger } from '../../src/lib/logger.js';
import { atOnce } from '../../src/lib/pieces.js';
import { Admission } from '../../src/mempool/admission/admission.js';
import { readAdoptedBlock } from '../../src/mempool/state/adoption.js';
import type { Applier } from '../../src/mempool/state/applier.js';
import type { MempoolState } from '../../src/mempool/state/state.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { Statuses } from '../../src/mempool/state/statuses.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { ManualClock } from '../support/manual-clock.js';
import { type Account, account, candidate, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
import { createNode } from './state-node.js';

const alice = account('alice');
const bob = account('bob');
const carol = account('carol');
const rules = rulesFor([alice, bob, carol]);

it('a payment of what the block pays is told to come again, has no status, and is judged afterwards', async () => {
  const first = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] });
  const paid = { tHash: candidate(first).hash, n: 0 };
  const next = payment({ from: bob, inputs: [paid], outputs: [pay(alice, 1_000_000n)] });
  const maker = createNode(rules);
  await maker.make();
  await maker.make(first);
  const { kv, state, adopt } = createNode(rules);
  await adopt(await maker.kept(0));

  const { admission, statuses, refused, stop } = admissionOf(kv, state, new Verifier({ threads: 0 }));
  const { bytes } = await maker.kept(1);
  const block = await readAdoptedBlock(bytes, null, async () => undefined);
  const work = state.adoptBlock(block, kv.batch());
  work.next();
  await expect(admission.submit([next])).rejects.toMatchObject({ code: 'mempool_unreachable' });
  expect([refused, [...(await statuses.get([candidate(next).hash]))]]).toEqual([[], []]);
  expect(atOnce(work)).toBe(true);
  await expect(admission.submit([next])).rejects.toThrow('admitted');
  await stop();
});

it('a payment that was being verified when its parent was withdrawn is told to come again too', async () => {
  const first = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] });
  const paid = { tHash: candidate(first).hash, n: 0 };
  const next = payment({ from: bob, inputs: [paid], outputs: [pay(alice, 1_000_000n)] });
  const rival = (to: Account): Transaction =>
    payment({ from: carol, inputs: [genesisOut(2)], outputs: [pay(to, 1_000_000n)] });
  const maker = createNode(rules);
  await maker.make();
  await maker.make(rival(alice));
  const { kv, state, adopt, accept } = createNode(rules);
  await adopt(await maker.kept(0));
  await accept(first);
  await accept(rival(carol));

  const verifying = createDeferred<void>();
  const verified = createDeferred<boolean>();
  const verify = (): Promise<boolean> => {
    verifying.resolve();
    return verified.promise;
  };
  const { admission, statuses, refused, stop } = admissionOf(kv, state, { verify, close: async () => undefined });
  const submitted = expect(admission.submit([next])).rejects.toMatchObject({ code: 'mempool_unreachable' });
  await verifying.promise;
  const { bytes } = await maker.kept(1);
  const work = state.adoptBlock(await readAdoptedBlock(bytes, null, async () => undefined), kv.batch());
  while (state.coins.has(paid)) expect(work.next().done).toBe(false);
  verified.resolve(true);
  await submitted;
  expect([refused, [...(await statuses.get([candidate(next).hash]))]]).toEqual([[], []]);
  expect(atOnce(work)).toBe(true);
  await expect(admission.submit([next])).rejects.toThrow('admitted');
  await stop();
});

it('a payment of what waits is told to come again while what no block may hold is taken out of the pool', async () => {
  const first = payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000_000n)] });
  const paid = { tHash: candidate(first).hash, n: 0 };
  const next = payment({ from: bob, inputs: [paid], outputs: [pay(alice, 1_000_000n)] });
  const honest = payment({ from: carol, inputs: [genesisOut(2)], outputs: [pay(bob, 1_000_000n)] });
  // An earlier version has admitted it.
  const minting = { ...honest, fees: [txOut(itemAsset(5n, null), carol.address)] };
  const maker = createNode(rules);
  await maker.make();
  const { kv, state, adopt, accept } = createNode(rules);
  await adopt(await maker.kept(0));
  await accept(first, minting);

  const { admission, statuses, refused, stop } = admissionOf(kv, state, new Verifier({ threads: 0 }));
  const work = state.dropUnlawful(1_700_000_000, kv.batch());
  while (state.coins.has(paid)) expect(work.next().done).toBe(false);
  await expect(admission.submit([next])).rejects.toMatchObject({ code: 'mempool_unreachable' });
  expect([refused, [...(await statuses.get([candidate(next).hash]))]]).toEqual([[], []]);
  atOnce(work);
  expect(state.isReady(candidate(minting).hash)).toBe(false);
  await expect(admission.submit([next])).rejects.toThrow('admitted');
  await stop();
});

type Checks = Pick<Verifier, 'verify' | 'close'>;

function admissionOf(kv: Kv, state: MempoolState, verifier: Checks) {
  const clock = new ManualClock();
  const store = new StateStore(kv, clock);
  const statuses = new Statuses({ lifetime: 86_400 }, { store, state, clock, logger: silentLogger });
  const refused: string[] = [];
  const admission = new Admission(
    { maxTransactions: 100, maxBytes: 1_000_000 },
    {
      state,
      statuses,
      verifier: verifier as Verifier,
      clock,
      metrics: noMetrics,
      // What passes every check gets this far.
      applier: { submit: () => Promise.reject(new Error('admitted')) } as unknown as Applier,
      assertNotBehind: () => undefined,
      onRefused: ({ hash }) => refused.push(hash),
      room: endlessRoom,
    },
  );
  const stop = async (): Promise<void> => {
    await statuses.stop();
    await verifier.close();
  };
  return { admission, statuses, refused, stop };
}
