/** SIGHUP on a real process: API keys and the log level change, a wrong configuration changes nothing. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { until } from '../support/processes.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const GENESIS = fileURLToPath(new URL('../../config/genesis-dev.json', import.meta.url));

const children: ChildProcess[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function startUser(api: string, level: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-test-'));
  folders.push(folder);
  const file = join(folder, 'node.toml');
  const write = (keys: string, log: string): void =>
    writeFileSync(
      file,
      [
        '[node]\nrole = "user"\ndata_dir = "data"',
        `[network]\nname = "reload"\ngenesis_file = ${JSON.stringify(GENESIS)}`,
        `[api]\nport = 0\n${keys}`,
        '[peers]\nport = 0',
        '[wallet]\npassphrase = "reload test"',
        `[log]\nformat = "json"\nlevel = "${log}"`,
      ].join('\n'),
    );
  write(api, level);
  const child = spawn(process.execPath, [MAIN, '--config', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const lines: string[] = [];
  const ready = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      if (line.includes('"msg":"ready"')) resolve((JSON.parse(line) as { api: string }).api);
    });
    createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
    child.once('exit', () => reject(new Error(lines.join('\n'))));
  });
  const url = await ready;
  const told = (message: string): Promise<true> =>
    until(message, async () => (lines.some((line) => line.includes(message)) ? true : undefined));
  const hup = async (message: string): Promise<void> => {
    lines.length = 0;
    child.kill('SIGHUP');
    await told(message);
  };
  const status = async (key: string): Promise<number> =>
    (await fetch(`${url}/v1/wallet/keypairs`, { headers: { 'x-api-key': key } })).status;
  return { folder, write, hup, status, lines, url, told };
}

const key = (value: string): string => `keys = [{ name = "a", key = "${value}" }]`;

it('replaces the API keys and the log level at SIGHUP, without a pause', async () => {
  const node = await startUser(key('first-key-0123456789'), 'info');
  expect(await node.status('first-key-0123456789')).toBe(200);
  await node.told('"msg":"request"');

  node.write(key('second-key-0123456789'), 'info');
  await node.hup('configuration read again: now in effect: api.keys');
  expect(await node.status('first-key-0123456789')).toBe(401);
  expect(await node.status('second-key-0123456789')).toBe(200);
  expect(node.lines.join('\n')).not.toContain('second-key');

  // A key that is too short: nothing changes, the level neither.
  node.write('keys = [{ name = "a", key = "short" }]', 'debug');
  await node.hup('configuration not read again');
  expect(await node.status('second-key-0123456789')).toBe(200);

  node.write(key('third-key-0123456789'), 'error');
  node.lines.length = 0;
  const child = children[0];
  child?.kill('SIGHUP');
  await until('the third key', async () => ((await node.status('third-key-0123456789')) === 200 ? true : undefined));
  node.lines.length = 0;
  // What was put together before the change of level may still come; then there is silence, up to the end.
  await node.status('third-key-0123456789');
  const exited = child && once(child, 'exit');
  child?.kill('SIGTERM');
  await exited;
  expect(node.lines.filter((line) => line.includes('"msg":"stopp'))).toEqual([]);
});

it('keeps the key of the node when a new configuration asks for none, which needs a restart', async () => {
  const node = await startUser('', 'info');
  const own = readFileSync(join(node.folder, 'data/api-key'), 'utf8').trim();
  expect(await node.status(own)).toBe(200);

  node.write('auth = "open"', 'info');
  await node.hup('api.auth');
  expect(await node.status(own)).toBe(200);
  expect(await node.status('another-key-0123456789')).toBe(401);
});
