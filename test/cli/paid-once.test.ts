/** Commands whose answer is lost: `wallet pay` and `call` repeat them, and there is one payment (docs/wallet.md#paid-exactly-once). */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { API_KEY, buildApp } from '../support/api/app.js';
import { type Calls, PASSPHRASE as FAKE_PASSPHRASE } from '../support/api/fakes.js';
import { createContext } from '../support/cli-context.js';
import { type Fate, type LossyProxy, startLossyProxy } from '../support/lossy-proxy.js';
import { createTestNet, richUser, type TestUser, until } from '../support/user.js';
import { NOBODY, PASSPHRASE, removeFolders } from '../support/wallet-fixtures.js';

afterAll(removeFolders);

interface Setup {
  readonly node: TestUser;
  readonly proxy: LossyProxy;
  readonly passphraseFile: string;
  run(...argv: string[]): Promise<{ readonly status: number; readonly out: string; readonly err: string }>;
  hashes(): Promise<readonly string[]>;
}

/** A funded user node with an API, behind a proxy that loses its first answers in these ways. */
async function lossy(fates: readonly Fate[], options: { readonly funds?: bigint } = {}): Promise<Setup> {
  const net = await createTestNet();
  const node = await richUser(net, [options.funds ?? 1_000n]);
  const app = await buildApp('user', { modules: { wallet: node.wallet, user: node.user } });
  const proxy = await startLossyProxy(await app.listen({ host: '127.0.0.1', port: 0 }), {
    fate: (nth) => fates[nth] ?? 'pass',
  });
  const folder = await mkdtemp(join(tmpdir(), 'tessera-once-'));
  await writeFile(join(folder, 'passphrase'), PASSPHRASE);
  await writeFile(join(folder, 'key'), API_KEY);
  onTestFinished(async () => {
    await proxy.stop();
    await app.close();
    await net.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    node,
    proxy,
    passphraseFile: join(folder, 'passphrase'),
    async run(...argv) {
      const context = createContext();
      const flags = ['--url', proxy.url, '--api-key-file', join(folder, 'key')];
      const secret = argv[1] === 'pay' ? ['--passphrase-file', join(folder, 'passphrase')] : [];
      const status = await runCli([...argv, ...flags, ...secret], context);
      return { status, out: context.out(), err: context.err() };
    },
    hashes: async () => (await node.wallet.outgoing.latest()).map(({ hash }) => hash),
  };
}

const PAY = ['wallet', 'pay', NOBODY, '10', '--raw', '--yes'] as const;

describe('an answer that is lost', () => {
  it.each<readonly Fate[]>([
    ['lose answer'],
    ['lose request'],
    ['bad gateway'],
    ['lose answer', 'lose request', 'lose answer', 'bad gateway'],
  ])('(%s, …) is asked for again by wallet pay, and there is one payment', async (...fates) => {
    const { run, hashes, proxy } = await lossy(fates);
    const { status, out, err } = await run(...PAY);
    const [hash, ...others] = await hashes();
    expect([status, out, others]).toEqual([0, `${hash}\n`, []]);
    expect(err).toContain(`--idempotency-key ${proxy.keys[0]}`);
    expect(proxy.keys).toHaveLength(fates.length + 1);
    expect(new Set(proxy.keys).size).toBe(1);
  });

  it('is asked for again by call', async () => {
    const { run, hashes, passphraseFile } = await lossy(['lose answer', 'lose answer']);
    const pairs = ['kind=address', `address=${NOBODY}`, 'amount=10', `passphrase=@${passphraseFile}`];
    const { status, out } = await run('call', 'createPayment', ...pairs);
    expect([status, JSON.parse(out).tx_hash]).toEqual([0, (await hashes())[0]]);
    const item = await run('call', 'createItem', 'genesis_hash_spec=Default', 'item_amount=3', '--role', 'user');
    expect([item.status, JSON.parse(item.out)]).toEqual([0, { item_amount: 3 }]);
    expect(await hashes()).toHaveLength(2);
  });

  it('and a refusal after it say that nothing was paid: status 1', async () => {
    const { run, hashes } = await lossy(['lose request'], { funds: 5n });
    const { status, err } = await run(...PAY);
    expect(status).toBe(1);
    expect(err).toContain('insufficient_funds');
    expect(await hashes()).toEqual([]);
  });
});

describe('a key that the caller gives', () => {
  it('makes one payment of two runs', async () => {
    const { run, hashes } = await lossy([]);
    const first = await run(...PAY, '--idempotency-key', 'invoice 7');
    const second = await run(...PAY, '--idempotency-key', 'invoice 7');
    expect([second.status, second.out]).toEqual([0, first.out]);
    const other = await run('wallet', 'pay', NOBODY, '11', '--raw', '--yes', '--idempotency-key', 'invoice 7');
    expect([other.status, other.err]).toEqual([1, expect.stringContaining('idempotency_key_reused')]);
    expect(await hashes()).toHaveLength(1);
  });

  it('is refused for what takes none', async () => {
    const { run } = await lossy([]);
    expect((await run('call', 'getWallet', '--idempotency-key', 'a')).status).toBe(2);
  });
});

it('abandons a payment that was never admitted, and no other', async () => {
  const { node, run } = await lossy([]);
  await node.network.stop();
  await until(() => !node.user.inStep);
  const { txHash } = await node.user.payAddress({ address: NOBODY, amount: 1n, locktime: 0n, passphrase: PASSPHRASE });
  expect(await run('wallet', 'abandon', txHash)).toMatchObject({ err: expect.stringContaining('add --yes') });
  const abandoned = await run('wallet', 'abandon', txHash, '--yes');
  expect([abandoned.status, abandoned.out]).toEqual([0, `${txHash} abandoned\n`]);
  expect(node.wallet.coins.totals().available).toBe(1_000n);
  const again = await run('wallet', 'abandon', txHash, '--yes');
  expect([again.status, again.err]).toEqual([1, expect.stringContaining('payment_not_found')]);
});

it('is not sent to a mempool node with an item: that would refuse it', async () => {
  const calls: Calls = [];
  const app = await buildApp('mempool', { calls });
  onTestFinished(() => app.close());
  const proxy = await startLossyProxy(await app.listen({ host: '127.0.0.1', port: 0 }), { fate: () => 'pass' });
  onTestFinished(() => proxy.stop());
  const folder = await mkdtemp(join(tmpdir(), 'tessera-once-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'key'), API_KEY);
  const signed = [`public_key=${'aa'.repeat(32)}`, `script_public_key=${NOBODY}`, `signature=${'bb'.repeat(64)}`];
  const item = ['genesis_hash_spec=Create', 'item_amount=1', ...signed];
  const flags = ['--url', proxy.url, '--api-key-file', join(folder, 'key')];
  const context = createContext({ TESSERA_WALLET__PASSPHRASE: FAKE_PASSPHRASE });
  expect(await runCli(['call', 'createItem', ...item, ...flags], context)).toBe(0);
  expect([proxy.keys, calls.length]).toEqual([[undefined], 1]);
});
