import { describe, expect, it } from 'vitest';
import { PeerDoubts } from '../../src/storage/blocks/peer-doubts.js';
import { ManualClock } from '../support/manual-clock.js';

describe('doubts about storage nodes', () => {
  it('are remembered of a bounded number of keys, those that broke their word last', () => {
    const doubts = new PeerDoubts(new ManualClock(), 5_000);
    const peer = (i: number) => ({ nodeKey: `key ${i}` });
    for (let i = 0; i < 5_000; i++) {
      doubts.addBrokenWord(peer(i));
      doubts.addBrokenWord(peer(0));
    }
    const known = Array.from({ length: 5_000 }, (_, i) => i).filter((i) => doubts.has(peer(i)));
    expect(known).toHaveLength(4_096);
    expect([known[0], known.at(-1)]).toEqual([0, 4_999]);
  });
});
