/** The container: what its files promise to each other and to the program, and its health check against a real node. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { NODE_ROLES } from '../../src/lib/roles.js';
import { createTlsNodes, type TlsNodes } from '../support/tls.js';

const root = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url));
const read = (file: string): string => readFileSync(root(file), 'utf8');
const CONTAINER_CONFIG = root('deploy/container.toml');
const SECRET = 'a secret of this test';

describe('the Dockerfile', () => {
  const lines = read('Dockerfile').split('\n');

  it('copies from the project only what .dockerignore lets in', () => {
    const ignore = read('.dockerignore').split('\n');
    expect(ignore).toContain('*');
    const copied = lines
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(' ').slice(1, -1));
    expect(copied.filter((path) => !ignore.includes(`!${path}`))).toEqual([]);
  });

  it('pins its bases to exact versions', () => {
    const bases = lines.filter((line) => /^ARG \w+_IMAGE=/.test(line)).map((line) => line.split('=')[1]);
    expect(bases).toEqual([
      expect.stringMatching(/^node:20\.\d+\.\d+-bookworm-slim$/),
      expect.stringMatching(/^debian:bookworm-\d{8}-slim$/),
    ]);
  });

  it('runs without root, in exec form, with one volume', () => {
    expect(lines).toEqual(expect.arrayContaining(['USER 10001:10001', 'VOLUME /data']));
    expect(lines).toContain('ENTRYPOINT ["node", "/app/dist/main.js"]');
  });
});

describe('the configuration of the container', () => {
  it.each(NODE_ROLES)('is complete for a %s node with nothing but the secret', (role) => {
    const { config } = loadConfig({ env: { ...environment(role), TESSERA_NETWORK__SECRET: SECRET } });
    expect(config.node.dataDir).toBe('/data');
    expect([config.api.host, config.peers.host, config.metrics.host]).toEqual(['0.0.0.0', '0.0.0.0', '0.0.0.0']);
    expect(config.metrics.enabled).toBe(true);
  });

  it('gives no node a secret or a genesis with published keys', () => {
    expect(() => loadConfig({ env: environment('storage') })).toThrow(/network\.secret/);
    const { config } = loadConfig({ env: environment('user') });
    expect(config.network.genesisFile).toMatch(/\/genesis\.json$/);
  });
});

describe('the health check', () => {
  let nodes: TlsNodes;
  beforeEach(async () => {
    nodes = await createTlsNodes();
  });
  afterEach(() => nodes.end());

  it('is healthy for a node that is ready', async () => {
    const { apiUrl } = await nodes.start('storage', {});
    expect(await healthOf('storage', apiUrl)).toEqual({ status: 0, text: '200 {"status":"ok","reasons":[]}' });
  });

  it('is healthy for a node that speaks TLS', async () => {
    const { cert, key } = nodes.files;
    const { apiUrl } = await nodes.start('storage', { 'api.tls.cert_file': cert, 'api.tls.key_file': key });
    const tls = { TESSERA_API__TLS__CERT_FILE: cert, TESSERA_API__TLS__KEY_FILE: key };
    expect((await healthOf('storage', apiUrl, tls)).status).toBe(0);
  });

  it('is unhealthy, with the reasons, for a node that is not ready', async () => {
    const { apiUrl } = await nodes.start('mempool', {});
    const { status, text } = await healthOf('mempool', apiUrl);
    expect(status).toBe(1);
    expect(text).toMatch(/^503 .*no storage node/);
  });

  it('is unhealthy when nobody answers', async () => {
    const node = await nodes.start('storage', {});
    const { apiUrl } = node;
    await node.stop();
    const { status, text } = await healthOf('storage', apiUrl);
    expect(status).toBe(1);
    expect(text).toContain('ECONNREFUSED');
  });

  it('is unhealthy for a configuration that is wrong', async () => {
    expect((await healthOf('nobody', 'http://127.0.0.1:1')).status).toBe(1);
  });
});

function environment(role: string): Record<string, string> {
  return { TESSERA_NODE__ROLE: role, TESSERA_CONFIG: CONTAINER_CONFIG };
}

/** Runs the check as the container does, for a node at that URL. */
async function healthOf(role: string, apiUrl: string, more: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [root('deploy/healthcheck.js'), '/readyz'], {
    env: {
      ...environment(role),
      TESSERA_NETWORK__SECRET: SECRET,
      TESSERA_API__PORT: new URL(apiUrl).port,
      ...more,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const [status] = (await once(child, 'close')) as [number];
  return { status, text: text.trim() };
}
