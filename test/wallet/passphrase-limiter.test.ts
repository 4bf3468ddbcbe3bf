/**
 * Who waits for the guesses of whom: each caller has a share by its API key and its address, and all guesses together are bounded as
 * those of one caller are.
 */

import { describe, expect, it } from 'vitest';
import { PassphraseLimiter } from '../../src/wallet/keys/passphrase-limiter.js';
import { ManualClock } from '../support/manual-clock.js';
import { fc, test } from '../support/property.js';

const MINUTE = 60_000;

const at = (key: string, address: string) => ({ key, address });

/** Lets everything that waits for nothing but its turn go on. */
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A limiter whose callers guess or know, and how many guesses it has looked at. */
function guessed() {
  const clock = new ManualClock();
  const limiter = new PassphraseLimiter(clock);
  let looked = 0;
  const guess = (key: string, address: string): void => {
    limiter
      .attempt(
        () => {
          looked += 1;
          return false;
        },
        at(key, address),
      )
      .catch(() => undefined);
  };
  /** True when the right passphrase is taken without any time passing. */
  const passes = async (key: string, address: string): Promise<boolean> => {
    let isDone = false;
    void limiter
      .attempt(() => true, at(key, address))
      .then(
        () => (isDone = true),
        () => undefined,
      );
    await turns();
    return isDone;
  };
  return { clock, limiter, guess, passes, looked: () => looked };
}

describe('a caller who has not failed', () => {
  it.each([
    ['with another key', at('b', 'there')],
    ['with another key, at the same address', at('b', 'here')],
    ['with the same key, at another address', at('a', 'there')],
  ])('%s is not slowed by one who fails all the time', async (_, { key, address }) => {
    const { clock, guess, passes } = guessed();
    for (let minute = 0; minute < 30; minute++) {
      for (let i = 0; i < 40; i++) guess('a', 'here');
      await turns();
      expect(await passes(key, address)).toBe(true);
      clock.advance(MINUTE);
    }
  });

  it('with another key is not slowed by one who fails at a thousand addresses', async () => {
    const { clock, guess, passes } = guessed();
    for (let minute = 0; minute < 30; minute++) {
      for (let i = 0; i < 1_000; i++) guess('a', `10.0.${minute}.${i}`);
      await turns();
      expect(await passes('b', 'there')).toBe(true);
      clock.advance(MINUTE);
    }
  });

  it('and was right before is not slowed by a thousand addresses with every key', async () => {
    const { clock, guess, passes } = guessed();
    expect(await passes('a', 'home')).toBe(true);
    for (let minute = 0; minute < 30; minute++) {
      for (let i = 0; i < 1_000; i++) guess(i % 2 === 0 ? 'a' : 'b', `10.0.${minute}.${i}`);
      await turns();
      expect(await passes('a', 'home')).toBe(true);
      clock.advance(MINUTE);
    }
  });
});

describe('a caller who has failed', () => {
  it('is not freed by being right: a busy wallet would free whoever guesses beside it', async () => {
    const { clock, guess, passes, looked } = guessed();
    for (let i = 0; i < 20; i++) {
      void passes('a', 'home');
      guess('a', 'home');
      clock.advance(MINUTE);
      await turns();
    }
    clock.advance(20 * MINUTE);
    await turns();
    const before = looked();
    for (let i = 0; i < 5; i++) guess('a', 'home');
    await turns();
    expect(looked()).toBe(before + 1);
    expect(await passes('a', 'home')).toBe(false);
  });

  it('by mistake waits for itself alone, not for who guesses with another key', async () => {
    const { clock, guess, passes } = guessed();
    for (let minute = 0; minute < 30; minute++) {
      for (let i = 0; i < 1_000; i++) guess('a', `10.0.${minute}.${i}`);
      await turns();
      clock.advance(MINUTE);
      await turns();
    }
    guess('b', 'home');
    expect(await passes('b', 'home')).toBe(false);
    clock.advance(250);
    await turns();
    expect(await passes('b', 'home')).toBe(true);
  });
});

describe('all guesses together', () => {
  /** How many a single caller has in so many milliseconds. */
  function ofOne(ms: number): number {
    let count = 1;
    for (let spent = 250; spent <= ms; spent += Math.min(250 * 2 ** count++, 30_000));
    return count;
  }

  test.prop(
    [fc.array(fc.tuple(fc.nat(3), fc.nat(60), fc.nat(90_000)), { minLength: 20, maxLength: 60, size: 'max' })],
    { numRuns: 20, endOnFailure: true },
  )('are no more than one caller has, and has four and a half minutes later', async (steps) => {
    const { clock, guess, looked } = guessed();
    let now = 0;
    for (const [key, addresses, ms] of steps) {
      for (let i = 0; i <= addresses; i++) guess(`key ${key}`, `address ${(now % 97) * i}`);
      await turns();
      expect(looked()).toBeLessThanOrEqual(ofOne(now + 4.5 * MINUTE));
      clock.advance(ms);
      now += ms;
      await turns();
    }
    expect(looked()).toBeLessThanOrEqual(ofOne(now + 4.5 * MINUTE));
  });
});
