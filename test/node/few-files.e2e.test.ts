/** A node on a system that has no file left for its threads, or for the program: it ends by that name (rule P3). */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { canMakeFaultyDisks, FaultyDisk } from '../support/faulty-disk/faulty-disk.js';
import { MAIN } from '../support/processes.js';

it.runIf(canMakeFaultyDisks).each([
  ['miner', 'for its threads', 'open program/pow-worker.js EMFILE'],
  ['miner', 'of the program itself', 'open program/node.js EMFILE'],
  ['mempool', 'of the program itself', 'open program/node.js EMFILE'],
])('a %s node that gets no file %s ends by database_failed', async (role, _, rule) => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-few-files-'));
  const disk = await FaultyDisk.create();
  try {
    await disk.set(rule);
    const sets = {
      'node.data_dir': folder,
      'api.port': 0,
      'peers.port': 0,
      ...(role === 'miner' ? { 'peers.mempool': '127.0.0.1:1', 'wallet.genesis_seed_index': 1 } : {}),
    };
    const options = Object.entries(sets).flatMap(([option, value]) => ['--set', `${option}=${value}`]);
    const child = spawn(process.execPath, [MAIN, '--role', role, '--config', 'config/dev.toml', ...options], {
      env: { ...process.env, ...disk.environment() },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    const [code] = (await once(child, 'close')) as [number | null];
    expect(code).toBe(1);
    expect(said).toMatch(/^tessera: database_failed: .*EMFILE/);
  } finally {
    await disk.remove();
    await rm(folder, { recursive: true, force: true });
  }
});
