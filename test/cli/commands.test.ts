import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { devBanner, exampleRequests } from '../../src/cli/banner.js';
import { runDev } from '../../src/cli/dev.js';
import { runNode } from '../../src/cli/start.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { devConfig } from '../../src/config/dev-config.js';
import type { Config } from '../../src/config/schema.js';
import { createDeferred } from '../../src/lib/deferred.js';
import type { DevNetworkOptions } from '../../src/node/dev-network.js';
import { createContext, noGroup, parseFor } from '../support/cli-context.js';

const urls = {
  mempool: 'http://127.0.0.1:3003',
  storage: 'http://127.0.0.1:3001',
  miner: 'http://127.0.0.1:3004',
  user: 'http://127.0.0.1:3000',
};
const never = new Promise<never>(() => undefined);

/** The words that other dev chains print. */
const WORDS = 'test test test test test test test test test test test junk';

function fakeNode() {
  const started = createDeferred<void>();
  const node = {
    start: async () => started.resolve(),
    stop: async () => undefined,
    failed: never,
    apiUrl: urls.user,
    peerAddress: '127.0.0.1:12360',
    urls,
    accounts: devAccounts(),
    mnemonic: null,
    isUnsaved: false,
    control: { takeSnapshot: () => never, revert: () => never },
  };
  return { node, started: started.promise };
}

describe('start', () => {
  it('makes a node from the flags and runs it until a signal', async () => {
    const context = createContext();
    const { node, started } = fakeNode();
    let config: Config | undefined;
    const createNode = async (given: Config) => {
      config = given;
      return node;
    };
    const args = await parseFor('start', '-r', 'user', '-d', '/data', '-p', '4000', '-l', 'silent');
    const status = runNode(args, context, async () => ({ createNode, ...noGroup }));
    await started;
    context.raise('SIGTERM');
    expect(await status).toBe(0);
    expect(config).toMatchObject({ node: { role: 'user', dataDir: '/data' }, api: { port: 4000 } });
    expect(context.listeners()).toBe(0);
  });

  it('reads the configuration again at SIGHUP and hands it to the node', async () => {
    const context = createContext();
    const { node, started } = fakeNode();
    const reloaded: Config[] = [];
    const createNode = async () => ({ ...node, reload: async (config: Config) => void reloaded.push(config) });
    const status = runNode(await parseFor('start', '-r', 'user', '-l', 'silent'), context, async () => ({
      createNode,
      ...noGroup,
    }));
    await started;
    context.raise('SIGHUP');
    context.raise('SIGINT');
    expect(await status).toBe(0);
    expect(reloaded.map((config) => config.node.role)).toEqual(['user']);
  });

  it('keeps a SIGHUP that comes while the program is being loaded', async () => {
    const context = createContext();
    const { node, started } = fakeNode();
    let reloads = 0;
    const createNode = async () => ({ ...node, reload: async () => void reloads++ });
    const status = runNode(await parseFor('start', '-r', 'user', '-l', 'silent'), context, async () => {
      // Without a listener it would have ended the process.
      expect(context.listeners()).toBeGreaterThan(0);
      context.raise('SIGHUP');
      return { createNode, ...noGroup };
    });
    await started;
    context.raise('SIGINT');
    expect(await status).toBe(0);
    expect(reloads).toBe(1);
    expect(context.listeners()).toBe(0);
  });

  it('says why a node cannot be made', async () => {
    const context = createContext();
    const args = await parseFor('start', '-r', 'user', '-l', 'silent');
    const createNode = () => Promise.reject(new Error('no wallet'));
    expect(await runNode(args, context, async () => ({ createNode, ...noGroup }))).toBe(1);
    expect(context.err()).toContain('no wallet');
  });
});

describe('dev', () => {
  async function runNetwork(...flags: string[]) {
    const context = createContext();
    const { node, started } = fakeNode();
    const requests: DevNetworkOptions[] = [];
    const createDevNetwork = (request: DevNetworkOptions) => {
      requests.push(request);
      return node;
    };
    const status = runDev(await parseFor('dev', ...flags), context, async () => ({ createDevNetwork }));
    await started;
    const [request] = requests;
    const own = request?.dataDir.startsWith(tmpdir()) === true;
    // As the nodes do when they start.
    if (own) mkdirSync(request.dataDir);
    context.raise('SIGINT');
    const code = await status;
    return { status: code, request, own, out: context.out() };
  }

  it('keeps the chain in a folder of its own that is removed at the end', async () => {
    const { status, request, own } = await runNetwork();
    expect(status).toBe(0);
    expect(own).toBe(true);
    expect(existsSync(request?.dataDir ?? '')).toBe(false);
  });

  it('impersonates, and lets the clock stand, where that is asked for', async () => {
    expect((await runNetwork()).request).toMatchObject({ impersonates: false });
    expect((await runNetwork()).request).not.toHaveProperty('clockAt');
    const { request } = await runNetwork('--impersonate', '--clock', '1800000000');
    expect(request).toMatchObject({ impersonates: true, clockAt: 1_800_000_000 });
  });

  it('keeps that folder and names it when the chain could not be saved in its file', async () => {
    const context = createContext();
    const { node, started } = fakeNode();
    let folder = '';
    const createDevNetwork = ({ dataDir }: DevNetworkOptions) => {
      folder = dataDir;
      mkdirSync(folder);
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const stop = () => Promise.reject(new Error('the disk is full'));
      return { ...node, stop, isUnsaved: true };
    };
    const args = await parseFor('dev', '--state', 'chain.state', '--log-level', 'silent');
    const status = runDev(args, context, async () => ({ createDevNetwork }));
    await started;
    context.raise('SIGINT');
    expect(await status).toBe(1);
    expect(existsSync(folder)).toBe(true);
    expect(context.err()).toContain(`is not saved in ${resolve('chain.state')}`);
    expect(context.err()).toContain(`tessera dev --data ${folder}`);
  });

  it('passes interval, folder, ports and options on', async () => {
    const { request } = await runNetwork('-i', '250', '-d', '/chain', '--port-offset', '100', '-s', 'mining.threads=2');
    expect(request).toMatchObject({
      intervalMs: 250,
      dataDir: '/chain',
      ports: 100,
      flags: [{ option: 'mining.threads', value: '2' }],
    });
  });

  it('opens the network to other web pages where it is told to (decision V25)', async () => {
    const { request } = await runNetwork('--cors', 'https://wallet.example,https://shop.example');
    expect(devConfig('user', { dataDir: '/chain', flags: request?.flags ?? [] }).api.cors).toEqual([
      'https://wallet.example',
      'https://shop.example',
    ]);
  });

  it('passes the accounts and the time between blocks on', async () => {
    const { request } = await runNetwork('-b', '2.5', '-a', '3', '--balance', '1.5', '-m', ` ${WORDS.toUpperCase()}`);
    expect(request).toMatchObject({
      intervalMs: 2_500,
      accounts: { count: 3, balance: 108_108_000n, mnemonic: WORDS },
    });
    const { request: instant } = await runNetwork('--block-time', '0');
    expect(instant?.intervalMs).toBeUndefined();
  });

  it('says nothing with --quiet, and one line of JSON with --json', async () => {
    expect((await runNetwork('--quiet')).out).toBe('');
    const { out } = await runNetwork('--quiet', '--json');
    expect(out.trimEnd()).not.toContain('\n');
    expect(JSON.parse(out)).toMatchObject({ urls, mnemonic: null });
  });

  it.each([
    [['-a', '1001'], '--accounts must be a whole number from 0 to 1000'],
    [['--balance', '0'], 'AMOUNT must be from 1'],
    [['--balance', '480000001'], '10 accounts with 34594560072072000 raw units are more than can be issued'],
    [['-m', 'test test'], '12 or 24 words, not 2'],
    [['-m', `${WORDS} `.replace('junk', 'test')], 'not a mnemonic'],
    [['-b', '-1'], '--block-time must be seconds'],
    [['-b', '1', '-i', '1000'], 'give one of them'],
    [['--data', 'a', '--state', 'b'], 'give one'],
  ])('refuses %j', async (flags, message) => {
    const load = () => Promise.reject(new Error('must not be called'));
    await expect(runDev(await parseFor('dev', ...flags), createContext(), load)).rejects.toThrow(message);
  });

  it('moves the address of the whole network, or leaves it out', async () => {
    expect((await runNetwork('--port', '0')).request?.port).toBe(0);
    expect((await runNetwork('-p', 'off')).request?.port).toBe('off');
    expect((await runNetwork()).request?.port).toBeUndefined();
    const wrong = runDev(await parseFor('dev', '--port', '65536'), createContext(), () =>
      Promise.reject(new Error('called')),
    );
    await expect(wrong).rejects.toThrow('--port');
  });

  it('refuses a wrong option before anything is made', async () => {
    const context = createContext();
    const load = () => Promise.reject(new Error('must not be called'));
    await expect(runDev(await parseFor('dev', '-s', 'mining.treads=2'), context, load)).rejects.toMatchObject({
      code: 'invalid_config',
    });
  });
});

describe('the banner of the dev network (decision V25)', () => {
  const facts = {
    urls,
    accounts: devAccounts(),
    mnemonic: null,
    dataDir: null,
    intervalMs: undefined,
    readyAfterMs: 900,
  };

  it('names every URL, address and key', () => {
    const banner = devBanner(facts);
    const { accounts, user, miner } = facts.accounts;
    for (const url of Object.values(urls)) expect(banner).toContain(url);
    for (const owner of [...accounts, user, miner]) expect(banner).toContain(owner.address);
    expect(banner).toContain('NOT FOR PRODUCTION');
  });

  it('names the words of the accounts and what each has', () => {
    const accounts = devAccounts({ mnemonic: WORDS, count: 2, balance: 108_108_000n });
    const banner = devBanner({ ...facts, accounts, mnemonic: WORDS });
    expect(banner).toContain('Accounts, each with 1.5 display units in block 0');
    expect(banner).toContain(WORDS);
    expect(banner).not.toContain('dev:1 ');
  });

  it('ends in three requests that a shell takes as they are', () => {
    const [balance, payment, latest] = exampleRequests(facts);
    const address = facts.accounts.accounts[0]?.address;
    expect(balance).toBe(`curl -s '${urls.mempool}/v1/balances?address=${address}'`);
    expect(latest).toBe(`curl -s ${urls.storage}/v1/blocks/latest`);
    const body = / -d '([^']+)'$/.exec(payment ?? '')?.[1] ?? '';
    expect(JSON.parse(body)).toEqual({ kind: 'address', address, amount: 72_072_000, passphrase: '' });
  });

  it('tells the address of the whole network first, and asks there', () => {
    const url = 'http://127.0.0.1:8080';
    const banner = devBanner({ ...facts, url });
    expect(banner.indexOf(url)).toBeLessThan(banner.indexOf(urls.mempool));
    for (const request of exampleRequests({ ...facts, url })) expect(request).toContain(url);
  });
});
