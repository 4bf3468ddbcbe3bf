/**
 * Drills with `tessera backup` and `tessera restore`, for each role: two backups of the node while it runs and is written to,
 * then its folder is lost, and the newest backup is put in its place (docs/operations.md#backup-and-restore).
 */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { NodeRole } from '../../src/lib/roles.js';
import { MAIN, type NodeProcess } from '../support/processes.js';
import type { FourNodes } from './four-nodes.js';
import { reaches, secondStorage, settle } from './restore-rounds.js';
import { type Round, sleep } from './round.js';

/** Milliseconds of load before the first backup, between the two, and after the second. */
const BETWEEN_MS = 600;
const PAYMENTS_A_SECOND = 10;

export function backupRound(role: NodeRole): Round {
  return {
    part: 'backups',
    name: role,
    async run(four) {
      const node = four.nodes[role];
      const folder = await mkdtemp(join(tmpdir(), 'tessera-drill-'));
      try {
        await writeFile(join(folder, 'passphrase'), 'the passphrase of the drill\n');
        await writeTo(four, role);
        await sleep(BETWEEN_MS);
        await onFolder('backup', node, folder);
        await sleep(BETWEEN_MS);
        const height = await four.height();
        const { newBytes, bytes } = JSON.parse(await onFolder('backup', node, folder)) as Record<string, number>;
        await sleep(BETWEEN_MS);
        await settle(four);
        const last = await four.height();
        if (role === 'storage') await secondStorage(four, last);
        await node.kill();
        await rm(node.folder, { recursive: true });
        await onFolder('restore', node, folder);
        await node.start();
        if (role === 'storage') await reaches(node.apiUrl, last);
        return `${last - height} blocks older, ${newBytes} of ${bytes} bytes new in the second backup, converged`;
      } finally {
        await four.freshGuest(four.guestStorage);
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/** An address that a wallet hands out after its backup counts as one again when it is paid: it hands out none here. */
async function writeTo(four: FourNodes, role: NodeRole): Promise<void> {
  if (role === 'mempool' || role === 'storage') return;
  await settle(four);
  four.pay(PAYMENTS_A_SECOND);
}

/** Runs the command on the folder of the node; what it printed. */
async function onFolder(command: 'backup' | 'restore', { role, folder }: NodeProcess, drill: string): Promise<string> {
  const backups = [join(drill, 'backups'), '--passphrase-file', join(drill, 'passphrase')];
  const own = ['--role', role, '--config', 'config/dev.toml', '--data', folder, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, command, ...backups, ...own]);
  return stdout;
}
