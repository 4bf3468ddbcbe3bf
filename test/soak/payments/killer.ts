/** kill -9 of nodes at random moments, alone and in groups, as long as a load runs. */

import type { NodeRole } from '../../../src/lib/roles.js';
import type { Chance } from '../../reliability/chance.js';
import type { NodeProcess } from '../../support/processes.js';
import { pause } from './payer.js';

/** Milliseconds that a node is away. */
const AWAY_MS = 1_500;
/** The looks at whether the load is over. */
const LOOK_EVERY = 100;

export class Killer {
  readonly #victims: readonly NodeProcess[];
  readonly #chance: Chance;
  readonly #everyMs: number;
  readonly kills = new Map<NodeRole, number>();

  /** On average one kill in `everyMs`; a node that is listed twice is chosen twice as often. */
  constructor(victims: readonly NodeProcess[], chance: Chance, everyMs: number) {
    this.#victims = victims;
    this.#chance = chance;
    this.#everyMs = everyMs;
  }

  /** Until `isOver`; resolves when all nodes run again. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const next = performance.now() + 2 * this.#everyMs * this.#chance.next();
      while (performance.now() < next && !isOver()) await pause(LOOK_EVERY);
      if (!isOver()) await this.#strike();
    }
  }

  async #strike(): Promise<void> {
    const chance = this.#chance;
    const count = chance.below(3) === 0 ? 2 : 1;
    const chosen = [...new Set(chance.sample(this.#victims, count))];
    for (const { role } of chosen) this.kills.set(role, (this.kills.get(role) ?? 0) + 1);
    await Promise.all(chosen.map((node) => node.kill()));
    for (const node of chosen) {
      await pause(AWAY_MS * chance.next());
      await node.start();
    }
  }
}
