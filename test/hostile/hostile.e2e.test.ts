/** The short form of `npm run test:hostile`: every attack but the longest, at its smallest. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Network } from '../support/processes.js';
import { type Arena, startArena } from './arena.js';
import { ATTACKS } from './attacks/index.js';
import { battle } from './battle.js';

let network: Network;
let arena: Arena;

beforeAll(async () => {
  ({ network, arena } = await startArena(1));
}, 120_000);

afterAll(() => network.stopAll());

describe('four processes under attack make blocks, and lose nothing to', () => {
  it.each(ATTACKS.filter(({ byHand }) => byHand !== true).map((attack) => [attack.name, attack] as const))(
    '%s',
    { timeout: 120_000 },
    async (_name, attack) => {
      const [outcome] = await battle(arena, [attack], () => undefined);
      expect(outcome?.damage).toBeNull();
    },
  );
});
