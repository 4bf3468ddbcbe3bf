/** What an attack is: it throws when it has got what it must not get. */

import type { Arena, Watch } from './arena.js';

export interface Attack {
  /** As the table shows it. */
  readonly name: string;
  /** True for one that takes too long for the test suite: `npm run test:hostile` runs it. */
  readonly byHand?: true;
  /** MiB that the memory of a node may grow by meanwhile, where garbage alone is more than what others may. */
  readonly mayGrowBy?: number;
  /** Does its worst and cleans up; throws when it succeeds. Nodes of its own are watched when it says so. */
  run(arena: Arena, watch: Watch): Promise<void>;
}

/** Fails the attack's run: the attack has succeeded. */
export function mustBe(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}
