/** `tessera call`: arguments by name, exact JSON out, the node's detail on failure. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { membersOf, type Operation } from '../../src/api/operation.js';
import { OPERATIONS as KNOWN } from '../../src/api/operations.js';
import { callCommand } from '../../src/cli/call.js';
import { runCli } from '../../src/cli/run.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { API_KEY, type AppSetup, openApp } from '../support/api/app.js';
import { ADDRESS, type Calls, ODD_AMOUNT, OTHER_ADDRESS, PASSPHRASE, TX_HASH } from '../support/api/fakes.js';
import { createContext, parseFor } from '../support/cli-context.js';

const OPERATIONS: readonly Operation[] = KNOWN;

interface Ran {
  readonly status: number;
  readonly stdout: string;
}

async function run(argv: readonly string[], files: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const context = createContext();
  const args = await parseFor('call', ...argv);
  const status = await callCommand(args, context, async (name) => files[name] ?? '');
  return { status, stdout: context.out() };
}

/** Flags for a node of that role, with its key. */
async function node(role: NodeRole, setup: AppSetup = {}): Promise<string[]> {
  const app = await openApp(role, setup);
  const folder = await mkdtemp(join(tmpdir(), 'tessera-call-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const keyFile = join(folder, 'api-key');
  await writeFile(keyFile, `${API_KEY}\n`);
  return ['--url', await app.listen({ host: '127.0.0.1', port: 0 }), '--api-key-file', keyFile];
}

describe('tessera call', () => {
  it('lists the operations when none is named', async () => {
    const { stdout } = await run([]);
    expect(stdout).toMatch(/^getSupply +Total and issued token supply \(mempool\)$/m);
    expect(stdout).toContain('envelopeCreateTransactions');
  });

  it('prints the answer with exact integers', async () => {
    const { status, stdout } = await run(['getSupply', ...(await node('mempool'))]);
    expect([status, stdout]).toEqual([0, `{\n  "total": 360360000000000000,\n  "issued": ${ODD_AMOUNT}\n}\n`]);
  });

  it('puts arguments where the operation wants them', async () => {
    const flags = await node('storage');
    expect((await run(['getBlock', 'num=7', ...flags])).stdout).toContain('"b_num": 7');
    expect((await run(['getBlocks', 'num=7', 'num=8', ...flags])).stdout).toContain('"block_num": 7');
    expect((await run(['queryBlockchainEntries', `keys=${TX_HASH}`, ...flags])).stdout).toContain(String(ODD_AMOUNT));
    expect((await run(['queryBlockchainEntries', `keys=["${TX_HASH}"]`, ...flags])).stdout).toContain(
      String(ODD_AMOUNT),
    );
  });

  it('reads values by their types', async () => {
    const calls: Calls = [];
    const flags = await node('user', { calls });
    const pairs = ['kind=address', `address=${ADDRESS}`, 'amount=1000', 'locktime=null', 'passphrase=@file'];
    await run(['createPayment', ...pairs, ...flags], { file: PASSPHRASE });
    expect(calls).toEqual([
      {
        name: 'payAddress',
        args: [
          {
            address: ADDRESS,
            amount: 1000n,
            locktime: 0n,
            passphrase: PASSPHRASE,
            idempotencyKey: expect.stringMatching(/^[0-9a-f-]{36}$/),
            caller: expect.anything(),
          },
        ],
      },
    ]);
    await run(['getWallet', 'spent=true', 'page=2', ...flags]);
    expect(calls.at(-1)).toEqual({ name: 'info', args: [{ page: 2, spent: true }] });
    await run(['refreshRunningTotal', `addresses=${ADDRESS}`, `addresses=${OTHER_ADDRESS}`, ...flags]);
    expect(calls.at(-1)).toEqual({ name: 'refresh', args: [{ addresses: [ADDRESS, OTHER_ADDRESS] }] });
  });

  it('takes an account of the dev network by its number', async () => {
    const calls: Calls = [];
    const flags = await node('user', { calls });
    await run(['refreshRunningTotal', 'addresses=dev:1', 'addresses=dev:miner', ...flags]);
    const { accounts, miner } = devAccounts();
    expect(calls.at(-1)).toEqual({ name: 'refresh', args: [{ addresses: [accounts[0]?.address, miner.address] }] });
    await expect(run(['refreshRunningTotal', 'addresses=dev:11', ...flags])).rejects.toThrow('accounts 1 to 10');
  });

  it('reads a passphrase from standard input', async () => {
    const calls: Calls = [];
    const flags = await node('user', { calls });
    const pairs = ['kind=address', `address=${ADDRESS}`, 'amount=1', 'passphrase=@-'];
    await run(['createPayment', ...pairs, ...flags], { '-': `${PASSPHRASE}\n` });
    expect(calls).toMatchObject([{ args: [{ passphrase: PASSPHRASE }] }]);
  });

  it('takes a whole body', async () => {
    const flags = await node('mempool');
    const { stdout } = await run(['envelopeFetchBalance', `body=["${ADDRESS}"]`, ...flags]);
    expect(stdout).toContain('"status": "Success"');
  });

  it('prints nothing where the answer has no body', async () => {
    const flags = await node('user');
    const pairs = ['old_passphrase=@old', 'new_passphrase=@new'];
    const files = { old: PASSPHRASE, new: 'other' };
    expect(await run(['changePassphrase', ...pairs, ...flags], files)).toEqual({ status: 0, stdout: '' });
  });

  it('prints bytes as hex, and with --json the answer as it is, on one line', async () => {
    const flags = await node('storage');
    const shown = JSON.parse((await run(['getBlock', 'num=7', ...flags])).stdout).data.block.header;
    const { stdout } = await run(['getBlock', 'num=7', '--json', ...flags]);
    const exact = JSON.parse(stdout).data.block.header;
    expect(stdout.indexOf('\n')).toBe(stdout.length - 1);
    const [nonce, hash] = exact.nonce_and_mining_tx_hash;
    expect(nonce).toBeInstanceOf(Array);
    expect(shown.nonce_and_mining_tx_hash).toEqual([Buffer.from(nonce).toString('hex'), hash]);
    expect(shown.seed_value).toBe(Buffer.from(exact.seed_value).toString('hex'));
    expect(shown.txs_merkle_root_and_hash).toEqual(exact.txs_merkle_root_and_hash);
  });

  it('lists the operations as JSON', async () => {
    const { stdout } = await run(['--json']);
    expect(JSON.parse(stdout)).toContainEqual({
      id: 'getSupply',
      summary: 'Total and issued token supply',
      roles: ['mempool'],
      method: 'GET',
      path: '/v1/supply',
    });
  });

  it('fails with the detail of the node', async () => {
    const flags = await node('storage');
    await expect(run(['getBlock', 'num=8', ...flags])).rejects.toThrow('No block has been stored at number 8.');
  });

  it.each(
    OPERATIONS.filter(({ id }) => id !== 'getDocs' && id !== 'streamEvents').map((operation) => [operation] as const),
  )('OPERATION --help lists the arguments, with those that are needed in its example: $id', async (operation) => {
    const context = createContext();
    expect(await runCli(['call', operation.id, '--help'], context)).toBe(0);
    const page = context.out();
    expect(page).toContain(`${operation.method} ${operation.path}`);
    // A key of the examples, or a longer value, has no place to be cut at.
    for (const line of page.split('\n')) if (!/\S{40}/.test(line)) expect(line.length).toBeLessThanOrEqual(80);
    const text = page.replace(/\s+/g, ' ');
    const [, example = ''] = /EXAMPLES (.*) EXIT STATUS/.exec(text) ?? [];
    const members = [operation.params, operation.query, operation.body?.schema];
    for (const { name, required } of members.flatMap((schema) => membersOf(schema))) {
      expect(text).toContain(` ${name}=`);
      expect(example.includes(` ${name}=`)).toBe(required);
    }
    const help = createContext();
    expect(await runCli(['help', 'call', operation.id], help)).toBe(0);
    expect(help.out()).toBe(page);
  });

  it.each([
    [['getSuply'], /did you mean getSupply/i],
    [['getBlock'], /needs num=/],
    [['getBlock', 'number=7'], /no argument number/],
    [['getBlock', '7'], /not key=value/],
    [['getBlock', 'num=x'], /not JSON/],
    [['getSupply', '--url', 'mempool'], /--url/],
    [['getSupply', '--role', 'king'], /--role/],
  ])('refuses %j', async (argv, message) => {
    await expect(run(argv)).rejects.toThrow(message);
  });
});
