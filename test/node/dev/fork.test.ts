/** Chains that a dev chain cannot begin from. The others are in dev-network.e2e.test.ts. */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DevNetwork } from '../../../src/node/dev-network.js';
import { chainBehindApi } from '../../support/chain-behind-api.js';
import { silentLogger } from '../../support/silent-logger.js';

async function startFrom(fork: string) {
  const dataDir = mkdtempSync(join(tmpdir(), 'tessera-fork-'));
  const network = new DevNetwork({ dataDir, ports: 'any', fork }, { logger: silentLogger });
  onTestFinished(async () => {
    await network.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return { dataDir, started: network.start() };
}

it('a chain that breaks a rule is refused with the rule, and nothing takes its place', async () => {
  const chain = await chainBehindApi();
  chain.blocks.push([{ pays: ['ab'.repeat(32)] }], [{ pays: ['cd'.repeat(32)] }]);
  const { dataDir, started } = await startFrom(chain.urls.storage);
  await expect(started).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('cannot be continued by the rules of a dev network'),
  });
  expect(['storage', 'dev-chain.json', 'genesis.json'].filter((name) => existsSync(join(dataDir, name)))).toEqual([]);
});

it('a node that does not answer is named', async () => {
  const { started } = await startFrom('http://127.0.0.1:1');
  await expect(started).rejects.toMatchObject({
    code: 'node_unreachable',
    message: expect.stringContaining('127.0.0.1:1'),
  });
});
