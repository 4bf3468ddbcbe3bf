/** Commands that hold many transactions do not hold the event loop (docs/performance.md#requests-and-admission). */

import { describe, expect, it } from 'vitest';
import { AcceptInTurns } from '../../src/mempool/state/accept-in-turns.js';
import type { CandidateTx } from '../../src/mempool/state/acceptance.js';
import type { MempoolState } from '../../src/mempool/state/state.js';
import { MemoryKv } from '../support/memory-kv.js';

const group = (size: number): readonly CandidateTx[] => Array.from({ length: size }, () => ({}) as CandidateTx);
const CONTEXT = { time: 1, isKnownCreate: () => false };

describe('groups that are accepted', () => {
  it('leave the loop to others in between, over several commands, and no group is divided', async () => {
    let inTurn = 0;
    const turns: number[] = [];
    const approached: number[] = [];
    const coins = { approach: (transactions: readonly unknown[]) => void approached.push(transactions.length) };
    const state = {
      coins: coins as unknown as MempoolState['coins'],
      accept(groups: readonly (readonly CandidateTx[])[]) {
        inTurn += groups.flat().length;
        return groups.map(() => null);
      },
    };
    const accepting = new AcceptInTurns(state, async () => {
      turns.push(inTurn);
      inTurn = 0;
    });
    const batch = new MemoryKv().batch();
    const command = [...Array.from({ length: 50 }, () => group(1)), group(40), group(500)];
    for (let i = 0; i < 2; i++) {
      expect(await accepting.accept(command, CONTEXT, batch)).toEqual(command.map(() => null));
    }
    expect(turns).toEqual([90, 500, 90]);
    // What they spend is fetched for many at a time.
    expect(approached).toEqual([90, 500, 90, 500]);
  });
});
