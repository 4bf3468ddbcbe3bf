/**
 * A network whose mempool node keeps its journal in etcd (docs/high-availability.md): etcd that is gone is said and costs
 * nothing, and the folder of the node can be lost.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { outPointKey } from '../../src/chain/transaction.js';
import { DEV_GENESIS_TX, type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { namesBelow } from '../../src/journal/etcd/entries.js';
import { EtcdClient } from '../../src/journal/etcd/etcd-client.js';
import { KV } from '../../src/journal/etcd/generated/etcd-pb.js';
import { utf8 } from '../../src/lib/bytes.js';
import { stringifyExact } from '../../src/lib/json.js';
import { damageState } from '../support/damaged-state.js';
import { type Etcd, hasEtcd, journalIn, startEtcd } from '../support/etcd.js';
import {
  call,
  createNetwork,
  type Network,
  type NodeProcess,
  type Nodes,
  until,
  whenReady,
} from '../support/processes.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const RECEIVER = devAccounts().accounts[9]?.address ?? '';
const FIRST_AMOUNT = 1_000_000;
const TAKEN = 'the state of another mempool node is here';
/** Entries of one revision: see `seqOf`. */
const PER_REVISION = 1_024;
/** Milliseconds between payments that are made beside a test. */
const PAY_EVERY = 300;

interface Balance {
  readonly address_list: Readonly<Record<string, readonly { readonly value: { readonly Token: number } }[]>>;
}

describe.runIf(hasEtcd)('a mempool node with its journal in etcd', () => {
  let etcd: Etcd;
  let network: Network;
  let nodes: Nodes;
  /** Amounts that the wallet has acknowledged. */
  const acknowledged: number[] = [];
  const sets = (): Readonly<Record<string, unknown>> => ({
    ...journalIn(etcd),
    'journal.timeout_ms': 1_500,
  });

  beforeAll(async () => {
    etcd = await startEtcd();
    // What a node has said once is looked for after many requests, each of which is a line.
    network = await createNetwork({ logLines: 100_000 });
    nodes = await network.addAll({ 'peers.reconnect_max_ms': 200 }, { mempool: sets() });
  });
  afterAll(async () => {
    await network.stopAll();
    await etcd.dispose();
  });

  /** On a busy machine an answer may be late: the key makes sure that asking again pays nothing twice. */
  async function pay(): Promise<void> {
    const amount = FIRST_AMOUNT + acknowledged.length;
    const body = stringifyExact({ kind: 'address', address: RECEIVER, amount, passphrase: '' });
    const headers = { 'content-type': 'application/json', 'idempotency-key': `payment of ${amount}` };
    await until('a payment', async () => {
      const response = await fetch(`${nodes.user.apiUrl}/v1/payments`, { method: 'POST', headers, body });
      expect(response.status, await response.text()).toBe(202);
      return true;
    });
    acknowledged.push(amount);
  }

  /** Pays while the test runs. */
  async function whilePaying(test: () => Promise<void>): Promise<void> {
    let isOver = false;
    const paying = (async (): Promise<void> => {
      while (!isOver) {
        await pay();
        await new Promise((resolve) => setTimeout(resolve, PAY_EVERY));
      }
    })();
    const tested = test().finally(() => {
      isOver = true;
    });
    // Without payments the test would wait for ever for what they bring.
    await Promise.race([tested, paying]);
    await Promise.all([tested, paying]);
  }

  /** Cuts all from the journal that is there now, as nodes do when all of them have it, and none of it waits for a block when `isWhole`. */
  async function trim({ isWhole = false } = {}): Promise<void> {
    const client = new EtcdClient({ endpoints: [etcd.endpoint], callTimeout: 10_000 });
    const { log, base, whole } = namesBelow('tessera/tessera-dev/');
    const range = { key: utf8(log), rangeEnd: utf8(`${log}~`) };
    const { kvs, header } = await client.call(KV.method.range, { ...range, keysOnly: true });
    expect(kvs.length).toBeGreaterThan(0);
    // The node has applied all of it when it has what came next.
    const target = acknowledged.length + 2;
    await until('more payments', async () => (acknowledged.length >= target ? true : undefined));
    await allArrivedOnce();
    const from = (Number(header?.revision ?? 0n) + 1) * PER_REVISION;
    const facts = isWhole ? [[whole, `${from} ${await blocksInStorage()}`] as const] : [];
    const puts = [[base, String(from)] as const, ...facts].map(([key, value]) => {
      return { request: { case: 'requestPut' as const, value: { key: utf8(key), value: utf8(value) } } };
    });
    await client.call(KV.method.txn, { success: puts });
    for (const { key } of kvs) {
      const deletion = { case: 'requestDeleteRange' as const, value: { key } };
      await client.call(KV.method.txn, { success: [{ request: deletion }] });
    }
    client.close();
  }

  async function blocksInStorage(): Promise<number> {
    const { block } = (await call(`${nodes.storage.apiUrl}/v1/blocks/latest`)) as {
      block: { block: { header: { b_num: number } } };
    };
    return block.block.header.b_num + 1;
  }

  /** All that is acknowledged when it is called is in the balances of the node, once. */
  function allArrivedOnce({ apiUrl }: NodeProcess = nodes.mempool): Promise<true> {
    const wanted = [...acknowledged];
    return until(`${wanted.length} payments`, async () => {
      const url = `${apiUrl}/v1/balances?address=${RECEIVER}`;
      const { balance } = (await call(url)) as { balance: Balance };
      const outputs = balance.address_list[RECEIVER] ?? [];
      const amounts = outputs.map(({ value }) => value.Token).filter((amount) => amount < 2 * FIRST_AMOUNT);
      expect(new Set(amounts).size).toBe(amounts.length);
      return wanted.every((amount) => amounts.includes(amount)) ? true : undefined;
    });
  }

  const run = (command: string, ...more: string[]): Promise<{ stdout: string }> => {
    const { folder } = nodes.mempool;
    const options = Object.entries({ ...sets(), 'node.data_dir': folder }).flatMap(([k, v]) => ['--set', `${k}=${v}`]);
    const all = [MAIN, command, '--role', 'mempool', '--config', 'config/dev.toml', ...options, ...more];
    return promisify(execFile)(process.execPath, all);
  };

  it('writes no journal of its own, and is the same after a kill (rule P1)', async () => {
    for (let i = 0; i < 10; i++) await pay();
    await nodes.mempool.kill();
    await nodes.mempool.start();
    await allArrivedOnce();
    expect(existsSync(join(nodes.mempool.folder, 'db', 'journal'))).toBe(false);
  });

  it('is joined by no node with another network.secret, which ends by name', async () => {
    const stranger = network.make('stranger', 'mempool', sets());
    const starting = stranger.start({ TESSERA_NETWORK__SECRET: 'the secret of another operator' });
    await expect(starting).rejects.toThrow(/invalid_config.*other rules: network\.secret is/);
    expect(stranger.log()).not.toContain('the secret of');
  });

  it('says that etcd is gone, answers reads, refuses writes in time, and goes on by itself', async () => {
    await etcd.kill();
    await pay();
    const { apiUrl } = nodes.mempool;
    await until('the reason', async () => {
      const { reasons } = (await (await fetch(`${apiUrl}/readyz`)).json()) as { reasons: string[] };
      return reasons.some((reason) => reason.startsWith('the journal waits for etcd')) ? true : undefined;
    });
    await call(`${apiUrl}/v1/supply`);
    const { outputs, outputAmount, keyPair, address } = devAccounts().accounts[3] as DevAccount;
    const spent = { tHash: DEV_GENESIS_TX, n: outputs[0] ?? 0 };
    const toItself = assembleSigned(
      { inputs: [unsignedInput(spent)], outputs: [txOut(tokenAsset(outputAmount), address)] },
      new Map([[outPointKey(spent), keyPair]]),
    );
    const post = (): Promise<unknown> =>
      call(`${apiUrl}/v1/transactions`, { transactions: [transactionToCreateJson(toItself)] });
    await expect(post()).rejects.toThrow(/outcome_unknown/);
    await etcd.start();
    await whenReady(nodes.mempool);
    await post();
    await allArrivedOnce();
  });

  it('starts when etcd does, and can be stopped meanwhile', async () => {
    await nodes.mempool.kill();
    await etcd.kill();
    const waits = (): number => nodes.mempool.log().split('the journal waits for etcd').length;
    const before = waits();
    const given = nodes.mempool.start().catch(() => 'it was stopped');
    await until('that it waits', async () => (waits() > before ? true : undefined));
    expect([await nodes.mempool.stop(), await given]).toEqual([0, 'it was stopped']);
    const starting = nodes.mempool.start();
    await etcd.start();
    await starting;
    await pay();
    await allArrivedOnce();
  });

  it('comes back from a lost state by itself when its journal was cut (docs/adr/0048-a-state-from-storage.md)', async () => {
    await whilePaying(() => trim({ isWhole: true }));
    await nodes.mempool.kill();
    await rm(join(nodes.mempool.folder, 'db'), { recursive: true });
    await pay();
    await nodes.mempool.start();
    expect(nodes.mempool.log()).toContain('the state is made from the blocks of a storage node');
    await pay();
    await allArrivedOnce();
    await whenReady(nodes.mempool);
  });

  it('gives its state to others, one of which is damaged and stops by name (docs/adr/0043-digests-in-the-log.md)', async () => {
    const { mempool, storage, miner } = nodes;
    const peers = { 'peers.mempool': mempool.peerAddress, 'peers.storage': storage.peerAddress };
    const make = (name: string, more: object) => network.make(name, 'mempool', { ...sets(), ...peers, ...more });
    const [second, third] = [make('second', { 'peers.miner': miner.peerAddress }), make('third', {})];
    await whilePaying(async () => {
      await trim();
      // New under load.
      await Promise.all([second.start(), third.start()]);
      for (const node of [second, third]) {
        expect(node.log()).toContain(TAKEN);
        await allArrivedOnce(node);
        // Without a miner too: it does not make the blocks.
        await whenReady(node);
      }
      // Damaged.
      await second.kill();
      await damageState(second.folder, 'tessera-dev');
      // It may end before it is ready.
      await second.start().catch(() => undefined);
      expect((await second.ended()).code).not.toBe(0);
      expect(second.log()).toContain('state_diverged');
      expect(second.log()).toMatch(
        /came apart (with command \d+|(after command \d+ \(block \d+\) and )?by command \d+)/,
      );
      // As docs/high-availability.md says.
      await rename(join(second.folder, 'db'), join(second.folder, 'db-aside'));
      await second.start();
      expect(second.log().split(TAKEN)).toHaveLength(3);
      // Suspended until the journal begins behind its state, it does what a restart does, and what was on its way to it is lost.
      third.suspend();
      await etcd.kill();
      await etcd.start();
      await trim();
      await etcd.compactHistory();
      third.resume();
      await until('another state', async () => (third.log().split(TAKEN).length === 3 ? true : undefined));
      await whenReady(third);
      expect(third.log()).toContain('the node opens again');
      for (const node of [mempool, second, third]) await allArrivedOnce(node);
    });
    await Promise.all([second.stop(), third.stop()]);
    await allArrivedOnce();
  });

  it('comes back from a lost folder with the blocks of storage and what etcd has (docs/high-availability.md)', async () => {
    await nodes.mempool.stop();
    await nodes.storage.stop();
    await rm(join(nodes.mempool.folder, 'db'), { recursive: true });
    await run('rebuild', '--archive', nodes.storage.folder);
    expect((await run('verify')).stdout).toContain('mempool: ');
    await nodes.storage.start();
    await nodes.mempool.start();
    await pay();
    await whenReady(nodes.mempool);
    await allArrivedOnce();
  });
});
