/** The short form of `npm run test:hostile`: every attack but the longest, at its smallest. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtScript } from '../support/built-script.js';
import { createNetwork, type Network } from '../support/processes.js';
import { type Arena, startArena } from './arena.js';
import type { Attack } from './attack.js';
import { ATTACKS } from './attacks/index.js';
import { battle, tableLine } from './battle.js';

const execute = promisify(execFile);
/** How a process ended: without a code when it was 0. */
interface Ended {
  readonly code?: number;
  readonly stdout: string;
}

const IN_TIME = { attackMs: 110_000, deadline: Number.POSITIVE_INFINITY };

let network: Network;
let arena: Arena;

beforeAll(async () => {
  network = await createNetwork();
  arena = await startArena(network, 1);
});

afterAll(() => network.stopAll());

describe('four processes under attack make blocks, and lose nothing to', () => {
  it.each(ATTACKS.filter(({ byHand }) => byHand !== true).map((attack) => [attack.name, attack] as const))(
    '%s',
    async (_name, attack) => {
      const [outcome] = await battle(arena, [attack], IN_TIME, () => undefined);
      expect(outcome?.damage).toBeNull();
    },
  );
});

describe('an attack that does not end', () => {
  const endless: Attack = { name: 'one without an end', run: () => new Promise(() => undefined) };
  const next: Attack = { name: 'the next one', run: async () => undefined };

  it.each([
    ['its own time', { attackMs: 200, deadline: Number.POSITIVE_INFINITY }],
    ['the time of all', { attackMs: 600_000, deadline: 0 }],
  ])('has failed when %s is over; it is in the table, and nothing is run behind it', async (_, limits) => {
    const lines: string[] = [];
    const outcomes = await battle(arena, [endless, next], limits, (outcome) => lines.push(tableLine(outcome)));
    expect(outcomes).toMatchObject([{ name: endless.name, damage: expect.stringContaining('did not end within') }]);
    expect(lines).toEqual([expect.stringMatching(/^\| one without an end +\| FAILED /)]);
  });

  it('costs the run its success: the table is printed and says what was not run', async () => {
    const command = [await builtScript(new URL('run.ts', import.meta.url)), '--only', 'forged', '--minutes', '0.0001'];
    const { code, stdout }: Ended = await execute(process.execPath, command).catch((error: unknown) => error as Ended);
    expect(stdout).toContain('| attack ');
    expect(stdout).toContain('the start of the nodes did not end within');
    expect(stdout).toMatch(/forged blocks .*: not run\n0 passed, 1 failed\n$/);
    expect(code).toBe(1);
  });
});
