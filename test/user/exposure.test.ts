import { expect, it } from 'vitest';
import { Exposure } from '../../src/user/sender.js';
import { ManualClock } from '../support/manual-clock.js';

const MINUTE = 60_000;

it('takes what was queued before this run for sent just before it, of which nothing was heard', () => {
  const clock = new ManualClock();
  const exposure = new Exposure(clock);
  expect(exposure.of('a')).toBe('fresh');
  exposure.unknown('a');
  expect(exposure.of('a')).toBe('out');
  exposure.begin('a');
  expect(exposure.of('a')).toBe('out');
  // An attempt of the last run may be worked on still, and be admitted after this one was refused.
  exposure.end('a', true);
  expect(exposure.of('a')).toBe('out');
  clock.advance(MINUTE + 1);
  exposure.begin('a');
  exposure.end('a', true);
  expect(exposure.of('a')).toBe('refused');
});

it('does not take a refusal for an answer to an attempt of which nothing was heard, for a minute', () => {
  const clock = new ManualClock();
  const exposure = new Exposure(clock);
  const attempt = (isRefused: boolean): string => {
    exposure.begin('a');
    exposure.end('a', isRefused);
    return exposure.of('a');
  };
  expect(attempt(false)).toBe('out');
  clock.advance(MINUTE);
  // The first may be worked on still, and be admitted after the second was refused.
  expect(attempt(true)).toBe('out');
  clock.advance(1);
  expect(attempt(true)).toBe('refused');
});

it('keeps nothing of what is settled, though an answer comes later', () => {
  const exposure = new Exposure(new ManualClock());
  exposure.begin('a');
  exposure.forget('a');
  exposure.end('a', false);
  expect(exposure.of('a')).toBe('fresh');
});
