/**
 * Restore drills: the folder of a mempool or storage node is put back to an older age, or lost, while the other node is as
 * it was. Both must converge with everything that was acknowledged and is in a block
 * (docs/operations.md#backup-and-restore).
 */

import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NodeProcess, until } from '../support/processes.js';
import type { FourNodes } from './four-nodes.js';
import { type Round, sleep } from './round.js';

/** How old the copy is: milliseconds of load behind it; without a number there is no copy at all. */
const AGES = { 'some blocks older': 400, 'many blocks older': 3_000, lost: undefined } as const;
type Age = keyof typeof AGES;
type Restored = 'mempool' | 'storage';

export interface Drill {
  readonly role: Restored;
  readonly age: Age;
  /** The other of the two nodes is restarted too, and is up after this one. */
  readonly both: boolean;
}

export const ALL_DRILLS: readonly Drill[] = (['mempool', 'storage'] as const).flatMap((role) =>
  (Object.keys(AGES) as Age[]).flatMap((age) => [false, true].map((both) => ({ role, age, both }))),
);

export function restoreRound({ role, age, both }: Drill): Round {
  return {
    part: 'restore drills',
    name: `${role}: ${age}${both ? ', both restarted' : ''}`,
    async run(four) {
      const node = four.nodes[role];
      const other = four.nodes[role === 'mempool' ? 'storage' : 'mempool'];
      const folder = await mkdtemp(join(tmpdir(), 'tessera-age-'));
      try {
        await settle(four);
        const height = await four.height();
        await copyStopped(node, folder);
        four.write();
        await sleep(AGES[age] ?? AGES['some blocks older']);
        // What is in no block is lost with the folder of a mempool node: the manual says so.
        await settle(four);
        const blocks = (await four.height()) - height;
        const last = await four.height();
        if (role === 'storage') await secondStorage(four, last);
        await node.kill();
        if (both) await other.kill();
        await rm(node.folder, { recursive: true });
        if (AGES[age] !== undefined) await cp(folder, node.folder, { recursive: true });
        await node.start();
        if (both) await other.start();
        if (role === 'storage') await reaches(node.apiUrl, last);
        return AGES[age] === undefined ? 'converged' : `${blocks} blocks older, converged`;
      } finally {
        await four.freshGuest(four.guestStorage);
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

async function settle(four: FourNodes): Promise<void> {
  const faults = await four.judge();
  if (faults.length > 0) throw new Error(`before the fault: ${faults.join('; ')}`);
}

async function copyStopped(node: NodeProcess, folder: string): Promise<void> {
  await node.stop();
  await cp(node.folder, folder, { recursive: true });
  await node.start();
}

/** A storage node that has all blocks: the mempool node keeps the last ones only. */
async function secondStorage(four: FourNodes, height: number): Promise<void> {
  const guest = await four.freshGuest(four.guestStorage);
  await guest.start();
  await reaches(guest.apiUrl, height);
}

/** Resolves when the storage node has the block of that number. */
async function reaches(apiUrl: string, height: number): Promise<void> {
  await until(`block ${height} at the storage node`, async () =>
    (await fetch(`${apiUrl}/v1/blocks/${height}`)).status === 200 ? true : undefined,
  );
}
