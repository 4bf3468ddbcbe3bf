/** Processes that are killed or held at any moment. */

import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { type Round, sleep } from './round.js';

/** Milliseconds of load before a fault. */
const BEFORE = { least: 100, spread: 900 };
/** Milliseconds that a process is held: long enough for its links to be given up, or too short for that. */
const HELD = { least: 200, spread: 3_000 };

/** kill -9 of some nodes at once, under load. */
export function killRound(roles: readonly NodeRole[]): Round {
  return {
    part: 'kill -9',
    name: roles.join(' and '),
    async run({ nodes }, chance) {
      const ms = BEFORE.least + chance.below(BEFORE.spread);
      await sleep(ms);
      await Promise.all(roles.map((role) => nodes[role].kill()));
      for (const role of chance.sample(roles)) await nodes[role].start();
      return `after ${ms} ms`;
    },
  };
}

/** SIGSTOP for a while, as of a machine that sleeps. */
export function holdRound(role: NodeRole): Round {
  return {
    part: 'SIGSTOP',
    name: role,
    async run({ nodes }, chance) {
      await sleep(BEFORE.least + chance.below(BEFORE.spread));
      const ms = HELD.least + chance.below(HELD.spread);
      nodes[role].suspend();
      await sleep(ms);
      nodes[role].resume();
      return `for ${ms} ms`;
    },
  };
}

/** Every role alone, and pairs of them. */
export const KILLS: readonly (readonly NodeRole[])[] = NODE_ROLES.flatMap((role, i) => [
  [role],
  ...NODE_ROLES.slice(i + 1).map((other) => [role, other]),
]);
