/** Which node a command talks to, with which key, passphrase and certificates: the same for all (docs/cli.md#which-node). */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { lockFolder, noteApi } from '../../src/db/folder-lock.js';
import { NODE_CERT, NODE_TLS_KEY, OTHER_CERT } from '../support/certificates.js';
import { createContext } from '../support/cli-context.js';

const ADDRESS = 'ab'.repeat(32);
const KEY = 'k'.repeat(64);
const PASSPHRASE = 'the passphrase of the wallet';

interface Seen {
  readonly keys: unknown[];
  readonly passphrases: unknown[];
  readonly payees: unknown[];
  readonly url: string;
}

/** A node with a wallet, as far as a payment goes. */
async function walletNode(isTls = false): Promise<Seen> {
  const keys: unknown[] = [];
  const passphrases: unknown[] = [];
  const payees: unknown[] = [];
  const listener: Parameters<typeof createServer>[1] = async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') {
      const totals = { running_total_tokens: 5, available_total_tokens: 5, locked_total_tokens: 0 };
      response.end(JSON.stringify({ addresses: {}, ...totals, item_total: {} }));
      return;
    }
    keys.push(request.headers['x-api-key']);
    passphrases.push(JSON.parse(body).passphrase);
    payees.push(JSON.parse(body).address);
    response.writeHead(202).end(`{"to_address":"${ADDRESS}","amount":{"kind":"token","amount":1},"tx_hash":"g0"}`);
  };
  const server = isTls ? createTlsServer({ cert: NODE_CERT, key: NODE_TLS_KEY }, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { keys, passphrases, payees, url: `${isTls ? 'https' : 'http'}://127.0.0.1:${port}` };
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tessera-which-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** The configuration of a node: its port, the folder with its key, and the file with its passphrase, beside each other. */
async function configured(url: string, more = ''): Promise<{ readonly file: string; readonly data: string }> {
  const place = await folder();
  const data = join(place, 'data');
  await mkdir(data);
  await writeFile(join(data, 'api-key'), `${KEY}\n`);
  await writeFile(join(place, 'secret'), `${PASSPHRASE}\n`);
  const text = [
    '[node]\nrole = "user"\ndata_dir = "data"',
    `[api]\nport = ${new URL(url).port}\n${more}`,
    '[wallet]\npassphrase_file = "secret"',
  ].join('\n');
  const file = join(place, 'user.toml');
  await writeFile(file, text);
  return { file, data };
}

/** A process that is alive has the folder, as the note of a running node says. */
async function pretendRunning(data: string, url?: string): Promise<void> {
  onTestFinished(await lockFolder(data));
  if (url !== undefined) await noteApi(data, url);
}

const PAY = ['wallet', 'pay', ADDRESS, '1', '--yes'];
const CALL = ['call', 'createPayment', 'kind=address', `address=${ADDRESS}`, 'amount=1'];

async function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const context = createContext(env);
  const status = await runCli(argv, context);
  return { status, out: context.out(), err: context.err() };
}

describe.each([
  ['wallet pay', PAY],
  ['call createPayment', CALL],
])('%s', (_, command) => {
  it('finds node, key and passphrase by --config, and by TESSERA_CONFIG', async () => {
    const node = await walletNode();
    const { file } = await configured(node.url);
    expect(await run([...command, '--config', file])).toMatchObject({ status: 0, err: '' });
    expect(await run(command, { TESSERA_CONFIG: file })).toMatchObject({ status: 0, err: '' });
    expect(node).toMatchObject({ keys: [KEY, KEY], passphrases: [PASSPHRASE, PASSPHRASE] });
  });

  it('takes the key that the configuration gives the node, and of several one that may do everything', async () => {
    const node = await walletNode();
    const keys = `keys = [{ name = "shop", key = "${'s'.repeat(32)}", permissions = ["read"] }, { name = "all", key = "${'a'.repeat(32)}" }]`;
    const { file } = await configured(node.url, keys);
    expect((await run([...command, '--config', file])).status).toBe(0);
    expect(node.keys).toEqual(['a'.repeat(32)]);
  });

  it('finds the node that runs on the folder of --data, whatever port it was started with', async () => {
    const [configuredNode, node] = [await walletNode(), await walletNode()];
    const { file, data } = await configured(configuredNode.url);
    await pretendRunning(data, node.url);
    expect((await run([...command, '--config', file])).status).toBe(0);
    expect((await run([...command, '--data', data], { TESSERA_WALLET__PASSPHRASE: '' })).status).toBe(0);
    expect([configuredNode.keys, node.keys]).toEqual([[], [KEY, KEY]]);
  });

  it('pays from no other wallet when the node of the folder does not run', async () => {
    const other = await walletNode();
    const { file, data } = await configured(other.url);
    await writeFile(join(data, 'keystore.json'), '{}');
    // What was left behind by a process that is gone.
    await noteApi(data, other.url);
    const refused = await run([...command, '--config', file]);
    expect(refused.status).toBe(1);
    expect(refused.err).toContain(`node_unreachable: the node of the wallet in ${data} does not run`);
    expect((await run([...command, '--config', file, '--url', other.url])).status).toBe(0);
    expect(other.keys).toEqual([KEY]);
  });

  it('pays from no other wallet while the node of the folder starts', async () => {
    const other = await walletNode();
    const { file, data } = await configured(other.url);
    await writeFile(join(data, 'keystore.json'), '{}');
    // What was left behind by a process that is gone: here, as in a container, of the same id.
    await noteApi(data, other.url);
    const unlock = await lockFolder(data);
    onTestFinished(unlock);
    const refused = await run([...command, '--config', file]);
    expect(refused).toMatchObject({ status: 1, err: expect.stringContaining(`the wallet in ${data} is starting`) });
    // Nor is the note of another process believed.
    await writeFile(join(data, 'lock.url'), `${process.ppid} ${other.url}\n`);
    expect(await run([...command, '--config', file])).toEqual(refused);
    expect(other).toMatchObject({ keys: [], passphrases: [] });
    await noteApi(data, other.url);
    expect((await run([...command, '--config', file])).status).toBe(0);
  });

  it('goes to nobody who listens where a node did that was killed, when another process has its id by now', async () => {
    const other = await walletNode();
    const { file, data } = await configured(other.url);
    await writeFile(join(data, 'keystore.json'), '{}');
    const unlock = await lockFolder(data);
    const [pid, start] = (await readFile(join(data, 'lock.pid'), 'utf8')).trim().split(' ');
    await unlock();
    await noteApi(data, other.url);
    const texts = start === undefined ? [] : [`${pid} ${start}0\n`, `${pid}\n`];
    for (const text of texts) {
      await writeFile(join(data, 'lock.pid'), text);
      const { status, err } = await run([...command, '--config', file]);
      expect([status, err]).toEqual([1, expect.stringContaining('node_unreachable')]);
    }
    expect(other).toMatchObject({ keys: [], passphrases: [] });
  });

  it('gives the passphrase of the configuration to no other node', async () => {
    const [node, other] = [await walletNode(), await walletNode()];
    const { file } = await configured(node.url);
    const refused = await run([...command, '--config', file, '--url', other.url]);
    expect([refused.status, other.passphrases]).toEqual([2, []]);
    expect(refused.err).toContain('the passphrase is missing');
    expect(
      (await run([...command, '--config', file, '--url', node.url.replace('127.0.0.1', 'localhost')])).status,
    ).toBe(0);
    expect(node.passphrases).toEqual([PASSPHRASE]);
  });

  it('refuses a node without a wallet', async () => {
    const { status, err } = await run([...command, '--role', 'storage']);
    expect(status).toBe(2);
    expect(err).toMatch(/a storage node/);
  });

  it('trusts the authorities of --ca-file, or of TESSERA_CA_FILE, for https, and nothing else', async () => {
    const node = await walletNode(true);
    const place = await folder();
    const [right, wrong] = [join(place, 'right.pem'), join(place, 'wrong.pem')];
    await writeFile(right, NODE_CERT);
    await writeFile(wrong, OTHER_CERT);
    const pay = (args: readonly string[], env = {}) =>
      run([...command, '--url', node.url, ...args], { TESSERA_WALLET__PASSPHRASE: 'p', ...env });
    for (const refused of [await pay([]), await pay(['--ca-file', wrong]), await pay([], { TESSERA_CA_FILE: wrong })]) {
      expect(refused.status).toBe(1);
      expect(refused.err).toMatch(/^tessera: node_unreachable: https:.*its certificate is not trusted.*--ca-file\)\n$/);
    }
    expect(node.passphrases).toEqual([]);
    expect((await pay(['--ca-file', right])).status).toBe(0);
    expect((await pay([], { TESSERA_CA_FILE: right })).status).toBe(0);
    expect(node.passphrases).toEqual(['p', 'p']);
    expect((await pay(['--ca-file', join(place, 'none')])).err).toContain('none cannot be read');
  });

  it('knows the certificate of the configured node, whatever name is in it', async () => {
    const node = await walletNode(true);
    const tls = (file: string) => `tls = { cert_file = "${file}", key_file = "${file}" }`;
    const place = await folder();
    await writeFile(join(place, 'right.pem'), NODE_CERT);
    await writeFile(join(place, 'wrong.pem'), OTHER_CERT);
    const right = await configured(node.url, tls(join(place, 'right.pem')));
    const wrong = await configured(node.url, tls(join(place, 'wrong.pem')));
    expect((await run([...command, '--config', right.file])).status).toBe(0);
    expect((await run([...command, '--config', wrong.file])).status).toBe(1);
    expect(node.passphrases).toEqual([PASSPHRASE]);
  });
});

describe('wallet pay', () => {
  it('pays an account of the dev network by its number', async () => {
    const node = await walletNode();
    const env = { TESSERA_WALLET__PASSPHRASE: '' };
    expect((await run(['wallet', 'pay', 'dev:2', '1', '--yes', '--url', node.url], env)).status).toBe(0);
    expect(node.payees).toEqual([devAccounts().accounts[1]?.address]);
    expect((await run(['wallet', 'pay', 'dev:x', '1', '--yes', '--url', node.url], env)).status).toBe(2);
  });
});

describe('secrets', () => {
  it.each([
    ['createPayment', ['kind=address', `address=${ADDRESS}`, 'amount=1', 'passphrase=hunter2']],
    ['changePassphrase', ['old_passphrase=hunter2', 'new_passphrase=hunter3']],
    ['createPayment', [`body={"kind":"address","address":"${ADDRESS}","amount":1,"passphrase":"hunter2"}`]],
    ['importKeypairs', [`addresses={"${ADDRESS}":{"public_key":"aa","secret_key":"hunter2"}}`]],
  ])('are not taken from the command line: call %s %j', async (operation, pairs) => {
    const node = await walletNode();
    const { status, err } = await run(['call', operation, ...pairs, '--url', node.url]);
    expect([status, node.keys]).toEqual([2, []]);
    expect(err).toContain('is a secret, and others can read the command line');
    expect(err).not.toContain('hunter');
  });
});

describe('errors of watch and of call', () => {
  const refusing = async (status: number, code: string): Promise<string> => {
    const server = createServer((_, response) =>
      response
        .writeHead(status, { 'content-type': 'application/problem+json' })
        .end(JSON.stringify({ title: 'No', status, code, detail: 'Because.' })),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  it.each([
    [401, 'missing_api_key', /^tessera: missing_api_key: Because\. Name its file with --api-key-file or .*\n$/],
    [400, 'invalid_request', /^tessera: invalid_request: Because\.\n$/],
  ])('have one form: %i %s', async (status, code, form) => {
    const url = await refusing(status, code);
    const [watched, called] = [
      await run(['watch', '--url', url]),
      await run(['call', 'getWalletHistory', '--url', url]),
    ];
    expect(watched).toMatchObject({ status: 1, out: '', err: expect.stringMatching(form) });
    expect(called).toEqual(watched);
  });

  it('have one form where nobody answers, and watch tries again', async () => {
    const url = 'http://127.0.0.1:1';
    const context = createContext();
    const watching = runCli(['watch', '--url', url], context);
    await expect.poll(() => context.err(), { timeout: 60_000 }).toContain('\n');
    context.raise('SIGINT');
    expect(await watching).toBe(0);
    const [line] = context.err().split('\n');
    expect((await run(['call', 'getSupply', '--url', url])).err).toBe(`${line}\n`);
    expect(line).toMatch(/^tessera: node_unreachable: http:\/\/127\.0\.0\.1:1 does not answer: /);
  });
});
