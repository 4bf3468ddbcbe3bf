/** What the judge looks at all along: who leads, when blocks come, what nodes say and why they end. */

import { isForgotten } from '../../../src/journal/journal.js';
import type { Stage, Violation } from '../play.js';
import type { Story } from '../story.js';
import type { FaultKind } from '../themes.js';
import type { Machine } from '../world/node.js';

/** Milliseconds between two looks. */
const LOOK_MS = 100;
/** Milliseconds of faults, all together, that no node is forgotten for. */
const SHORT_MS = 12_000;
/** Faults after which a node has not what it had. */
const LOSSES: ReadonlySet<FaultKind> = new Set([
  'lose disk',
  'lose disk alone',
  'older copy',
  'damage state',
  'restore etcd',
  'restore and keep etcd',
]);
/** Faults of disks, of which what a node has on its own is damaged or missing. */
const OF_DISKS: ReadonlySet<FaultKind> = new Set([
  'full disk',
  'failing disk',
  'flip',
  'older copy',
  'older copy alone',
]);

export class Watch {
  readonly #story: Story;
  readonly #violations: Violation[];
  /** Names of those that led, one after the other. */
  readonly #leaders: string[] = [];
  /** When a storage node had each block first. */
  readonly #stored: number[] = [];

  constructor(story: Story, violations: Violation[]) {
    this.#story = story;
    this.#violations = violations;
  }

  /** Times in milliseconds of the world at which the blocks were there, by height. */
  get stored(): readonly number[] {
    return this.#stored;
  }

  start(stage: Stage): void {
    const { world } = stage;
    const hand = world.process('watch');
    const look = (): void => {
      this.#look(stage);
      world.later(hand, LOOK_MS, look);
    };
    world.later(hand, LOOK_MS, look);
  }

  /** A node cannot go on with the journal, which has forgotten what it wants. */
  onEnded(machine: Machine, error: unknown): void {
    if (isForgotten(error)) this.#onForgotten(machine);
  }

  #onForgotten({ name }: Machine): void {
    const { faults } = this.#story;
    const ms = faults.reduce((sum, fault) => sum + fault.ms, 0);
    if (ms > SHORT_MS || faults.some(({ kind }) => LOSSES.has(kind))) return;
    this.#found('nobodyIsForgotten', `${name} was not away for long, and the journal goes on without it`);
  }

  /** What a node must not say of its own files while its disk is well. */
  onSaid(machine: Machine, line: string): void {
    const { name } = machine;
    if (line.includes('has no state that the journal goes on from')) this.#onForgotten(machine);
    if (this.#story.faults.some(({ kind }) => OF_DISKS.has(kind)) || !line.includes('the image of the unspent outputs'))
      return;
    this.#found('imagesAreSound', `${name}: ${line}`);
  }

  #look({ mempools, storages, world }: Stage): void {
    const leading = mempools.filter((one) => one.leads).map(({ name }) => name);
    if (leading.length > 1 && !this.#violations.some(({ rule }) => rule === 'oneLeads'))
      this.#found('oneLeads', `${leading.join(' and ')} lead at ${world.now.toFixed()} ms`);
    const [leader] = leading;
    if (leader !== undefined && leader !== this.#leaders.at(-1)) this.#leaders.push(leader);
    if (this.#leaders.length === 2 && this.#story.faults.length === 0)
      this.#found('leadersStay', `${this.#leaders.join(' gave way to ')}, and nothing was wrong`);
    const next = Math.max(0, ...storages.map(({ services }) => services?.storage?.nextHeight ?? 0));
    while (this.#stored.length < next) this.#stored.push(world.now);
  }

  #found(rule: string, detail: string): void {
    this.#violations.push({ rule, detail });
  }
}
