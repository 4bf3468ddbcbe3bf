/** Fault after fault on one cluster, in an order that the seed chooses, each under load and judged when it is over. */

import { devAccounts } from '../../src/config/dev-accounts.js';
import { errorMessage } from '../../src/lib/errors.js';
import { Chance } from '../reliability/chance.js';
import { type Outcome, sleep } from '../reliability/round.js';
import { lanesOf, splitFor } from '../soak/writers.js';
import { until } from '../support/processes.js';
import { Clients, Reader, RivalPoster, WalletPayer, Writer } from './clients.js';
import { Cluster, PATIENCE_MS } from './cluster.js';
import { FAULTS, type Fault } from './faults.js';
import { type Gaps, gapsOf } from './gaps.js';
import { History } from './history.js';
import { Judge } from './judge.js';
import type { Machines } from './machines.js';
import { storedState } from './stored-states.js';

const WRITERS = 8;
/** Coins of each writer. */
const LANES = 6;
/** Milliseconds of load before a fault and after it. */
const BEFORE = { least: 500, spread: 1_000 };
const AFTER_MS = 1_000;

export interface CampaignOptions {
  readonly machines: Machines;
  readonly faults: number;
  readonly seed: number;
  readonly storages: number;
  /** Payments of all writers together in a second, about. */
  readonly rate: number;
  /** A part of the names of the faults, or several, separated by `|`. */
  readonly only?: string | undefined;
}

/** What a fault did, for the table and the file. */
export interface FaultOutcome extends Outcome {
  readonly gaps?: Gaps;
}

export class Campaign {
  readonly #options: CampaignOptions;
  readonly #chance: Chance;
  readonly #clients: Clients;
  readonly #cluster: Cluster;
  readonly #judge: Judge;
  #loops: readonly (Writer | Reader | WalletPayer)[] = [];
  #rivals: RivalPoster | undefined;
  #isStopped = false;

  static async start(options: CampaignOptions): Promise<Campaign> {
    const cluster = await Cluster.start(options);
    const campaign = new Campaign(options, cluster);
    try {
      await campaign.#prepare();
      return campaign;
    } catch (error) {
      await campaign.end();
      throw error;
    }
  }

  private constructor(options: CampaignOptions, cluster: Cluster) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
    this.#cluster = cluster;
    this.#clients = new Clients(new History(), () => cluster.mempools);
    this.#judge = new Judge(cluster, this.#clients);
  }

  /** In a few words, at the end. */
  get summary(): string {
    const { history, paid, unpaid } = this.#clients;
    const posts = history.operations.filter(({ kind }) => kind === 'post').length;
    const requests = `${history.operations.length} answers in the history, ${posts} of them of posts`;
    return `${requests}; ${paid} payments by writers, ${unpaid} that no node took in time; ${this.#judge.blocks} blocks`;
  }

  /** Faults that cannot be tried here, each with the reason. */
  leftOut(): string[] {
    return FAULTS.flatMap((fault) => {
      if (fault.lacks !== undefined) return [`${fault.name}: needs ${fault.lacks}`];
      return fault.cuts === true && !this.#cluster.machines.canCut ? [`${fault.name}: needs namespaces`] : [];
    });
  }

  /** Runs the faults; `tell` hears of each when it is over. A cluster that is not sound any more gets no further one. */
  async run(tell: (outcome: FaultOutcome) => void): Promise<FaultOutcome[]> {
    const outcomes: FaultOutcome[] = [];
    const add = (outcome: FaultOutcome): void => {
      outcomes.push(outcome);
      tell(outcome);
    };
    for (const fault of this.#plan()) {
      if (this.#isStopped) break;
      const outcome = await this.#round(fault);
      add(outcome);
      if (outcome.result === 'failed') return outcomes;
    }
    add(await outcomeOf('the end', 'every block read again', () => this.#judge.readAll()));
    add(await outcomeOf('the end', 'equal digests of the stored states', () => this.#storedStates()));
    return outcomes;
  }

  stop(): void {
    this.#isStopped = true;
  }

  async end(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
    await this.#cluster.end();
  }

  /** All mempool nodes have stopped at the same command, with the same state. */
  async #storedStates(): Promise<string> {
    const { mempools } = this.#cluster;
    await Promise.all(mempools.map(({ node }) => node.stop()));
    const states: string[] = [];
    for (const { node } of mempools) states.push(await storedState(node.folder));
    if (new Set(states).size > 1) throw new Error(states.map((state, i) => `${mempools[i]?.name} ${state}`).join('; '));
    return states[0] ?? '';
  }

  /** Each fault once, in a random order, before any comes again. */
  #plan(): Fault[] {
    const { faults, only = '' } = this.#options;
    const { canCut } = this.#cluster.machines;
    const texts = only.split('|');
    const possible = FAULTS.filter(({ name, cuts, lacks }) => {
      const isHere = lacks === undefined && (cuts !== true || canCut);
      return isHere && texts.some((text) => name.includes(text));
    });
    const plan: Fault[] = [];
    while (plan.length < faults && possible.length > 0) plan.push(...this.#chance.sample(possible));
    return plan.slice(0, faults);
  }

  async #round(fault: Fault): Promise<FaultOutcome> {
    const began = performance.now();
    const problems: string[] = [];
    for (const loop of this.#loops) loop.start();
    await sleep(BEFORE.least + this.#chance.below(BEFORE.spread));
    const begins = performance.now();
    const { unpaid } = this.#clients;
    let detail = '';
    try {
      const running = fault.run(this.#cluster, this.#chance);
      const rivals = sleep(this.#chance.below(BEFORE.spread)).then(() => this.#rivals?.post());
      [detail] = await Promise.all([running, rivals]);
      await this.#judge.allReady();
    } catch (error) {
      problems.push(errorMessage(error));
    }
    await sleep(AFTER_MS);
    const gaps = gapsOf(this.#clients.history.operations, begins, performance.now());
    await Promise.all(this.#loops.map((loop) => loop.stop()));
    problems.push(...(await this.#judge.judge()));
    const failed = this.#clients.unpaid - unpaid;
    if (fault.isPlanned === true && failed > 0) problems.push(`${failed} payments that no node took in time`);
    const winner = this.#rivals?.settle((hash) => this.#judge.isMined(hash)) ?? '';
    const seconds = (performance.now() - began) / 1_000;
    const figures = `no post for ${gaps.posts.toFixed(1)} s at most, no block for ${gaps.blocks.toFixed(1)} s`;
    const result = problems.length === 0 ? 'passed' : 'failed';
    const told = problems.length === 0 ? `${detail}; ${winner}; ${figures}` : `${detail}; ${problems.join('; ')}`;
    return { part: 'fault', name: fault.name, result, detail: told, seconds, gaps };
  }

  /** Gives every client coins, and judges before the first fault. */
  async #prepare(): Promise<void> {
    const { rate, seed } = this.#options;
    const { accounts } = devAccounts();
    const owners = accounts.slice(0, WRITERS + 1);
    const splits = owners.map((owner) => ({ owner, split: splitFor(owner, [owner.address], LANES) }));
    await this.#judge.allReady();
    for (const { split } of splits) {
      const done = await until('coins for clients', () => this.#clients.pay('preparation', 0, split), PATIENCE_MS);
      if (done.answer !== 'accepted') throw new Error('the coins of a client were refused');
    }
    const everyMs = (1_000 * WRITERS) / rate;
    const lanes = splits.map(({ owner, split }) => lanesOf(owner, split));
    const writers = lanes
      .slice(0, WRITERS)
      .map((own, i) => new Writer(`writer ${i + 1}`, own, this.#clients, new Chance(seed + i), everyMs));
    const [coin] = lanes[WRITERS] ?? [];
    if (coin !== undefined) this.#rivals = new RivalPoster(this.#clients, coin);
    const payee = accounts[WRITERS + 1]?.address ?? '';
    const { user, storages } = this.#cluster;
    const payer = new WalletPayer(this.#clients, user, payee, everyMs * 2);
    this.#loops = [...writers, new Reader(this.#clients, storages), payer];
    const faults = await this.#judge.judge();
    if (faults.length > 0) throw new Error(`the cluster is not sound before the first fault: ${faults.join('; ')}`);
  }
}

/** A check at the end as an outcome. */
async function outcomeOf(part: string, name: string, check: () => Promise<string>): Promise<FaultOutcome> {
  const began = performance.now();
  const [result, detail] = await check().then(
    (text) => ['passed', text] as const,
    (error: unknown) => ['failed', errorMessage(error)] as const,
  );
  return { part, name, result, detail, seconds: (performance.now() - began) / 1_000 };
}
