/** A miner on a system that has no file left for its threads: it ends by that name (rule P3). */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { canMakeFaultyDisks, FaultyDisk } from '../support/faulty-disk/faulty-disk.js';
import { MAIN } from '../support/processes.js';

it.runIf(canMakeFaultyDisks)('a miner that gets no file for its threads ends by database_failed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-few-files-'));
  const disk = await FaultyDisk.create();
  try {
    await disk.set('open program/pow-worker.js EMFILE');
    const sets = {
      'node.data_dir': folder,
      'api.port': 0,
      'peers.port': 0,
      'peers.mempool': '127.0.0.1:1',
      'wallet.genesis_seed_index': 1,
    };
    const options = Object.entries(sets).flatMap(([option, value]) => ['--set', `${option}=${value}`]);
    const child = spawn(process.execPath, [MAIN, '--role', 'miner', '--config', 'config/dev.toml', ...options], {
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
