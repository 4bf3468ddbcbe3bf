/** A dev network in this process, on free ports, for the tests of one file. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { IN_CODE } from '../../src/config/sources.js';
import { DevNetwork } from '../../src/node/dev-network.js';
import { NodeLogger } from '../../src/observability/logger.js';

/** Starts a network before the tests of the file and removes it after them; the function gives it. */
export function useDevNetwork(options: Readonly<Record<string, unknown>> = {}): () => DevNetwork {
  let network: DevNetwork | undefined;
  let dir = '';
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'tessera-dev-test-'));
    const logger = NodeLogger.create({ level: 'silent', format: 'json' });
    const flags = Object.entries(options).map(([option, value]) => ({ option, value, flag: IN_CODE }));
    network = new DevNetwork({ dataDir: dir, ports: 'any', flags }, { logger });
    await network.start();
  });
  afterAll(async () => {
    await network?.stop();
    await rm(dir, { recursive: true, force: true });
  });
  return () => {
    if (network === undefined) throw new Error('the network is not started');
    return network;
  };
}
