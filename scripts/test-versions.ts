/**
 * `npm run test:versions`: packs the program as a release does, installs the package from the registry as people do, and on each
 * version of Node.js runs `tessera dev`, pays, imports every module, and stops. Then its types are compiled by a program that
 * uses them. Downloads the versions of Node.js (packages `node@…`) and the dependencies; what it made is removed at the end.
 *
 *   npm run test:versions                     the oldest and the newest of each line that the program supports
 *   npm run test:versions -- 22 24.1.0        these versions
 *   npm run test:versions -- --built          packs what is in dist without building it
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** `engines` of package.json: the first of each line that it names, and its newest. */
const VERSIONS = ['20.19.0', '20', '22.13.0', '22', '24.0.0', '24'];
/** Time limit for waiting, in ms. */
const PATIENCE_MS = 120_000;
const LOOK_EVERY_MS = 50;
const MAX_OUTPUT = 64 * 1024 * 1024;

interface DevFacts {
  readonly urls: Readonly<Record<'user' | 'storage', string>>;
  readonly accounts: readonly { readonly address: string }[];
  readonly ready_after_ms: number;
}

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
}

const say = (text: string): unknown => process.stdout.write(`${text}\n`);
const folder = await mkdtemp(join(tmpdir(), 'tessera-versions-'));
const project = join(folder, 'project');
const isBuilt = process.argv.includes('--built');
const asked = process.argv.slice(2).filter((word) => !word.startsWith('--'));

/** Without what the npm that runs this has set for its own children. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));

async function run(program: string, args: readonly string[], cwd = folder): Promise<string> {
  return (await execute(program, [...args], { cwd, env, maxBuffer: MAX_OUTPUT })).stdout;
}

/** The archive, and its size in bytes. */
async function pack(): Promise<{ readonly file: string; readonly size: number; readonly unpacked: number }> {
  const flags = isBuilt ? ['--ignore-scripts'] : [];
  const text = await run('npm', ['pack', ...flags, '--json', '--pack-destination', folder], ROOT);
  // The scripts before it may print something too.
  const [facts] = JSON.parse(text.slice(text.indexOf('[\n'))) as [
    { readonly filename: string; readonly size: number; readonly unpackedSize: number },
  ];
  return { file: join(folder, facts.filename), size: facts.size, unpacked: facts.unpackedSize };
}

/** Installs it with everything that it depends on; the names of its modules. */
async function install(file: string): Promise<readonly string[]> {
  await mkdir(project);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }));
  await run('npm', ['install', '--no-audit', '--no-fund', file], project);
  const text = await readFile(join(project, 'node_modules/tessera-node/package.json'), 'utf8');
  const paths = Object.keys((JSON.parse(text) as Manifest).exports);
  return paths.filter((path) => !/\.json$|\*/.test(path)).map((path) => `tessera-node${path.slice(1)}`);
}

/** Runs the network on that Node.js, pays, and waits for the block; the facts that it printed when it was ready. */
async function runDev(node: string): Promise<DevFacts> {
  const args = [
    'node_modules/.bin/tessera-node',
    'dev',
    '--json',
    '--port',
    '0',
    '--set',
    'api.port=0',
    '--set',
    'peers.port=0',
  ];
  const child = spawn(node, args, { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const facts = JSON.parse(await firstLine(child)) as DevFacts;
    const payment = { kind: 'address', address: facts.accounts[0]?.address, amount: 72_072_000, passphrase: '' };
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(payment) };
    const paid = await fetch(`${facts.urls.user}/v1/payments`, init);
    if (paid.status !== 202) throw new Error(`the payment was answered with ${paid.status}: ${await paid.text()}`);
    const { tx_hash: hash } = (await paid.json()) as { readonly tx_hash: string };
    await confirmed(facts.urls.storage, hash);
    const closed = once(child, 'close');
    child.kill('SIGINT');
    const [status] = (await closed) as [number | null];
    if (status !== 0) throw new Error(`it ended with ${status} and not with 0`);
    return facts;
  } finally {
    child.kill('SIGKILL');
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('a pipe was asked for');
  const lines = createInterface({ input: child.stdout });
  const ended = once(child, 'close').then(([status]) => {
    throw new Error(`it ended with ${status} before it was ready`);
  });
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string];
  ended.catch(() => undefined);
  return line;
}

async function confirmed(storage: string, hash: string): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end) {
    if ((await (await fetch(`${storage}/v1/blocks/latest`)).text()).includes(hash)) return;
    await sleep(LOOK_EVERY_MS);
  }
  throw new Error(`${hash} is in no block`);
}

/** The names that each module exports, counted. */
async function importAll(node: string, names: readonly string[]): Promise<string> {
  const program = `for (const name of ${JSON.stringify(names)}) {
    console.log(name.slice('tessera-node'.length) || '.', Object.keys(await import(name)).length);
  }`;
  const text = await run(node, ['--input-type=module', '-e', program], project);
  return text.trim().replaceAll('\n', ', ');
}

async function testOn(version: string, names: readonly string[]): Promise<string> {
  const node = (await run('npx', ['-y', '-p', `node@${version}`, 'node', '-p', 'process.execPath'])).trim();
  const printed = (await run(node, ['node_modules/.bin/tessera-node', '--version'], project)).trim();
  const { ready_after_ms: readyAfter } = await runDev(node);
  return `${printed}: ready after ${readyAfter} ms, paid, confirmed, stopped; exports ${await importAll(node, names)}`;
}

/** Compiles a program that imports every module, with all checks on. */
async function compile(names: readonly string[]): Promise<string> {
  const lines = names.map((name, i) => `import type * as module${i} from '${name}';\nexport type { module${i} };`);
  await writeFile(join(project, 'uses.ts'), `${lines.join('\n')}\n`);
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const types = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--types', 'node'];
  const flags = ['--strict', '--noEmit', '--target', 'es2023', '--module', 'nodenext', '--skipLibCheck', 'false'];
  try {
    await run(process.execPath, [tsc, ...flags, ...types, 'uses.ts'], project);
    return `the types of ${names.length} modules compile, with skipLibCheck off`;
  } catch (error) {
    throw new Error(`the types do not compile:\n${(error as { readonly stdout?: string }).stdout}`);
  }
}

try {
  const { file, size, unpacked } = await pack();
  say(`packed: ${(size / 1e6).toFixed(2)} MB, ${(unpacked / 1e6).toFixed(2)} MB unpacked`);
  const started = Date.now();
  const names = await install(file);
  say(`installed in ${((Date.now() - started) / 1_000).toFixed(1)} s`);
  for (const version of asked.length > 0 ? asked : VERSIONS) say(await testOn(version, names));
  say(await compile(names));
} finally {
  await rm(folder, { recursive: true, force: true });
}
