/** Submissions that wait for what they spend (docs/adr/0018-chained-payments.md), and strangers who want them to wait for ever. */

import { describe, expect, it } from 'vitest';
import { outPointKey } from '../../src/chain/transaction.js';
import type { OutPoint } from '../../src/chain/types.js';
import { SubmissionsUnderWay, waitingPlaces } from '../../src/mempool/admission/checks.js';
import type { CandidateTx } from '../../src/mempool/state/acceptance.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function candidate(hash: string, parent?: string): CandidateTx {
  const inputs = parent === undefined ? [] : [{ previousOut: { tHash: parent, n: 0 }, script: [] }];
  return { hash, bytes: new Uint8Array(), tx: { inputs, outputs: [], fees: [], version: 6n, druidInfo: null } };
}

function underWay() {
  const outputs = new Set<string>();
  const coins = { has: (outPoint: OutPoint) => outputs.has(outPointKey(outPoint)) };
  const submissions = new SubmissionsUnderWay({ coins, places: waitingPlaces() });
  return {
    enter: (candidates: readonly CandidateTx[], sender = 'somebody') => {
      const entry = { leave: undefined as (() => void) | undefined, code: '' };
      const entering = async () => submissions.enter(candidates, sender);
      entering().then(
        (leave) => {
          entry.leave = leave;
        },
        (error: { code: string }) => {
          entry.code = error.code;
        },
      );
      return entry;
    },
    create: (tHash: string) => outputs.add(outPointKey({ tHash, n: 0 })),
  };
}

describe('a submission that spends from another', () => {
  it('waits for the verdict on it, also when a copy of it has been refused', async () => {
    const { enter } = underWay();
    const parent = enter([candidate('p')]);
    const copy = enter([candidate('p')], 'stranger');
    await turn();
    copy.leave?.();
    const child = enter([candidate('c', 'p')]);
    await turn();
    expect(child.leave).toBeUndefined();
    parent.leave?.();
    await turn();
    expect(child.leave).toBeDefined();
  });

  it('does not wait when what it spends is there, whatever else brings that', async () => {
    const { enter, create } = underWay();
    create('p');
    // A chain of junk, each of which brings a copy of what the victim spends from.
    enter([candidate('j0'), candidate('p')], 'stranger');
    for (let i = 1; i <= 100; i++) enter([candidate(`j${i}`, `j${i - 1}`), candidate('p')], 'stranger');
    const victim = enter([candidate('v', 'p')]);
    await turn();
    expect(victim.leave).toBeDefined();
  });

  it('goes on as soon as one of several has brought it', async () => {
    const { enter, create } = underWay();
    enter([candidate('p'), candidate('junk')], 'stranger');
    const parent = enter([candidate('p')]);
    const child = enter([candidate('c', 'p')]);
    await turn();
    expect(child.leave).toBeUndefined();
    create('p');
    parent.leave?.();
    await turn();
    expect(child.leave).toBeDefined();
  });
});

describe('submissions that wait', () => {
  it('are bounded in depth, and refused as overloaded beyond it', async () => {
    const { enter } = underWay();
    const first = enter([candidate('j0')]);
    const chain = Array.from({ length: 200 }, (_, i) => enter([candidate(`j${i + 1}`, `j${i}`)]));
    await turn();
    expect(chain.filter(({ code }) => code === 'overloaded').length).toBe(1);
    expect(chain[128]?.code).toBe('overloaded');
    // Its child has nobody to wait for; what came before goes on, each after the one that it spends from.
    first.leave?.();
    for (const one of chain.slice(0, 128)) {
      await turn();
      expect(one.leave).toBeDefined();
      one.leave?.();
    }
  });

  it('are bounded in number, and a sender leaves as many places as it takes', async () => {
    const { enter } = underWay();
    enter([candidate('p')]);
    const flood = Array.from({ length: 2_000 }, (_, i) => enter([candidate(`f${i}`, 'p')], 'stranger'));
    await turn();
    expect(flood.filter(({ code }) => code === '')).toHaveLength(500);
    const honest = enter([candidate('c', 'p')]);
    await turn();
    expect(honest.code).toBe('');
  });
});
