/** Commands that hold many transactions do not hold the event loop (docs/performance.md#requests-and-admission). */

import { expect, it } from 'vitest';
import { MempoolState } from '../../src/mempool/state/state.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, candidate, genesisOut, pay, payment, rulesFor } from '../support/mempool.js';

const alice = account('alice');
const CONTEXT = { time: 1, isInChain: () => false };

it('groups are accepted in pieces, from a turn of its own for each command on, and none is divided', () => {
  const state = new MempoolState(rulesFor([alice]));
  const fetched: number[] = [];
  const { coins } = state;
  const approach = coins.approach.bind(coins);
  coins.approach = (transactions) => {
    fetched.push(transactions.length);
    approach(transactions);
  };
  // Nothing is unspent yet: each group is refused.
  const tx = candidate(payment({ from: alice, inputs: [genesisOut(0)], outputs: [pay(alice, 1n)] }));
  const group = (size: number) => Array.from({ length: size }, () => tx);
  const groups = [...Array.from({ length: 50 }, () => group(1)), group(40), group(500), group(1)];
  const work = state.accept(groups, CONTEXT, new MemoryKv().batch());
  const pieces: number[] = [];
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) {
      expect(step.value).toHaveLength(groups.length);
      break;
    }
    pieces.push(fetched.length);
  }
  // What they spend is fetched for many at a time.
  expect(fetched).toEqual([90, 500, 1]);
  expect(pieces).toEqual([0, 1, 2]);
});
