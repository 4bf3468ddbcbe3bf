/**
 * The package of `npm pack`, used as people use it: `npx tessera-node dev`, and its exports imported by name. On other versions
 * of Node.js, and installed from a registry, `npm run test:versions` does the same.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExportTarget, type InstalledPackage, installPackage } from '../support/installed-package.js';
import { call } from '../support/processes.js';

const execute = promisify(execFile);
/** Bytes of the archive: more is something that does not belong there. */
const MAX_SIZE = 4_500_000;

let installed: InstalledPackage;
const children: ChildProcess[] = [];

beforeAll(async () => {
  installed = await installPackage();
});

afterAll(async () => {
  for (const { pid, exitCode, signalCode } of children) {
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, 'SIGKILL');
  }
  await installed.remove();
});

/** The files of an export, with the condition that each is for. */
function targets(target: ExportTarget, condition = 'default'): (readonly [condition: string, file: string])[] {
  if (typeof target === 'string') return [[condition, target.replace(/^\.\//, '')]];
  return Object.entries(target).flatMap(([inner, one]) => targets(one, inner));
}

/** The names under which modules of the package are imported. */
function modulesOf({ manifest }: InstalledPackage): string[] {
  const paths = Object.keys(manifest.exports).filter((path) => !path.endsWith('.json') && !path.includes('*'));
  return paths.map((path) => `${manifest.name}${path.slice(1)}`);
}

describe('what npm pack makes', () => {
  it('has the program, its types, pages, configuration and API description, and nothing else', () => {
    const paths = installed.files.map(({ path }) => path);
    const expected = ['README.md', 'LICENSE', 'CHANGELOG.md', 'config/default.toml', 'openapi/node-v1.json'];
    const built = [
      'dist/main.js',
      'dist/client/client.d.ts',
      'dist/web/explorer/index.html',
      'dist/web/wallet/index.html',
    ];
    expect(paths).toEqual(expect.arrayContaining([...expected, ...built]));
    const folders = new Set(paths.filter((path) => path.includes('/')).map((path) => path.split('/')[0]));
    expect([...folders].sort()).toEqual(['config', 'dist', 'openapi']);
    // Compiled files that nobody can import.
    expect(paths.filter((path) => /^dist\/(?:api|cli|config|node)\//.test(path))).toEqual([]);
    expect(paths.filter((path) => /\.(ts|map|tsbuildinfo)$/.test(path) && !path.endsWith('.d.ts'))).toEqual([]);
    expect(installed.size).toBeLessThan(MAX_SIZE);
  });

  it('has every file that its programs and exports name, with types for each module', () => {
    const { bin, exports } = installed.manifest;
    const paths = new Set(installed.files.map(({ path }) => path));
    expect(Object.keys(bin).sort()).toEqual(['tessera', 'tessera-node']);
    const named = [...Object.values(bin), ...Object.values(exports).flatMap((one) => targets(one).map(([, f]) => f))];
    expect(named.filter((file) => !paths.has(file))).toEqual([]);
    const untyped = Object.entries(exports).filter(
      ([path, one]) => !path.endsWith('.json') && !targets(one).some(([condition]) => condition === 'types'),
    );
    expect(untyped).toEqual([]);
  });
});

describe('the installed package', () => {
  it('says its version by npx', async () => {
    const { stdout } = await execute('npx', ['--no-install', 'tessera', '--version'], { cwd: installed.folder });
    expect(stdout).toBe(`tessera ${installed.manifest.version} (node ${process.version})\n`);
  });

  it('runs a network by npx tessera-node dev, takes a payment, and ends at Ctrl-C with nothing left', async () => {
    const temporary = join(installed.folder, 'tmp');
    await mkdir(temporary);
    const ports = ['--port', '0', '--set', 'api.port=0', '--set', 'peers.port=0'];
    // A group of its own, which gets the signal as a whole, as that of a terminal does.
    const child = spawn('npx', ['--no-install', 'tessera-node', 'dev', '--json', ...ports], {
      cwd: installed.folder,
      detached: true,
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const closed = once(child, 'close');
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const { url, urls, accounts } = JSON.parse(line) as DevFacts;
    expect((await fetch(url)).headers.get('content-type')).toContain('text/html');
    const payment = { kind: 'address', address: accounts[0]?.address, amount: 72_072_000, passphrase: '' };
    expect(await call(`${urls.user}/v1/payments`, payment)).toMatchObject({ tx_hash: expect.any(String) });
    expect(await call(`${urls.storage}/v1/openapi.json`)).toMatchObject({ openapi: expect.any(String) });
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
    await closed;
    // npm keeps what it compiled in the same folder.
    expect((await readdir(temporary)).filter((name) => name.startsWith('tessera'))).toEqual([]);
  });

  it('gives each of its modules by name', async () => {
    const names = modulesOf(installed);
    const program = `for (const name of ${JSON.stringify(names)}) {
      const found = Object.keys(await import(name));
      if (found.length === 0) throw new Error(name + ' exports nothing');
    }`;
    const { stderr } = await execute(process.execPath, ['--input-type=module', '-e', program], {
      cwd: installed.folder,
    });
    expect(stderr).toBe('');
  });
});

interface DevFacts {
  readonly url: string;
  readonly urls: Readonly<Record<'user' | 'storage', string>>;
  readonly accounts: readonly { readonly address: string }[];
}
