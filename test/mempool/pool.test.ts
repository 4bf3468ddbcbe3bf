/** What waits, counted as it comes and goes. */

import { expect, it } from 'vitest';
import { Pool } from '../../src/mempool/state/pool.js';
import { account, candidate, genesisOut, pay, payment } from '../support/mempool.js';

const alice = account('alice');

function poolOf(count: number): Pool {
  const pool = new Pool();
  for (let n = 0; n < count; n++) {
    const { hash, bytes, tx } = candidate(
      payment({ from: alice, inputs: [genesisOut(n)], outputs: [pay(alice, 1_000_000n)] }),
    );
    pool.add({ hash, bytes, arrival: n + 1, time: 0, unit: 0, operations: 3, fault: null, height: 0 }, tx);
  }
  return pool;
}

it('a pool that becomes another one counts what that holds: blocks are begun by it', () => {
  const pool = poolOf(5);
  pool.become(poolOf(2));
  expect(pool.moving).toEqual(poolOf(2).moving);
  pool.become(new Pool());
  expect(pool.moving).toEqual({ count: 0, bytes: 0, operations: 0 });
});
