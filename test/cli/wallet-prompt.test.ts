/** Questions at a terminal, with a terminal that is none: what is shown, what is not, and how each ends. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DISPLAY_UNIT } from '../../src/chain/constants.js';
import { whileWaiting } from '../../src/cli/output.js';
import { runCli } from '../../src/cli/run.js';
import { runNode } from '../../src/cli/start.js';
import { parseAmount, showDisplay } from '../../src/cli/wallet/amounts.js';
import { askSecret, confirm } from '../../src/cli/wallet/prompt.js';
import { askNewPassphrase } from '../../src/cli/wallet/secrets.js';
import type { Config } from '../../src/config/schema.js';
import { createDeferred } from '../../src/lib/deferred.js';
import { createContext, noGroup, parseFor } from '../support/cli-context.js';
import { ManualClock } from '../support/manual-clock.js';
import { fc, test } from '../support/property.js';

const ADDRESS = 'ab'.repeat(32);

/** A context whose input is a terminal; `modes` notes when its echo is switched off and on. */
function terminal(...typed: string[]) {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (raw: boolean) => void modes.push(raw) });
  for (const keys of typed) stdin.write(keys);
  const context = { ...createContext(), stdin };
  return { context, modes, type: (keys: string) => stdin.write(keys) };
}

describe('a secret', () => {
  it('is read with the echo off, and never shown', async () => {
    const { context, modes } = terminal('pass phräse\r');
    expect(await askSecret('Passphrase: ', context)).toBe('pass phräse');
    expect(modes).toEqual([true, false]);
    expect(context.out() + context.err()).toBe('Passphrase: \n');
  });

  it('is asked for when the echo is off already', async () => {
    const { context, modes } = terminal('x\r');
    const seen: unknown[] = [];
    const stderr = { write: (text: string) => seen.push([text, modes.at(-1)]) };
    await askSecret('Passphrase: ', { ...context, stderr });
    expect(seen[0]).toEqual(['Passphrase: ', true]);
  });

  it('is edited with backspace and Ctrl-U; arrows are no part of it', async () => {
    const { context, type } = terminal('wrong\u0015abx\u007fc');
    const answer = askSecret('', context);
    await new Promise(setImmediate);
    type('\u001b[A');
    await new Promise(setImmediate);
    type('d\n');
    expect(await answer).toBe('abcd');
  });

  it('comes in pieces, also within one character', async () => {
    const { context } = terminal();
    const bytes = Buffer.from('é\r');
    const answer = askSecret('', context);
    for (const byte of bytes) context.stdin.write(Buffer.of(byte));
    expect(await answer).toBe('é');
  });

  it('leaves what was pasted behind it to the next question', async () => {
    const { context } = terminal('one\r\ntwo\n');
    expect([await askSecret('', context), await askSecret('', context)]).toEqual(['one', 'two']);
  });

  it('ends with status 130 at Ctrl-C and with status 2 at the end of the input; the echo is on again', async () => {
    const { context, modes } = terminal('abc\u0003');
    await expect(askSecret('', context)).rejects.toMatchObject({ status: 130 });
    expect(modes.at(-1)).toBe(false);
    const other = terminal('\u0004');
    await expect(askSecret('', other.context)).rejects.toThrow('the input ended');
    const closed = terminal();
    closed.context.stdin.end();
    await expect(askSecret('', closed.context)).rejects.toThrow('the input ended');
    expect(closed.modes).toEqual([true, false]);
  });

  it('that is new is typed twice, and is not blank', async () => {
    const { context } = terminal(' \r', 'first\rsecond\r', 'right\rright\r');
    expect(await askNewPassphrase('New: ', context)).toBe('right');
    const stubborn = terminal('a\rb\ra\rb\ra\rb\r');
    await expect(askNewPassphrase('New: ', stubborn.context)).rejects.toThrow('no passphrase was chosen');
  });
});

describe('a question', () => {
  it('is answered with y or yes and nothing else', async () => {
    for (const yes of ['y\n', 'YES\n', ' yes \n']) await confirm('Go on?', terminal(yes).context);
    for (const no of ['\n', 'n\n', 'yess\n', 'no\n']) {
      await expect(confirm('Go on?', terminal(no).context)).rejects.toMatchObject({ status: 4 });
    }
  });

  it('is not asked where there is no terminal', async () => {
    await expect(confirm('Go on?', createContext())).rejects.toThrow('add --yes');
  });
});

/** A node that notes what it is asked. `lose` breaks the connection of payments instead of answering. */
async function fakeNode(lose = false) {
  const payments: unknown[] = [];
  const keys: unknown[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET') {
      const [available, locked] = [{ available_total: 2, available_total_tokens: 144144000 }, { locked_total: 0 }];
      const totals = {
        ...available,
        ...locked,
        locked_total_tokens: 0,
        running_total: 2,
        running_total_tokens: 144144000,
      };
      response.end(JSON.stringify({ addresses: {}, ...totals, item_total: {} }));
      return;
    }
    payments.push(JSON.parse(body));
    keys.push(request.headers['x-api-key']);
    if (lose) request.socket.destroy();
    else response.writeHead(202).end(`{"to_address":"${ADDRESS}","amount":{"kind":"token","amount":1},"tx_hash":"g0"}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, payments, keys };
}

describe('a payment at a terminal', () => {
  it('shows amount, receiver and funds, asks, then takes the passphrase without showing it', async () => {
    const node = await fakeNode();
    const { context } = terminal('yes\nsecret words\r');
    const status = await runCli(['wallet', 'pay', ADDRESS, '1.5', '--url', node.url], context);
    expect(status).toBe(0);
    expect(context.err()).toContain('payment    1.5 (108108000 raw units)');
    expect(context.err()).toContain('available  2 (144144000 raw units)');
    expect(context.err()).toContain(`to ${ADDRESS}`);
    expect(context.out() + context.err()).not.toContain('secret');
    expect(node.payments).toEqual([
      { kind: 'address', address: ADDRESS, amount: 108_108_000, locktime: null, passphrase: 'secret words' },
    ]);
  });

  it('takes a request with its amount and text, and no amount beside it', async () => {
    const node = await fakeNode();
    const request = `tessera:${ADDRESS}?amount=5&label=Rent%0A%26%20water`;
    const { context } = terminal('yes\nsecret words\r');
    expect(await runCli(['wallet', 'pay', request, '--url', node.url], context)).toBe(0);
    expect(context.err()).toContain('for        Rent\\u{a}& water');
    expect(node.payments).toEqual([
      { kind: 'address', address: ADDRESS, amount: 5, locktime: null, passphrase: 'secret words' },
    ]);
    for (const wrong of [[request, '5'], [request, '--item', 'g1'], [`tessera:${ADDRESS}`], ['tessera:x?amount=5']]) {
      expect(await runCli(['wallet', 'pay', ...wrong, '--yes', '--url', node.url], terminal('').context)).toBe(2);
    }
    expect(node.payments).toHaveLength(1);
  });

  it('is not made when the answer is no', async () => {
    const node = await fakeNode();
    const { context } = terminal('no\n');
    expect(await runCli(['wallet', 'pay', ADDRESS, '1', '--url', node.url], context)).toBe(4);
    expect(node.payments).toEqual([]);
  });

  it('that gets no answer is not tried again at a node without keys: status 3, and what to do', async () => {
    const node = await fakeNode(true);
    const { context } = terminal('\r');
    expect(await runCli(['wallet', 'pay', ADDRESS, '1', '-y', '--url', node.url], context)).toBe(3);
    expect(context.err()).toMatch(/the result is not known: repeat the command with --idempotency-key [0-9a-f-]{36}/);
    expect(node.payments).toHaveLength(1);
  });

  it('sends the key of a node on this machine to no other node', async () => {
    const data = await mkdtemp(join(tmpdir(), 'tessera-key-'));
    onTestFinished(() => rm(data, { recursive: true, force: true }));
    await writeFile(join(data, 'api-key'), `${'k'.repeat(64)}\n`);
    const node = await fakeNode();
    const pay = async (url: string): Promise<string> => {
      const { context } = terminal('\r');
      expect(await runCli(['wallet', 'pay', ADDRESS, '1', '-y', '--data', data, '--url', url], context)).toBe(0);
      return context.err();
    };
    await pay(node.url);
    // This name of the machine is none that nobody else can have.
    const elsewhere = node.url.replace('127.0.0.1', '0.0.0.0');
    expect(await pay(elsewhere)).toContain(`warning: ${elsewhere} is neither on this machine nor https`);
    expect(node.keys).toEqual(['k'.repeat(64), undefined]);
  });
});

describe('amounts', () => {
  test.prop([fc.bigInt({ min: 1n, max: 2n ** 62n })])('in raw units are taken as they are', (raw) => {
    expect(parseAmount(String(raw), true)).toBe(raw);
  });

  test.prop([fc.bigInt({ min: 1n, max: 10n ** 9n }), fc.bigInt({ min: 0n, max: 999n })])(
    'in display units are exact: a thousandth is a whole number of raw units',
    (whole, thousandths) => {
      const text = `${whole}.${String(thousandths).padStart(3, '0')}`;
      const raw = parseAmount(text, false);
      expect(raw).toBe((whole * 1000n + thousandths) * (DISPLAY_UNIT / 1000n));
      expect(parseAmount(showDisplay(raw), false)).toBe(raw);
    },
  );

  it('are refused rather than rounded', () => {
    expect(() => parseAmount('0.00000001', false)).toThrow('with --raw, the nearest are 0 and 1');
    for (const text of ['', '0', '-1', '1e3', '0x10', '1,5', '1.', '.5', 'NaN', '99999999999999']) {
      expect(() => parseAmount(text, false), text).toThrow('AMOUNT');
    }
    expect(() => parseAmount('1.5', true)).toThrow('whole number of raw units');
    expect(() => parseAmount(String(2n ** 63n), true)).toThrow('AMOUNT must be from 1');
  });
});

describe('what takes longer than a second', () => {
  it('says so, and nothing before', async () => {
    const clock = new ManualClock();
    const context = createContext();
    const work = createDeferred<number>();
    const result = whileWaiting('paying', work.promise, context, { clock });
    clock.advance(999);
    expect(context.err()).toBe('');
    clock.advance(1);
    expect(context.err()).toBe('paying: 1 s\n');
    clock.advance(5_000);
    expect(context.err()).toBe('paying: 1 s\npaying: 6 s\n');
    work.resolve(7);
    expect(await result).toBe(7);
    expect(clock.waiting).toBe(0);
  });
});

describe('the start of a node at a terminal', () => {
  /** The passphrase that the node is made with. */
  async function started(keys: readonly string[], ...flags: string[]) {
    const { context } = terminal(...keys);
    let config: Config | undefined;
    const load = async () => ({
      ...noGroup,
      createNode: async (given: Config) => {
        config = given;
        throw new Error('enough');
      },
    });
    const args = await parseFor('start', '-l', 'silent', '-c', 'config/dev.toml', ...flags);
    await runNode(args, context, load);
    return { passphrase: config?.wallet.passphrase, context };
  }

  it('asks twice for the passphrase of a new wallet', async () => {
    const { passphrase, context } = await started(['typed\rtyped\r'], '-r', 'user', '-d', '/no/such/folder');
    expect(passphrase).toBe('typed');
    expect(context.out() + context.err()).not.toContain('typed');
  });

  it('asks nothing of nodes without a wallet, and for none of a development network', async () => {
    const dev = await started([], '-r', 'user', '-s', 'wallet.genesis_seed_index=0');
    const storage = await started([], '-r', 'storage');
    expect([dev.context.err(), storage.context.err()]).toEqual([
      'tessera: internal_error: enough\n',
      'tessera: internal_error: enough\n',
    ]);
  });
});
