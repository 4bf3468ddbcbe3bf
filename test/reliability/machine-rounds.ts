/**
 * Rounds in which the machine below a node fails: the power goes, the process is killed in the middle of its file calls, the
 * disk is full, broken or slow, files run out, the clock jumps.
 */

import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { until } from '../support/processes.js';
import type { Chance } from './chance.js';
import type { FourNodes } from './four-nodes.js';
import { type Round, sleep } from './round.js';

/** File calls of a node under load that are left alone before the power goes: up to so many. */
const CALLS = 60;
/** Milliseconds that the machine stays broken. */
const BROKEN = { least: 300, spread: 1_200 };
const DAY_MS = 86_400_000;
const CHANGES = 'write,sync,rename,create,unlink,truncate';

const ENDINGS = ['cut', 'cut-after', 'torn', 'torn-after', 'kill', 'kill-after'] as const;
type Ending = (typeof ENDINGS)[number];

/** The power of one node goes, or its process is killed, at some file call; then it starts again. */
export function endingRound({ ending, role }: { readonly ending: Ending; readonly role: NodeRole }): Round {
  return {
    needsFaulty: true,
    part: ending.startsWith('kill') ? 'kill at calls' : 'power cuts',
    name: `${role}: ${ending}`,
    async run(four, chance) {
      const skip = chance.below(CALLS);
      await endAll(four, [role], () => `${CHANGES} * ${ending} skip=${skip} times=1`);
      return `${skip} calls later`;
    },
  };
}

/** The power of all four goes at the same time, as on one machine. */
export function blackoutRound(ending: 'cut' | 'torn'): Round {
  return {
    needsFaulty: true,
    part: 'power cuts',
    name: `all four: ${ending}`,
    async run(four, chance) {
      const ms = chance.below(BROKEN.spread);
      await sleep(ms);
      await endAll(four, NODE_ROLES, () => `any * ${ending}`);
      return `after ${ms} ms`;
    },
  };
}

/** Sets a rule that ends each of the nodes, waits for their ends, and starts them on sound disks. */
async function endAll(four: FourNodes, roles: readonly NodeRole[], rule: () => string): Promise<void> {
  const machines = four.faulty;
  await sleep(BROKEN.least);
  for (const role of roles) await machines.of(role).disk.set(rule());
  try {
    await Promise.all(roles.map((role) => until(`the end of the ${role} node`, () => hasEnded(four, role))));
  } finally {
    await machines.mend();
    await Promise.all(roles.map((role) => four.nodes[role].kill()));
  }
  for (const role of roles) await four.nodes[role].start();
}

/** A node that has nothing to write reads its configuration: that is a file call too. */
async function hasEnded(four: FourNodes, role: NodeRole): Promise<true | undefined> {
  const node = four.nodes[role];
  if (!node.isRunning) return true;
  process.kill(node.pid, 'SIGHUP');
  return undefined;
}

/** What is wrong with a disk, and the rules that make it so. */
const DISK_FAULTS = {
  full: () => 'write,create,mkdir * ENOSPC',
  'full in the middle of a write': (chance: Chance) => `write * room=${chance.below(4_000)}`,
  'no sync': () => 'sync * EIO',
  'one sync fails': (chance: Chance) => `sync * EIO skip=${chance.below(10)} times=1`,
  'writes fail': () => 'write * EIO',
  'some writes fail': () => 'write,sync * EIO chance=0.2',
  'read-only': () => 'change * EROFS',
  'reads fail': () => 'read,map,open * EIO',
  'some reads fail': () => 'read,map,open * EIO chance=0.3',
  'no files left': () => 'open,create * EMFILE',
  'short writes': () => 'write * short chance=0.5',
  'short reads': () => 'read * short chance=0.5',
  slow: () => 'any * slow=15',
} as const satisfies Record<string, (chance: Chance) => string>;
type DiskFault = keyof typeof DISK_FAULTS;

/** A disk that fails for a while and is mended; a node that ended by a named error is started again. */
export function diskRound({ fault, role }: { readonly fault: DiskFault; readonly role: NodeRole }): Round {
  return {
    needsFaulty: true,
    part: 'faulty disk',
    name: `${role}: ${fault}`,
    async run(four, chance) {
      await sleep(BROKEN.least);
      const { disk } = four.faulty.of(role);
      const before = (await disk.hits()).length;
      await disk.set(DISK_FAULTS[fault](chance));
      const hits = async (): Promise<number> => (await disk.hits()).length - before;
      await until('a file call that meets the fault', async () => {
        if ((await hits()) > 0) return true;
        // A node that has nothing to write or read reads its configuration then.
        if (four.nodes[role].isRunning) process.kill(four.nodes[role].pid, 'SIGHUP');
        await sleep(BROKEN.least);
        return undefined;
      });
      await sleep(BROKEN.least + chance.below(BROKEN.spread));
      const met = await hits();
      // What it still says is right.
      const wrong = four.nodes[role].isRunning ? await four.readKnown(role) : [];
      await four.faulty.mend();
      if (wrong.length > 0) throw new Error(wrong.join('; '));
      // A node that stops because of it takes a moment for that.
      await sleep(BROKEN.least);
      return `${met} calls met it, ${await startAgain(four, role)}`;
    },
  };
}

/** Starts a node that has ended; it must have said why. */
async function startAgain(four: FourNodes, role: NodeRole): Promise<string> {
  const node = four.nodes[role];
  if (node.isRunning) return 'it went on';
  const [, code] = /^tessera: ([a-z_]+): /m.exec(node.log().split('\n').slice(-20).join('\n')) ?? [];
  await node.start();
  if (code === undefined || code === 'internal_error') throw new Error(`it stopped without a name: ${code}`);
  return `stopped by ${code}, started again`;
}

/** The clock of one node jumps, stays there for a while, and jumps back. */
export function clockRound({ days, role }: { readonly days: number; readonly role: NodeRole }): Round {
  return {
    needsFaulty: true,
    part: 'clock jumps',
    name: `${role}: ${days > 0 ? '+' : ''}${days} days`,
    async run(four, chance) {
      const { clock } = four.faulty.of(role);
      await sleep(BROKEN.least);
      await clock.set(days * DAY_MS);
      await sleep(BROKEN.least + chance.below(BROKEN.spread));
      const restarts = chance.below(2) === 1;
      if (restarts) {
        await four.nodes[role].kill();
        await four.nodes[role].start();
        await sleep(BROKEN.least);
      }
      await clock.set(0);
      return restarts ? 'with a restart in between' : 'while it ran';
    },
  };
}

const withRoles = <T extends object>(list: readonly T[]): (T & { readonly role: NodeRole })[] =>
  list.flatMap((one) => NODE_ROLES.map((role) => ({ ...one, role })));

export const ALL_ENDINGS = withRoles(ENDINGS.map((ending) => ({ ending })));
export const ALL_DISK_FAULTS = withRoles((Object.keys(DISK_FAULTS) as DiskFault[]).map((fault) => ({ fault })));
export const ALL_JUMPS = withRoles([1, -1, 400, -400].map((days) => ({ days })));
