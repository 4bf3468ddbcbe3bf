/** A cluster with its clients and its judge: everything that one fault after the other happens to. */

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { errorMessage } from '../../src/lib/errors.js';
import { stringifyExact } from '../../src/lib/json.js';
import { Chance } from '../reliability/chance.js';
import { type Outcome, sleep } from '../reliability/round.js';
import { lanesOf, splitFor } from '../soak/writers.js';
import { until } from '../support/processes.js';
import { Clients, Reader, RivalPoster, WalletPayer, Writer } from './clients.js';
import { Cluster, type ClusterOptions, PATIENCE_MS } from './cluster.js';
import type { Fault } from './faults.js';
import { type Gaps, gapsOf } from './gaps.js';
import { History } from './history.js';
import { Judge } from './judge.js';
import { storedState } from './stored-states.js';

const WRITERS = 8;
/** Coins of each writer. */
const LANES = 6;
/** Milliseconds of load before a fault and after it. */
const BEFORE = { least: 500, spread: 1_000 };
const AFTER_MS = 1_000;

export interface StageOptions extends ClusterOptions {
  readonly seed: number;
  /** Payments of all writers together in a second, about. */
  readonly rate: number;
}

/** What a fault did, for the table and the file. */
export interface FaultOutcome extends Outcome {
  readonly gaps?: Gaps;
}

export class Stage {
  readonly #options: StageOptions;
  readonly #clients: Clients;
  readonly #cluster: Cluster;
  readonly #judge: Judge;
  #loops: readonly (Writer | Reader | WalletPayer)[] = [];
  #rivals: RivalPoster | undefined;

  static async start(options: StageOptions): Promise<Stage> {
    const stage = new Stage(options, await Cluster.start(options));
    try {
      await stage.#prepare();
      return stage;
    } catch (error) {
      await stage.end();
      throw error;
    }
  }

  private constructor(options: StageOptions, cluster: Cluster) {
    this.#options = options;
    this.#cluster = cluster;
    this.#clients = new Clients(new History(), () => cluster.mempools);
    this.#judge = new Judge(cluster, this.#clients);
  }

  /** In a few words. */
  get summary(): string {
    const { history, paid, unpaid } = this.#clients;
    const posts = history.operations.filter(({ kind }) => kind === 'post').length;
    const requests = `${history.operations.length} answers in the history, ${posts} of them of posts`;
    return `${requests}; ${paid} payments by writers, ${unpaid} that no node took in time; ${this.#judge.blocks} blocks`;
  }

  /** One fault under load, and the judgement behind it. */
  async round(fault: Fault, chance: Chance): Promise<FaultOutcome> {
    const began = performance.now();
    for (const loop of this.#loops) loop.start();
    await sleep(BEFORE.least + chance.below(BEFORE.spread));
    const begins = performance.now();
    const { unpaid } = this.#clients;
    const problems: string[] = [];
    const detail = await this.#happen(fault, chance).catch((error: unknown) => {
      problems.push(errorMessage(error));
      return '';
    });
    await sleep(AFTER_MS);
    const gaps = gapsOf(this.#clients.history.operations, begins, performance.now());
    await this.#rest();
    problems.push(...(await this.#judge.judge()));
    const failed = this.#clients.unpaid - unpaid;
    if (fault.isPlanned === true && failed > 0) problems.push(`${failed} payments that no node took in time`);
    const winner = this.#rivals?.settle((hash) => this.#judge.isMined(hash)) ?? '';
    const figures = `no post for ${gaps.posts.toFixed(1)} s at most, no block for ${gaps.blocks.toFixed(1)} s`;
    const told = problems.length === 0 ? [detail, winner, figures] : [detail, ...problems];
    const result = problems.length === 0 ? 'passed' : 'failed';
    const seconds = (performance.now() - began) / 1_000;
    return { part: 'fault', name: fault.name, result, detail: told.join('; '), seconds, gaps };
  }

  /** What can be looked at when nothing is needed any more. */
  async lastChecks(): Promise<FaultOutcome[]> {
    return [
      await outcomeOf('every block read again', () => this.#judge.readAll()),
      await outcomeOf('equal digests of the stored states', () => this.#storedStates()),
    ];
  }

  /** Writes what the nodes have said and what clients were told into a folder. */
  async keep(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    for (const { name, node } of this.#cluster.nodes) await writeFile(join(folder, `${name}.log`), node.log());
    const lines = this.#clients.history.operations.map((one) => `${stringifyExact(one)}\n`);
    await writeFile(join(folder, 'history.jsonl'), lines.join(''));
  }

  async end(): Promise<void> {
    await this.#rest();
    await this.#cluster.end();
  }

  /** The fault with its rivals; resolves when all nodes are ready again. */
  async #happen(fault: Fault, chance: Chance): Promise<string> {
    const running = fault.run(this.#cluster, chance);
    const rivals = sleep(chance.below(BEFORE.spread)).then(() => this.#rivals?.post());
    const [detail] = await Promise.all([running, rivals]);
    await this.#judge.allReady();
    return detail;
  }

  /** Nobody posts any more. */
  async #rest(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
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
async function outcomeOf(name: string, check: () => Promise<string>): Promise<FaultOutcome> {
  const began = performance.now();
  const [result, detail] = await check().then(
    (text) => ['passed', text] as const,
    (error: unknown) => ['failed', errorMessage(error)] as const,
  );
  return { part: 'the end', name, result, detail, seconds: (performance.now() - began) / 1_000 };
}
