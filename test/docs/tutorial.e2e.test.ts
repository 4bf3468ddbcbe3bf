/**
 * docs/tutorial.md, as it stands there: its commands are run by a shell and its programs are saved and run, in order, against a
 * network on free ports, and its explorer is looked at in a browser. Only three things are put in their place: the port, the
 * package, which is that of this checkout (`test/deploy/package.e2e.test.ts` packs and installs it), and `npx`, which adds the
 * flags for free ports.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../support/processes.js';
import { findTool } from '../support/tools.js';

const execute = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = join(ROOT, 'dist/main.js');
const text = await readFile(new URL('../../docs/tutorial.md', import.meta.url), 'utf8');
/** Name → what a block is: a command (`run=NAME`) or a file (`file=NAME`). */
const blocks = new Map(
  [...text.matchAll(/^```\w+ (?:run|file)=(\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', content = '']) => [
    name,
    content,
  ]),
);
const ran = new Set<string>();
const CHROMIUM = findTool('chromium');
/** Milliseconds; a bound for a page that never shows it. */
const PATIENCE = 90_000;
const HASH = 'g[0-9a-f]{31}';

let root: string;
let shop: string;
let url = '';
let chain: ChildProcess | undefined;
let browser: Browser | undefined;
let tab: Page | undefined;
/** What the page did that it must not. */
const faults: string[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'tessera-tutorial-'));
  shop = join(root, 'shop');
  await mkdir(join(root, 'bin'));
  await script('npm', NPM);
  await script('npx', NPX);
  if (CHROMIUM === undefined) return;
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  tab = await browser.newPage();
  tab.setDefaultTimeout(PATIENCE);
  tab.on('pageerror', ({ message }) => faults.push(message));
  tab.on('request', (request) => {
    if (!request.url().startsWith(`${url}/`)) faults.push(request.url());
  });
});

afterAll(async () => {
  chain?.kill('SIGKILL');
  await browser?.close();
  await rm(root, { recursive: true, force: true });
});

/** The checkout is there and built; `npm pack` and `npm install` put a link to this checkout where the package would be. */
const NPM = `
case "$1 $2" in
  'ci --prefix') ;;
  'pack ./tessera') version=$('${process.execPath}' -p 'require("${ROOT}package.json").version'); : > "tessera-node-$version.tgz" ;;
  'install '*) [ -f "$2" ] && mkdir -p node_modules && ln -s '${ROOT}' node_modules/tessera-node ;;
  *) echo "not in the tutorial: npm $*" >&2; exit 1 ;;
esac`;

const NPX = `
[ "$1" = tessera-node ] && [ -d node_modules/tessera-node ] || exit 1
shift
[ "$1" = dev ] && set -- "$@" --port 0 --set api.port=0 --set peers.port=0
exec '${process.execPath}' '${MAIN}' "$@"`;

async function script(name: string, text: string): Promise<void> {
  const file = join(root, 'bin', name);
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
}

/** The text of a block, with the port of this network. */
function block(name: string): string {
  const text = blocks.get(name);
  if (text === undefined) throw new Error(`docs/tutorial.md has no block ${name}`);
  ran.add(name);
  return text.replaceAll('http://127.0.0.1:8080', url);
}

const env = () => ({ PATH: `${join(root, 'bin')}:${process.env.PATH ?? ''}`, HOME: root, TMPDIR: root });

/** Runs a block of commands; what they wrote to standard output. */
async function run(name: string, cwd = shop): Promise<string> {
  return (await execute('bash', ['-euo', 'pipefail', '-c', block(name)], { cwd, env: env() })).stdout;
}

async function save(name: string): Promise<void> {
  await writeFile(join(shop, name), block(name));
}

/** The tab with the explorer. */
function explorer(): Page {
  if (tab === undefined) throw new Error('there is no browser');
  return tab;
}

/** Waits until the page links to it. */
async function sees(path: string): Promise<void> {
  await explorer().locator(`a[href="${path}"]`).first().waitFor();
}

describe('docs/tutorial.md, run as it stands', () => {
  let payment = '';
  let item = '';
  let halves: readonly string[] = [];

  it('1. a chain', async () => {
    await run('install', root);
    chain = spawn('bash', ['-c', `exec ${block('chain')}`], {
      cwd: shop,
      env: env(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let banner = '';
    // To its end: a program whose reader is gone stops.
    chain.stdout?.on('data', (chunk) => {
      banner += String(chunk);
    });
    await expect.poll(() => banner).toContain('Ctrl-C stops.');
    url = /Open (http:\S+)/.exec(banner)?.[1] ?? '';
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  it.runIf(CHROMIUM !== undefined)('2. a page', async () => {
    await explorer().goto(url);
    await sees('/blocks/0');
  });

  it('2. the same from a terminal', async () => {
    expect(await run('balance')).toContain('100000000');
  });

  it('3. a payment from code', async () => {
    await save('pay.mjs');
    [, payment = ''] = new RegExp(`^paid: (${HASH})\n$`).exec(await run('pay')) ?? [];
    expect(await call(`${url}/v1/chain/transactions/${payment}`)).toMatchObject({ tx_hash: payment });
  });

  it.runIf(CHROMIUM !== undefined)('3. the page shows it by itself', () => sees(`/transactions/${payment}`));

  it('4. a trade', async () => {
    await save('trade.mjs');
    const printed = new RegExp(`^item: (${HASH})\ntrade: (${HASH}) for (${HASH})\n$`).exec(await run('trade')) ?? [];
    [, item = '', ...halves] = printed;
    expect(halves).toHaveLength(2);
    const { holders } = (await call(`${url}/v1/chain/items/${item}/holders`)) as { holders: { amount: number }[] };
    expect(holders.map(({ amount }) => Number(amount))).toEqual([7, 3]);
  });

  it.runIf(CHROMIUM !== undefined)(
    '5. what it looks like: the item, its transfers, and the halves of the trade',
    async () => {
      const page = explorer();
      await page.getByRole('searchbox').fill(item);
      await page.getByRole('searchbox').press('Enter');
      await sees(`/transactions/${item}`);
      await page.locator(`main a[href="/items/${item}"]`).first().click();
      await page.getByText('a ticket for the ferry').first().waitFor();
      await page.locator('a[href*="show=transfers"]').first().click();
      await sees(`/transactions/${halves[1]}`);
      for (const half of halves) {
        await page.goto(`${url}/transactions/${half}`);
        await sees(`/transactions/${halves.find((other) => other !== half)}`);
      }
      expect(faults).toEqual([]);
    },
  );

  it('5. the same for programs', async () => {
    expect(JSON.parse(await run('call'))).toMatchObject({ issued: expect.any(Number) });
  });

  it('nothing of it was left out, and Ctrl-C ends it', async () => {
    expect([...blocks.keys()].filter((name) => !ran.has(name))).toEqual([]);
    if (chain === undefined) throw new Error('the chain is not there');
    const closed = once(chain, 'close');
    chain.kill('SIGINT');
    expect((await closed)[0]).toBe(0);
  });
});
