/**
 * The short form of `npm run test:reliability`: a sample of its rounds, by a seed that stands here or `RELIABILITY_SEED`.
 */

import { expect, it } from 'vitest';
import { Campaign } from './campaign.js';
import type { Outcome } from './round.js';

const SEED = Number(process.env.RELIABILITY_SEED ?? 20_261_122);
const ROUNDS = 1;
const CASES = 4;

const failures = (outcomes: readonly Outcome[]): string[] =>
  outcomes.filter(({ result }) => result === 'failed').map(({ part, name, detail }) => `${part} ${name}: ${detail}`);

it('four nodes lose nothing and serve nothing wrong, whatever ends or damages them (rules P1, P2, P3, P4, P7)', async () => {
  const campaign = new Campaign({
    scale: 1,
    seed: SEED,
    parts: ['failpoints', 'calls', 'disk', 'corruption'],
    most: ROUNDS,
    cases: CASES,
    isShort: true,
  });
  const outcomes = await campaign.run(() => undefined);
  expect(failures(outcomes)).toEqual([]);
  expect(outcomes.length).toBeGreaterThan(ROUNDS);
}, 900_000);
