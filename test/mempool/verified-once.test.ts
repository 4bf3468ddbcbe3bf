/**
 * An answer of the verifier that is known from an earlier admission is never computed twice: not when the transaction is posted
 * again, not when the journal is applied again, and not when a block brings it.
 */

import { expect, test } from 'vitest';
import type { Transaction } from '../../src/chain/types.js';
import { Verifier } from '../../src/ledger/verifier/verifier.js';
import { AdoptionCheck } from '../../src/mempool/blocks/adoption-check.js';
import { readAdoptedBlock } from '../../src/mempool/state/adoption.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { ManualClock } from '../support/manual-clock.js';
import { account, chainFor, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';
import { alice, bob, newFolder, type Setup, send, setUp, stored } from './running.js';
import { createNode } from './state-node.js';

const computed = ({ mempool }: Setup): number => {
  const { worker, main } = mempool.figures().checks;
  return worker + main;
};

test('a transaction posted again, alone, in a list, and when it is in a block', async () => {
  const node = await setUp({ folder: await newFolder() });
  await stored(node.mempool, 0);
  const [first, second] = [send(alice, 0, bob), send(bob, 1, alice)];
  await node.mempool.submit([first]);
  expect(computed(node)).toBe(1);
  await node.mempool.submit([first]);
  await node.mempool.submit([first, second]);
  expect(computed(node)).toBe(2);
  await stored(node.mempool, 1);
  await node.mempool.submit([first, second]);
  expect(computed(node)).toBe(2);
});

test('replay: what the journal and the state hold is not verified when the node starts again', async () => {
  const folder = await newFolder();
  const before = await setUp({ folder });
  await stored(before.mempool, 0);
  const tx = send(alice, 0, bob);
  await before.mempool.submit([tx]);
  expect(computed(before)).toBe(1);
  await before.close();
  const after = await setUp({ folder });
  await after.mempool.submit([tx]);
  await stored(after.mempool, 1);
  expect(computed(after)).toBe(0);
});

test('block application: of a block of storage, what is admitted already is not verified again, and the rest is', async () => {
  const [carol, dora] = [account('carol'), account('dora')];
  const rules = rulesFor([carol, dora]);
  const pays = (from: typeof carol, n: number): Transaction =>
    payment({ from, inputs: [genesisOut(n)], outputs: [pay(from, 1_000_000n)] });
  const maker = createNode(rules);
  await maker.make();
  await maker.make(pays(carol, 0), pays(dora, 1));
  const { adopt, accept, state, kv } = createNode(rules);
  await adopt(await maker.kept(0));
  // Admitted before this process began: the verifier has never seen it.
  await accept(pays(carol, 0));
  const verifier = new Verifier({ threads: 0 });
  const clock = new ManualClock();
  const check = new AdoptionCheck(chainFor(rules).rules, { state, store: new StateStore(kv, clock), verifier, clock });
  await check.check(await readAdoptedBlock((await maker.kept(1)).bytes, null, async () => undefined));
  expect(verifier.ran).toEqual({ main: 1, worker: 0 });
  await verifier.close();
});
