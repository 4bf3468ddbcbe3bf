/** The rounds of a campaign, in order: chosen by scale and seed, run on one network, which is made anew after a failure. */

import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorMessage } from '../../src/lib/errors.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { Chance } from './chance.js';
import { corruptionOutcomes } from './corruption-outcomes.js';
import { FAILPOINTS } from './failpoint-names.js';
import { failpointRound } from './failpoint-rounds.js';
import { FourNodes } from './four-nodes.js';
import { holdRound, KILLS, killRound } from './kills.js';
import { type Outcome, type Round, runRound, sleep } from './round.js';

/** Milliseconds of load before each of the two ages. */
const BETWEEN_AGES_MS = 2_500;
/** Damaged files for each step of the scale. */
const CASES_OF_SCALE = 1_250;

export interface CampaignOptions {
  readonly scale: number;
  readonly seed: number;
  /** All of them when absent. */
  readonly parts?: readonly string[] | undefined;
  /** A part of the names of the rounds. */
  readonly only?: string;
  /** Failpoints that are visited, chosen by the seed; all when absent. */
  readonly failpoints?: number;
  /** Damaged files; by the scale when absent. */
  readonly cases?: number;
  /** Folder for what is left of a network after a failure. */
  readonly keep?: string | undefined;
}

export class Campaign {
  readonly #options: CampaignOptions;
  readonly #chance: Chance;
  #four: FourNodes | undefined;
  #failures = 0;

  constructor(options: CampaignOptions) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
  }

  /** Runs all rounds; `tell` hears of each when it is over. */
  async run(tell: (outcome: Outcome) => void): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    const add = (outcome: Outcome): void => {
      outcomes.push(outcome);
      tell(outcome);
    };
    try {
      for (const round of this.#rounds()) {
        this.#four ??= await FourNodes.start();
        const outcome = await runRound(round, this.#four, this.#chance);
        add(outcome);
        if (outcome.result === 'failed') await this.#renew(outcome);
      }
      if (this.#four !== undefined) add(await this.#readAll(this.#four));
      if (this.#has('corruption')) await this.#corrupt(add);
    } finally {
      await this.#four?.end();
    }
    return outcomes;
  }

  #rounds(): Round[] {
    const { scale, failpoints, only = '' } = this.#options;
    const repeat = <T>(list: readonly T[], make: (one: T) => Round): Round[] =>
      Array.from({ length: scale }, () => list.map(make)).flat();
    const all = {
      kills: () => repeat(this.#chance.sample(KILLS), killRound),
      suspend: () => repeat(NODE_ROLES, holdRound),
      failpoints: () => this.#chance.sample(FAILPOINTS, failpoints).map(failpointRound),
    };
    return Object.entries(all)
      .filter(([name]) => this.#has(name))
      .flatMap(([, make]) => make())
      .filter(({ name }) => name.includes(only));
  }

  #has(part: string): boolean {
    return this.#options.parts?.includes(part) ?? true;
  }

  /** Two ages of the folders of a network that is killed under load, and what damage makes of the newer ones. */
  async #corrupt(add: (outcome: Outcome) => void): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-ages-'));
    try {
      this.#four ??= await FourNodes.start();
      const copies: Readonly<Record<NodeRole, string>>[] = [];
      for (const age of ['older', 'newer']) {
        this.#four.write();
        await sleep(BETWEEN_AGES_MS);
        copies.push(await this.#four.copyKilled(join(folder, age)));
      }
      await this.#four.judge();
      await this.#four.end();
      this.#four = undefined;
      const [older, newer] = copies;
      if (older === undefined || newer === undefined) throw new Error('there are not two ages');
      const { cases = CASES_OF_SCALE * this.#options.scale } = this.#options;
      for (const outcome of await corruptionOutcomes({ older, newer }, cases, this.#chance)) add(outcome);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Every block again, at the end. */
  async #readAll(four: FourNodes): Promise<Outcome> {
    const begun = performance.now();
    const faults = await four.readAll().catch((error: unknown) => [errorMessage(error)]);
    const { effects, record } = four;
    const detail = `${effects.count} transactions acknowledged, ${effects.refused} attempts not, ${record.next} blocks`;
    return {
      part: 'the end',
      name: 'every block read again',
      result: faults.length === 0 ? 'passed' : 'failed',
      detail: faults.length === 0 ? detail : faults.join('; '),
      seconds: (performance.now() - begun) / 1_000,
    };
  }

  /** What failed may not spoil the rounds after it. */
  async #renew({ name }: Outcome): Promise<void> {
    const four = this.#four;
    this.#four = undefined;
    if (four === undefined) return;
    const { keep } = this.#options;
    if (keep !== undefined) {
      const folder = join(keep, `${this.#failures++}-${name.replaceAll(/[^a-z0-9.-]+/gi, '-')}`);
      await mkdir(folder, { recursive: true });
      for (const [role, node] of Object.entries({
        ...four.nodes,
        guest: four.guestStorage,
        guestUser: four.guestUser,
      })) {
        await node.kill();
        await cp(node.folder, join(folder, role), { recursive: true }).catch(() => undefined);
        await writeFile(join(folder, `${role}.log`), node.log());
      }
    }
    await four.end();
  }
}
