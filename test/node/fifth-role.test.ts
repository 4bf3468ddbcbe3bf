/**
 * A fifth role, which is only here: an entry in each table of roles, and `echo-role.ts` with its facts, plugin and definition. All else
 * follows from them: its configuration, its node, its routes, their document, its health, its metrics.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openApiFiles } from '../../src/api/openapi/document.js';
import { createConfig, loadConfig } from '../../src/config/load.js';
import { sampleConfig } from '../../src/config/sample.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { Node } from '../../src/node/node.js';
import { PORTS } from '../support/echo-role.js';
import { silentLogger } from '../support/silent-logger.js';

/** The type of roles is made from the table of the program, which has four. */
const ECHO = 'echo' as NodeRole;
vi.mock('../../src/lib/role-table.js', async (original) => {
  const { ROLES } = await original<typeof import('../../src/lib/role-table.js')>();
  const { facts } = await import('../support/echo-role.js');
  return { ROLES: { ...ROLES, echo: facts } };
});
vi.mock('../../src/api/roles.js', async (original) => {
  const actual = await original<typeof import('../../src/api/roles.js')>();
  const { api } = await import('../support/echo-role.js');
  Object.assign(actual.ROLE_APIS, { echo: api });
  return actual;
});
vi.mock('../../src/node/roles/roles.js', async (original) => {
  const { DEFINITIONS } = await original<typeof import('../../src/node/roles/roles.js')>();
  const { definition } = await import('../support/echo-role.js');
  return { DEFINITIONS: { ...DEFINITIONS, echo: definition } };
});

it('has its configuration, its links and its defaults', () => {
  const { config, warnings } = loadConfig({ role: 'echo', file: null });
  expect(config.node.name).toBe('echo');
  expect(config.node.dataDir).toMatch(/\.tessera\/echo$/);
  expect(config).toMatchObject({
    api: { port: PORTS.api },
    peers: { port: PORTS.peers },
    metrics: { port: PORTS.metrics },
  });
  expect(warnings).toContain('peers.storage is empty: nothing is echoed');
  expect(sampleConfig()).toContain('# Nodes that echo.');
  expect(() => loadConfig({ role: 'ecko', file: null })).toThrow(/mempool, storage, miner, user or echo/);
});

it('has its document, and its operations are in that of all', () => {
  const texts = new Map(openApiFiles().map(({ name, text }) => [name, text]));
  expect(texts.get('echo.json')).toContain('"/v1/echo/{text}"');
  expect(texts.get('echo.json')).not.toContain('/v1/wallet');
  expect(texts.get('node-v1.json')).toContain('"/v1/echo/{text}"');
  expect(texts.get('user.json')).not.toContain('/v1/echo');
});

it('starts, serves its route, describes it, and says why it is not ready', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-test-'));
  const options = { 'node.data_dir': folder, 'api.port': 0, 'peers.port': 0, 'metrics.enabled': false };
  const node = await Node.create(createConfig(ECHO, options), { logger: silentLogger });
  onTestFinished(async () => {
    await node.stop();
    await rm(folder, { recursive: true, force: true });
  });
  await node.start();
  const get = async (path: string) => (await fetch(node.apiUrl + path)).json();
  expect(await get('/v1/echo/hello')).toEqual({ text: 'hello' });
  expect(await get('/v1/debug')).toMatchObject({ node_type: 'Echo' });
  expect(await get('/v1/openapi.json')).toMatchObject({ info: { title: 'Node REST API: echo node' } });
  expect(await get('/readyz')).toEqual({ status: 'unavailable', reasons: ['nobody has said anything yet'] });
  expect((await get('/v1/blocks/latest')).detail).toBe('This node does not serve the route; storage nodes do.');
});
