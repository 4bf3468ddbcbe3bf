/**
 * Restore drills: the folders of one or two nodes are put back to an older age, or lost, while the others are as they were.
 * All must converge with everything that was acknowledged and is in a block (docs/operations.md#backup-and-restore).
 */

import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_ROLES, type NodeRole } from '../../src/lib/roles.js';
import { type Environment, type NodeProcess, until } from '../support/processes.js';
import type { FourNodes } from './four-nodes.js';
import { SECOND_PRODUCER } from './producers.js';
import { type Round, sleep } from './round.js';

/** How old the copy is: milliseconds of load behind it; without a number there is no copy at all. */
const AGES = { lost: undefined, 'some blocks older': 400, 'many blocks older': 3_000 } as const;
type Age = keyof typeof AGES;
const PAYMENTS_A_SECOND = 10;

export interface Drill {
  /** The ages of the nodes that are put back. */
  readonly ages: Readonly<Partial<Record<NodeRole, Age>>>;
  /** A node that is restarted too, and is up after them. */
  readonly restarted?: NodeRole;
  /** Another key signs the blocks between the copies and the fault. */
  readonly hasSecondProducer?: boolean;
}

const ALL_AGES = Object.keys(AGES) as Age[];
const CHAIN = ['mempool', 'storage'] as const;
/** The keys of what came after the copy are derived from its words again: change, receipts, and a reward in each block. */
const WALLETS = ['user', 'miner'] as const;

/** Each of mempool and storage alone, and both in every pair of ages. */
const CHAIN_DRILLS: readonly Drill[] = [
  ...ALL_AGES.flatMap((age): Drill[] => [
    { ages: { mempool: age } },
    { ages: { mempool: age }, restarted: 'storage' },
    { ages: { storage: age } },
    { ages: { storage: age }, restarted: 'mempool' },
  ]),
  ...ALL_AGES.flatMap((mempool) => ALL_AGES.map((storage): Drill => ({ ages: { mempool, storage } }))),
];

/** A wallet that is older, alone and with a mempool or storage node of every age. One that is lost has lost its keys. */
const WALLET_DRILLS: readonly Drill[] = WALLETS.flatMap((wallet) =>
  (['some blocks older', 'many blocks older'] as const).flatMap((age): Drill[] => [
    { ages: { [wallet]: age } },
    ...CHAIN.flatMap((role) => ALL_AGES.map((other): Drill => ({ ages: { [wallet]: age, [role]: other } }))),
  ]),
);

const PRODUCER_DRILLS: readonly Drill[] = [
  { ages: { mempool: 'lost' } },
  { ages: { storage: 'lost' } },
  { ages: { mempool: 'many blocks older', storage: 'lost' } },
  { ages: { user: 'some blocks older', storage: 'some blocks older' } },
].map((drill) => ({ ...drill, hasSecondProducer: true }) as Drill);

export const ALL_DRILLS: readonly Drill[] = [...CHAIN_DRILLS, ...WALLET_DRILLS, ...PRODUCER_DRILLS];

export function restoreRound({ ages, restarted, hasSecondProducer = false }: Drill): Round {
  const roles = NODE_ROLES.filter((role) => ages[role] !== undefined);
  const names = roles.map((role) => `${role} ${ages[role]}`);
  if (restarted !== undefined) names.push(`${restarted} restarted`);
  if (hasSecondProducer) names.push('two producers');
  return {
    part: 'restore drills',
    name: names.join(', '),
    async run(four) {
      const folder = await mkdtemp(join(tmpdir(), 'tessera-age-'));
      try {
        const heights = await age(four, ages, folder);
        if (hasSecondProducer) await produceWith(four, SECOND_PRODUCER, ages);
        const last = await four.height();
        if (ages.storage !== undefined) await secondStorage(four, last);
        for (const role of roles) await four.nodes[role].kill();
        if (restarted !== undefined) await four.nodes[restarted].kill();
        for (const role of roles) await putBack(four.nodes[role], join(folder, role));
        for (const role of NODE_ROLES) if (ages[role] !== undefined) await four.nodes[role].start();
        if (restarted !== undefined) await four.nodes[restarted].start();
        if (ages.storage !== undefined) await reaches(four.nodes.storage.apiUrl, last);
        const older = [...heights].map(([role, height]) => `${role} ${last - height} blocks older`);
        return [...older, 'converged'].join(', ');
      } finally {
        await four.freshGuest(four.guestStorage);
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/** An address that was handed out after the copy counts as one again when it is paid: no wallet hands out any then. */
function isKeyed(ages: Drill['ages']): boolean {
  return WALLETS.some((role) => ages[role] !== undefined);
}

/** Copies of the nodes at their ages, below `folder`; the heights at which they were made. */
async function age(four: FourNodes, ages: Drill['ages'], folder: string): Promise<ReadonlyMap<NodeRole, number>> {
  const heights = new Map<NodeRole, number>();
  for (const [name, ms] of Object.entries(AGES).reverse()) {
    await settle(four);
    for (const role of NODE_ROLES.filter((one) => ages[one] === name && ms !== undefined)) {
      heights.set(role, await four.height());
      await copyStopped(four.nodes[role], join(folder, role));
    }
    if (isKeyed(ages)) four.pay(PAYMENTS_A_SECOND);
    else four.write();
    await sleep(ms ?? 0);
  }
  // What is in no block is lost with the folder of a mempool node: the manual says so.
  await settle(four);
  return heights;
}

/** Restarts the mempool node to sign with another key, and has it make blocks. */
async function produceWith(four: FourNodes, producer: Environment, ages: Drill['ages']): Promise<void> {
  const before = await four.height();
  await four.nodes.mempool.stop();
  await four.nodes.mempool.start(producer);
  if (isKeyed(ages)) four.pay(PAYMENTS_A_SECOND);
  else four.write();
  await until('blocks of the second producer', async () => ((await four.height()) >= before + 5 ? true : undefined));
  await settle(four);
}

/** Puts the copy in the place of the folder of a node that is not running; without a copy the folder is lost. */
async function putBack(node: NodeProcess, copy: string): Promise<void> {
  await rm(node.folder, { recursive: true });
  if (existsSync(copy)) await cp(copy, node.folder, { recursive: true });
}

/** Everything that was acknowledged is in a block, and nothing is under way. */
export async function settle(four: FourNodes): Promise<void> {
  const faults = await four.judge();
  if (faults.length > 0) throw new Error(`before the fault: ${faults.join('; ')}`);
}

async function copyStopped(node: NodeProcess, folder: string): Promise<void> {
  await node.stop();
  await cp(node.folder, folder, { recursive: true });
  await node.start();
}

/** A storage node that has all blocks: the mempool node keeps the last ones only. */
export async function secondStorage(four: FourNodes, height: number): Promise<void> {
  const guest = await four.freshGuest(four.guestStorage);
  await guest.start();
  await reaches(guest.apiUrl, height);
}

/** Resolves when the storage node has the block of that number. */
export async function reaches(apiUrl: string, height: number): Promise<void> {
  await until(`block ${height} at the storage node`, async () =>
    (await fetch(`${apiUrl}/v1/blocks/${height}`)).status === 200 ? true : undefined,
  );
}
