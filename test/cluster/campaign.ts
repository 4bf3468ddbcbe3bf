/** Fault after fault, in an order that the seed chooses, on one cluster, which is made anew after a failure. */

import { join } from 'node:path';
import { Chance } from '../reliability/chance.js';
import { FAULTS, type Fault } from './faults.js';
import { type FaultOutcome, Stage, type StageOptions } from './stage.js';

export interface CampaignOptions extends StageOptions {
  readonly faults: number;
  /** A part of the names of the faults, or several, separated by `|`. */
  readonly only?: string | undefined;
  /** Folder for logs and history of a cluster that was not sound. */
  readonly keep?: string | undefined;
  readonly say: (line: string) => void;
}

export class Campaign {
  readonly #options: CampaignOptions;
  readonly #chance: Chance;
  #stage: Stage | undefined;
  #isStopped = false;

  constructor(options: CampaignOptions) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
  }

  /** Runs the faults; `tell` hears of each when it is over. */
  async run(tell: (outcome: FaultOutcome) => void): Promise<void> {
    let count = 0;
    try {
      for (const fault of this.#plan()) {
        if (this.#isStopped) break;
        this.#stage ??= await Stage.start(this.#options);
        const outcome = await this.#stage.round(fault, this.#chance);
        tell(outcome);
        count += 1;
        if (outcome.result === 'failed') await this.#renew(count, this.#stage);
      }
      for (const outcome of (await this.#stage?.lastChecks()) ?? []) tell(outcome);
    } finally {
      await this.#leave();
    }
  }

  /** Ends after the fault under way. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Each fault once, in a random order, before any comes again. */
  #plan(): Fault[] {
    const { faults, machines, only = '' } = this.#options;
    const texts = only.split('|');
    const wanted = FAULTS.filter(({ name }) => texts.some((text) => name.includes(text)));
    const possible = wanted.filter(({ cuts }) => cuts !== true || machines.canCut);
    for (const { name } of wanted.filter((fault) => !possible.includes(fault))) {
      this.#options.say(`left out: ${name}: needs namespaces`);
    }
    const plan: Fault[] = [];
    while (plan.length < faults && possible.length > 0) plan.push(...this.#chance.sample(possible));
    return plan.slice(0, faults);
  }

  /** What was found may not spoil the faults behind it. */
  async #renew(number: number, stage: Stage): Promise<void> {
    const { keep } = this.#options;
    if (keep !== undefined) await stage.keep(join(keep, String(number)));
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const stage = this.#stage;
    this.#stage = undefined;
    if (stage === undefined) return;
    this.#options.say(stage.summary);
    await stage.end();
  }
}
