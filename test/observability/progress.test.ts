import { describe, expect, it } from 'vitest';
import { Progress } from '../../src/observability/progress.js';
import { ManualClock } from '../support/manual-clock.js';

function setup(isTerminal: boolean) {
  const clock = new ManualClock();
  const written: string[] = [];
  const shares: number[] = [];
  const sink = { write: (text: string) => written.push(text) };
  const progress = new Progress(
    { task: 'catching up', unit: 'blocks' },
    {
      clock,
      share: (share) => shares.push(share),
      ...(isTerminal ? { terminal: sink } : { line: (text: string) => written.push(text) }),
    },
  );
  return { clock, written, shares, progress };
}

describe('progress', () => {
  it('is a line every five seconds where there is no terminal, with rate and time left', () => {
    const { clock, written, progress } = setup(false);
    progress.update(100, 1_000);
    clock.advance(4_999);
    progress.update(150, 1_000);
    expect(written).toEqual([]);
    clock.advance(1);
    progress.update(200, 1_000);
    expect(written).toEqual(['catching up: 20 %, 200 of 1000 blocks, 20 blocks/s, 40 s left']);
  });

  it('is a bar on a terminal, drawn over and taken away at the end', () => {
    const { clock, written, progress } = setup(true);
    progress.update(0, 100);
    clock.advance(1_000);
    progress.update(50, 100);
    progress.end();
    expect(written).toEqual([
      '\r\u001b[K[############------------] catching up: 50 %, 50 of 100 blocks, 50 blocks/s, 1 s left',
      '\r\u001b[K',
    ]);
  });

  it('counts without a total while none is known', () => {
    const { clock, written, shares, progress } = setup(false);
    progress.update(0);
    clock.advance(5_000);
    progress.update(500);
    expect(written).toEqual(['catching up: 500 blocks, 100 blocks/s']);
    expect(shares).toEqual([]);
  });

  it('gives words for health while the task runs, and its share for metrics', () => {
    const { shares, progress } = setup(false);
    expect(progress.current).toBeUndefined();
    progress.update(1, 3);
    expect(progress.current).toBe('catching up: 33 %, 1 of 3 blocks');
    progress.end();
    expect(progress.current).toBeUndefined();
    expect(shares).toEqual([1 / 3, 1]);
  });

  it('begins anew when the counts do', () => {
    const { clock, written, progress } = setup(false);
    progress.update(0, 10);
    clock.advance(60_000);
    progress.update(0, 10);
    progress.end();
    progress.update(0, 10);
    clock.advance(5_000);
    progress.update(5, 10);
    expect(written.at(-1)).toBe('catching up: 50 %, 5 of 10 blocks, 1 blocks/s, 5 s left');
  });
});
