/**
 * Rounds in which a node starts on a disk that fails once: at the first file call in its folder, at the second, and so on
 * until a start meets no fault any more. Each start either succeeds, and what the node says is right, or ends by a named
 * error; then the disk is sound, and all is as it was.
 */

import { errorMessage } from '../../src/lib/errors.js';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import type { NodeProcess } from '../support/processes.js';
import type { FourNodes } from './four-nodes.js';
import type { Round } from './round.js';

/** Operations of the faulty disk, and what becomes of one call. */
const START_FAULTS = {
  'a read fails': 'read,map EIO',
  'a file cannot be opened': 'open EIO',
  'no file is left': 'open,create EMFILE',
  'a read is short': 'read short',
  'a write fails': 'write,create,rename,truncate,mkdir EIO',
  'a write is short': 'write short',
  'a sync fails': 'sync EIO',
  'the disk is full': 'write,create,mkdir ENOSPC',
} as const;
/** After so many wrong endings a round is over. */
const MAX_WRONG = 5;
type StartFault = keyof typeof START_FAULTS;

export interface StartDrill {
  readonly fault: StartFault;
  readonly role: NodeRole;
}

export const ALL_START_DRILLS: readonly StartDrill[] = (Object.keys(START_FAULTS) as StartFault[]).flatMap((fault) =>
  NODE_ROLES.map((role) => ({ fault, role })),
);

/** `step`: every call, or every second one, and so on, from a random one on. */
export function startRound(step: number): (drill: StartDrill) => Round {
  return ({ fault, role }) => ({
    needsFaulty: true,
    part: 'faulty starts',
    name: `${role}: ${fault}`,
    async run(four, chance) {
      const node = four.nodes[role];
      const endings = new Map<string, number>();
      const wrong: string[] = [];
      await node.kill();
      try {
        for (let skip = chance.below(step); wrong.length < MAX_WRONG; skip += step) {
          const rule = `${START_FAULTS[fault].replace(' ', ` ${node.folder} `)} skip=${skip}`;
          const ending = await startOnce(four, node, rule).catch((error: unknown) => {
            wrong.push(errorMessage(error));
            return 'wrong';
          });
          if (ending === undefined) break;
          endings.set(ending, (endings.get(ending) ?? 0) + 1);
          await node.kill();
        }
      } finally {
        await four.faulty.mend();
        await node.kill();
        await node.start();
      }
      if (wrong.length > 0) throw new Error(wrong.join('; '));
      return [...endings].map(([ending, times]) => `${times} ${ending}`).join(', ') || 'no such calls';
    },
  });
}

/**
 * How a start ended that met the fault; undefined when it did not meet it. Throws when it ended in a way that it must not.
 */
async function startOnce(four: FourNodes, node: NodeProcess, rule: string): Promise<string | undefined> {
  const { disk } = four.faulty.of(node.role);
  const before = (await disk.hits()).length;
  await disk.set(`${rule} times=1`);
  const error = await node.start().then(
    () => undefined,
    (thrown: unknown) => thrown as Error,
  );
  const hits = (await disk.hits()).slice(before);
  if (error === undefined) {
    if (hits.length === 0) return undefined;
    const faults = await four.readKnown(node.role);
    if (faults.length > 0) throw new Error(`${rule}: ${faults.join('; ')}`);
    return 'started';
  }
  const [, name] = /^tessera: ([a-z_]+): /.exec(lastLineOf(error)) ?? [];
  if (hits.length === 0) throw new Error(`${rule}: it did not start on a sound disk: ${lastLineOf(error)}`);
  if (name === undefined || name === 'internal_error') {
    throw new Error(`${rule}: met ${hits.join(', ')} and ended without a name: ${lastLineOf(error)}`);
  }
  return `ended by ${name}`;
}

/** What a process said last that did not start. */
function lastLineOf({ message }: Error): string {
  const lines = message.split('\n');
  return (lines.findLast((line) => line.startsWith('tessera: ')) ?? lines.at(-1) ?? '').slice(0, 300);
}
