/** The rounds of a campaign, in order: chosen by scale and seed, run on one network, which is made anew after a failure. */

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { errorMessage } from '../../src/lib/errors.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { canPreload } from '../support/preload-library.js';
import { MAIN } from '../support/processes.js';
import { backupRound } from './backup-rounds.js';
import { Chance } from './chance.js';
import { corruptionOutcomes } from './corruption-outcomes.js';
import { FAILPOINTS, isReachedUnderLoad } from './failpoint-names.js';
import { failpointRound } from './failpoint-rounds.js';
import { FourNodes } from './four-nodes.js';
import { holdRound, KILLS, killRound } from './kills.js';
import {
  ALL_DISK_FAULTS,
  ALL_ENDINGS,
  ALL_JUMPS,
  blackoutRound,
  clockRound,
  diskRound,
  endingRound,
} from './machine-rounds.js';
import { PRODUCER_KEYS } from './producers.js';
import { ALL_DRILLS, restoreRound } from './restore-rounds.js';
import { type Outcome, type Round, runRound, sleep } from './round.js';
import { ALL_START_DRILLS, startRound } from './start-rounds.js';
import { statesOf } from './stored-data.js';

/** Milliseconds of load before and after each look at the two ages; those of the short form, whose few cases need no more blocks. */
const BETWEEN_AGES_MS = 2_500;
const BETWEEN_SHORT_AGES_MS = 300;
/** From this scale on every file call of a start fails once; below it, every second one, and so on. */
const FINE_SCALE = 4;
/** Damaged files for each step of the scale. */
const CASES_OF_SCALE = 1_250;

export interface CampaignOptions {
  readonly scale: number;
  readonly seed: number;
  /** All of them when absent. */
  readonly parts?: readonly string[] | undefined;
  /** A part of the names of the rounds, or several, separated by `|`. */
  readonly only?: string | undefined;
  /** Rounds of each part at most, chosen by the seed; all when absent. */
  readonly most?: number;
  /** Damaged files; by the scale when absent. */
  readonly cases?: number;
  /** All rounds on one network, as long as none fails: quicker, and slower machines below it all. */
  readonly isShort?: boolean;
  /** Folder for what is left of a network after a failure. */
  readonly keep?: string | undefined;
  /** Hears of progress on what takes long. */
  readonly say?: (line: string) => void;
}

export class Campaign {
  readonly #options: CampaignOptions;
  readonly #chance: Chance;
  readonly #say: (line: string) => void;
  #four: FourNodes | undefined;
  #failures = 0;
  #isStopped = false;

  constructor(options: CampaignOptions) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
    this.#say = options.say ?? (() => undefined);
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
        if (this.#isStopped) break;
        const canFail = round.needsFaulty === true || (this.#options.isShort === true && canPreload);
        if (this.#four?.canFail !== canFail) await this.#leave(add);
        this.#four ??= await FourNodes.start({ seed: canFail ? this.#options.seed : undefined });
        const outcome = await runRound(round, this.#four, this.#chance);
        add(outcome);
        if (outcome.result === 'failed') await this.#renew(outcome);
      }
      if (this.#has('corruption') && this.#options.only === undefined && !this.#isStopped) await this.#corrupt(add);
      await this.#leave(add);
    } finally {
      await this.#four?.end();
    }
    return outcomes;
  }

  /** Ends after the round under way. */
  stop(): void {
    this.#isStopped = true;
  }

  #rounds(): Round[] {
    const { most, only = '' } = this.#options;
    const machines = <T>(list: readonly T[]): readonly T[] => (canPreload ? list : []);
    const all = {
      kills: this.#repeat(KILLS, killRound),
      suspend: this.#repeat(NODE_ROLES, holdRound),
      calls: this.#repeat(machines(ALL_ENDINGS), endingRound),
      blackouts: this.#repeat(machines(['cut', 'torn'] as const), blackoutRound),
      disk: this.#repeat(machines(ALL_DISK_FAULTS), diskRound),
      starts: machines(this.#chance.sample(ALL_START_DRILLS)).map(
        startRound(Math.max(1, FINE_SCALE / this.#options.scale)),
      ),
      clock: this.#repeat(machines(ALL_JUMPS), clockRound),
      restore: this.#repeat(ALL_DRILLS, restoreRound),
      backups: this.#repeat(NODE_ROLES, backupRound),
      failpoints: this.#chance.sample(FAILPOINTS.filter(isReachedUnderLoad)).map(failpointRound),
    };
    if (!canPreload) {
      this.#say(
        'left out: calls, blackouts, disk, starts and clock need Linux and a C compiler (apt-get install gcc libc6-dev)',
      );
    }
    // Those on the same machines beside each other.
    const rounds = Object.entries(all).flatMap(([part, list]) => (this.#has(part) ? list.slice(0, most) : []));
    const texts = only.split('|');
    const fitting = rounds.filter(({ name }) => texts.some((text) => name.includes(text)));
    return [...fitting.filter(({ needsFaulty }) => !needsFaulty), ...fitting.filter(({ needsFaulty }) => needsFaulty)];
  }

  /** Each of the list as often as the scale says, in random orders. */
  #repeat<T>(list: readonly T[], make: (one: T) => Round): Round[] {
    return Array.from({ length: this.#options.scale }, () => this.#chance.sample(list).map(make)).flat();
  }

  /** The last checks on a network that is not needed any more. */
  async #leave(add: (outcome: Outcome) => void): Promise<void> {
    const four = this.#four;
    if (four === undefined) return;
    for (const outcome of await this.#lastChecks(four)) add(outcome);
    this.#four = undefined;
    await four.end();
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
      const betweenAges = this.#options.isShort === true ? BETWEEN_SHORT_AGES_MS : BETWEEN_AGES_MS;
      for (const age of ['older', 'newer']) {
        this.#four.write();
        await sleep(betweenAges);
        // Nothing is under way then: what the files hold has been acknowledged, to the last byte.
        await this.#four.judge();
        await sleep(betweenAges);
        copies.push(await this.#four.copyKilled(join(folder, age)));
      }
      await this.#leave(add);
      const [older, newer] = copies;
      if (older === undefined || newer === undefined) throw new Error('there are not two ages');
      const { cases = CASES_OF_SCALE * this.#options.scale } = this.#options;
      const options = { count: cases, chance: this.#chance, say: this.#say, isStopped: () => this.#isStopped };
      for (const outcome of await corruptionOutcomes({ older, newer }, options)) add(outcome);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /**
   * At the end, of nodes that are not needed any more: every block again, the state from the journal, and `tessera verify`.
   */
  async #lastChecks(four: FourNodes): Promise<Outcome[]> {
    const read = async (): Promise<string> => {
      throwIfAny(await four.readAll());
      const { effects, record } = four;
      return `${effects.count} transactions acknowledged, ${effects.refused} attempts not, ${record.next} blocks`;
    };
    const replay = async (): Promise<string> => {
      const { stored, replayed } = await statesOf(four.nodes.mempool.folder);
      if (replayed === undefined) return `${stored}; the journal does not go back to the first command`;
      if (stored !== replayed) throw new Error(`the state is ${stored}, and the journal gives ${replayed}`);
      return stored;
    };
    const outcomes = [await judged('every block read again', read)];
    await Promise.all(NODE_ROLES.map((role) => four.nodes[role].stop()));
    outcomes.push(await judged('the state from the journal alone', replay));
    for (const role of NODE_ROLES) outcomes.push(await judged(`tessera verify, ${role}`, () => verified(four, role)));
    return outcomes;
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
      for (const node of [...Object.values(four.nodes), ...four.guests]) {
        await node.kill();
        const kept = join(folder, basename(node.folder));
        await cp(node.folder, kept, { recursive: true }).catch(() => undefined);
        await writeFile(`${kept}.log`, node.log());
      }
    }
    await four.end();
  }
}

/** Every record by its checksum and its rules; what a mempool node or a wallet counts as unspent, against the archive. */
async function verified({ nodes }: FourNodes, role: NodeRole): Promise<string> {
  const archive = role === 'storage' ? [] : ['--archive', nodes.storage.folder];
  const keys = ['--set', `network.producer_keys=${PRODUCER_KEYS.join(',')}`];
  const own = ['--config', 'config/dev.toml', '--data', nodes[role].folder, ...keys];
  const program = ['verify', '--role', role, ...own, ...archive];
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...program]);
  return stdout.trim().replaceAll('\n', '; ');
}

/** A check at the end as an outcome. */
async function judged(name: string, check: () => Promise<string>): Promise<Outcome> {
  const begun = performance.now();
  const [result, detail] = await check().then(
    (text) => ['passed', text] as const,
    (error: unknown) => ['failed', errorMessage(error)] as const,
  );
  return { part: 'the end', name, result, detail, seconds: (performance.now() - begun) / 1_000 };
}

function throwIfAny(faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(faults.join('; '));
}
