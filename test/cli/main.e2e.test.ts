/** The entry file and the process around the command line. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = join(ROOT, 'dist/main.js');

const children: ChildProcess[] = [];
const folders: string[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function start(args: readonly string[], nodeFlags: readonly string[] = [], out: 'pipe' | number = 'pipe') {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-test-'));
  folders.push(folder);
  const child = spawn(process.execPath, [...nodeFlags, MAIN, ...args], {
    env: { PATH: process.env.PATH ?? '', TMPDIR: folder },
    stdio: ['ignore', out, 'pipe'],
  });
  children.push(child);
  const written = { out: '', err: '' };
  child.stdout?.on('data', (chunk) => {
    written.out += String(chunk);
  });
  child.stderr?.on('data', (chunk) => {
    written.err += String(chunk);
  });
  return { child, written, closed: once(child, 'close') };
}

describe('a Node that the program does not run on', () => {
  const pretend = (version: string) => [
    '--import',
    `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"${version}"}})`,
  ];

  it.each(['18.20.8', '20.18.3', '21.7.3', '22.12.0', '23.11.0'])('is told so: %s', async (version) => {
    const { written, closed } = start(['--version'], pretend(version));
    expect((await closed)[0]).toBe(1);
    expect(written.err).toBe(
      `tessera: Node.js 20.19, 22.13, 24 or newer is needed, and this is ${version}. See https://nodejs.org\n`,
    );
  });

  it.each(['20.19.0', '22.13.0', '24.0.0'])('is not %s', async (version) => {
    const { closed } = start(['--version'], pretend(version));
    expect((await closed)[0]).toBe(0);
  });

  it('is what package.json says', () => {
    const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(engines.node).toBe('^20.19.0 || ^22.13.0 || >=24.0.0');
  });

  it('is none that a package of the lock file refuses, so that npm ci --engine-strict passes on all that are named', () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
    const refused = Object.entries(packages).flatMap(([name, { engines }]) =>
      ['20.19.0', '22.13.0', '24.0.0']
        .filter((version) => engines?.node !== undefined && !isInRange(version, engines.node))
        .map((version) => `${name} on ${version}`),
    );
    expect(refused).toEqual([]);
    expect(isInRange('20.19.0', '>=22.12.0 || ^18')).toBe(false);
    expect(isInRange('24.0.0', '>= 20.19.0 <24')).toBe(false);
  });
});

describe('the process', () => {
  it('names files and lines of the sources in a stack trace, with --enable-source-maps', async () => {
    const broken = 'data:text/javascript,process.umask=()=>{throw new Error("broken")}';
    const { written, closed } = start(['--version'], ['--enable-source-maps', '--import', broken]);
    expect((await closed)[0]).toBe(1);
    const line = readFileSync(join(ROOT, 'src/cli/program.ts'), 'utf8')
      .split('\n')
      .findIndex((text) => text.includes('process.umask'));
    expect(written.err).toMatch(new RegExp(`runProgram .*src/cli/program\\.ts:${line + 1}:`));
  });

  it.runIf(existsSync('/dev/full')).each([
    ['help', 'tessera: write_failed: the output cannot be written: ENOSPC'],
    ['help --json', '{"code":"write_failed",'],
  ])('fails when its output is lost: %s', async (line, said) => {
    const { written, closed } = start(line.split(' '), [], openSync('/dev/full', 'w'));
    expect((await closed)[0]).toBe(1);
    expect(written.err).toContain(said);
  });

  it('does not fail when nobody reads its output to the end', async () => {
    const { child, written, closed } = start(['help', 'options']);
    child.stdout?.destroy();
    expect([(await closed)[0], written.err]).toEqual([0, '']);
  });

  it('of a node ends with a reason and status 1 when nobody reads its log any more', async () => {
    const { child, written, closed } = start(['dev', '--set', 'api.port=0', '--set', 'peers.port=0', '-l', 'debug']);
    await expect.poll(() => written.out, { timeout: 60_000 }).toContain('Ctrl-C stops.');
    const api = /http:\/\/127\.0\.0\.1:\d+/.exec(written.out)?.[0];
    child.stdout?.destroy();
    // It is told in the log; the answer may come before the end, or not.
    await fetch(`${api}/v1/supply`).catch(() => undefined);
    expect((await closed)[0]).toBe(1);
    expect(written.err).toContain('tessera: write_failed: the log of the node is no longer read\n');
    expect(written.err).not.toContain('broken invariant');
  });

  it.each(['api', 'peers', 'metrics'])('says once, and in its own words, that a port is taken: %s', async (section) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const ports = { 'api.port': 0, 'peers.port': 0, 'metrics.port': 0, [`${section}.port`]: port };
    const options = Object.entries(ports).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
    const node = ['--role', 'storage', '--data', join(folders[0] ?? tmpdir(), 'data'), '--set', 'metrics.enabled=true'];
    const { written, closed } = start([...node, ...options]);
    expect((await closed)[0]).toBe(1);
    const said = `another program listens on 127.0.0.1:${port}: stop it, or choose another ${section}.port`;
    expect(written.err).toBe(`tessera: port_in_use: ${said} (\`tessera dev\` has --port-offset)\n`);
    expect(written.out).toContain(said);
    expect(written.out).not.toContain('EADDRINUSE');
  });

  it('opens no inspector at SIGUSR1', async () => {
    const { child, written, closed } = start(['dev', '--set', 'api.port=0', '--set', 'peers.port=0', '-l', 'silent']);
    await expect.poll(() => written.out, { timeout: 60_000 }).toContain('Ctrl-C stops.');
    child.kill('SIGUSR1');
    // Signals are handled in order: once the second one has stopped the network, the first one has done what it does.
    const url = /storage +(http:\S+)/.exec(written.out)?.[1];
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    child.kill('SIGTERM');
    expect((await closed)[0]).toBe(0);
    expect(written.err).not.toContain('Debugger listening');
  });
});

interface Lock {
  readonly packages: Readonly<Record<string, { readonly engines?: { readonly node?: string } }>>;
}

/** As npm reads the ranges that packages name: alternatives of `^`, `>=`, `<` and bare versions. */
function isInRange(version: string, range: string): boolean {
  return range
    .replaceAll(/([<>=^~]) +/g, '$1')
    .split('||')
    .some((all) =>
      all
        .trim()
        .split(/\s+/)
        .every((one) => satisfies(version, one)),
    );
}

function satisfies(version: string, comparator: string): boolean {
  const [, operator = '', text = ''] = /^([<>=^~]*)(.*)$/.exec(comparator) ?? [];
  const wanted = text.split('.').map(Number).filter(Number.isInteger);
  const found = version.split('.').map(Number);
  const [difference = 0] = wanted.map((part, i) => (found[i] ?? 0) - part).filter((part) => part !== 0);
  switch (operator) {
    case '>=':
      return difference >= 0;
    case '<':
      return difference < 0;
    case '^':
      return difference >= 0 && found[0] === wanted[0];
    case '':
      return difference === 0;
    default:
      throw new Error(`a range that this test does not know: ${comparator}`);
  }
}
