/**
 * A file of the data directory that the system does not give ends the start by a name, never as an internal error (rule P3).
 */

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { IN_CODE } from '../../src/config/sources.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { Node } from '../../src/node/node.js';
import { silentLogger } from '../support/silent-logger.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-unreadable-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function codeOfStart(): Promise<string> {
  const own = { 'node.data_dir': folder, 'api.port': 0, 'api.auth': 'keys', 'peers.port': 0 };
  const flags = Object.entries(own).map(([option, value]) => ({ option, value, flag: IN_CODE }));
  const { config } = loadConfig({ role: 'storage', file: 'config/dev.toml', env: {}, flags });
  const node = await Node.create(config, { logger: silentLogger });
  try {
    await node.start();
    return 'started';
  } catch (error) {
    return isTesseraError(error) ? error.code : String(error);
  } finally {
    await node.stop();
  }
}

// A folder in the place of a file is what every user's system refuses to read or to write as one.
it.each([
  ['node-key', 'database_failed'],
  ['tessera.json', 'database_failed'],
  ['lock.pid', 'database_failed'],
  ['api-key', 'invalid_config'],
])('%s that cannot be read is %s', async (file, code) => {
  await mkdir(join(folder, file));
  expect(await codeOfStart()).toBe(code);
});
