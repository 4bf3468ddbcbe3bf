/**
 * The four data folders of each format that was ever written: checked, opened, and the network goes on from them (rule P7).
 */

import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { DATA_FORMAT } from '../../src/db/marker.js';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { DevNetwork } from '../../src/node/dev-network.js';
import { NodeLogger } from '../../src/observability/logger.js';
import { createContext } from '../support/cli-context.js';
import { call, until } from '../support/processes.js';

const FIXTURES = fileURLToPath(new URL('../fixtures/', import.meta.url));
const PAYEE = devAccounts().accounts[0]?.address;

interface Expected {
  readonly height: number;
  readonly payments: readonly string[];
  readonly item: string;
  readonly userTokens: number;
  readonly minerTokens: number;
}

const formats = (await readdir(FIXTURES)).filter((name) => name.startsWith('folders-'));

it('are of every format', () =>
  expect(formats).toEqual(Array.from({ length: DATA_FORMAT }, (_, i) => `folders-${i + 1}`)));

describe.each(formats)('%s', (format) => {
  let folder: string;
  let network: DevNetwork | undefined;
  let expected: Expected;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tessera-older-'));
    for (const role of NODE_ROLES) await cp(join(FIXTURES, format, role), join(folder, role), { recursive: true });
    expected = JSON.parse(await readFile(join(FIXTURES, format, 'expected.json'), 'utf8')) as Expected;
  });
  afterAll(async () => {
    await network?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(NODE_ROLES)('the folder of the %s passes the check', async (role) => {
    const context = createContext();
    const place = ['--role', role, '--config', 'config/dev.toml', '--data', join(folder, role)];
    const status = await runCli(['verify', ...place], context);
    expect({ status, err: context.err() }).toEqual({ status: 0, err: '' });
  });

  it('the four make the network that they were, with all that it held', async () => {
    network = new DevNetwork(
      { dataDir: folder, ports: 'any' },
      { logger: NodeLogger.create({ level: 'silent', format: 'json' }) },
    );
    await network.start();
    const { storage, user, miner } = network.urls;
    expect(await call(`${storage}/v1/blocks/${expected.height}`)).toBeTruthy();
    expect(await call(`${user}/v1/wallet`)).toMatchObject({
      running_total_tokens: expected.userTokens,
      item_total: { [expected.item]: 7 },
    });
    expect(await call(`${miner}/v1/wallet`)).toMatchObject({ running_total_tokens: expected.minerTokens });
    const history = (await call(`${user}/v1/wallet/history`)) as { transactions: { tx_hash: string; state: string }[] };
    expect(history.transactions.map(({ tx_hash: hash, state }) => [hash, state])).toEqual(
      expected.payments.map((hash) => [hash, 'confirmed']),
    );
  });

  it('and it goes on', async () => {
    const { urls, nodes } = network ?? {};
    await call(`${urls?.user}/v1/payments`, { kind: 'address', address: PAYEE, amount: 5, passphrase: '' });
    await until('the next block', async () => {
      const height = nodes?.user.services.wallet?.chain.height ?? -1;
      return height > expected.height ? true : undefined;
    });
    expect(await call(`${urls?.storage}/v1/blocks/${expected.height + 1}`)).toBeTruthy();
  });
});
