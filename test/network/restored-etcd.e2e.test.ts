/**
 * An etcd that was restored from an older copy, under mempool nodes that have applied more (docs/high-availability.md#disaster-recovery):
 * they stay out by name however far its revisions have come, outvote nobody, and are brought back as the document says.
 */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { assembleSigned, txOut, unsignedInput } from '../../src/chain/builders.js';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { outPointKey } from '../../src/chain/transaction.js';
import { DEV_GENESIS_TX, type DevAccount, devAccounts } from '../../src/config/dev-accounts.js';
import { type Etcd, hasEtcd, journalIn, post, startEtcd } from '../support/etcd.js';
import {
  besides,
  call,
  createNetwork,
  MAIN,
  type Network,
  type NodeProcess,
  type Nodes,
  until,
  whenReady,
} from '../support/processes.js';
import { findTool } from '../support/tools.js';

const ETCDCTL = findTool('etcdctl');
const PAGE = readFileSync(new URL('../../docs/high-availability.md', import.meta.url), 'utf8');
const RECEIVER = devAccounts().accounts[9]?.address ?? '';
const LOST = /data_corrupt.*the journal in etcd \(cluster [0-9a-f]+, revision \d+\) has lost command \d+/;
const run = promisify(execFile);

/** The words of the command that the document has under that name. */
function documented(name: string): string[] {
  const [, command = ''] = new RegExp(`^ *\`\`\`sh recovery=${name}\\n *(.*)\\n`, 'm').exec(PAGE) ?? [];
  return command.split(' ');
}

interface Balance {
  readonly address_list: Readonly<Record<string, readonly { readonly value: { readonly Token: number } }[]>>;
}

describe.runIf(hasEtcd && ETCDCTL !== undefined)('an etcd that was restored from an older copy', () => {
  let etcd: Etcd;
  let network: Network;
  let nodes: Nodes;
  let second: NodeProcess;
  /** Of an operator who has it begin from nothing, at the journal of the copy. */
  let third: NodeProcess;
  const mempools = (): NodeProcess[] => [nodes.mempool, second, third];
  /** Amounts that were acknowledged, each of another account. */
  const acknowledged: number[] = [];
  let accounts = devAccounts().accounts.slice(2, 9);

  const sets = (): Readonly<Record<string, unknown>> => ({
    ...journalIn(etcd),
    'journal.timeout_ms': 1_500,
  });

  beforeAll(async () => {
    etcd = await startEtcd();
    network = await createNetwork();
    nodes = await network.addAll({ 'peers.reconnect_max_ms': 200 }, { mempool: sets() });
    const peers = besides(nodes);
    second = await network.add('second', 'mempool', { ...sets(), ...peers });
    third = network.make('third', 'mempool', { ...sets(), ...peers });
  });
  afterAll(async () => {
    await network.stopAll();
    await etcd.dispose();
  });

  /** Pays from an account that has not paid yet, over that node. */
  async function pay({ apiUrl }: NodeProcess): Promise<void> {
    const [{ outputs, outputAmount, keyPair } = {} as DevAccount, ...rest] = accounts;
    accounts = rest;
    const spent = { tHash: DEV_GENESIS_TX, n: outputs[0] ?? 0 };
    const amount = 1_000_000 + acknowledged.length;
    const change = txOut(tokenAsset(outputAmount - BigInt(amount)), RECEIVER);
    const signed = assembleSigned(
      { inputs: [unsignedInput(spent)], outputs: [txOut(tokenAsset(BigInt(amount)), RECEIVER), change] },
      new Map([[outPointKey(spent), keyPair]]),
    );
    await call(`${apiUrl}/v1/transactions`, { transactions: [transactionToCreateJson(signed)] });
    acknowledged.push(amount);
  }

  /** All that was acknowledged has arrived there, once. */
  function allArrivedOnce({ apiUrl }: NodeProcess): Promise<true> {
    return until(`${acknowledged.length} payments`, async () => {
      const { balance } = (await call(`${apiUrl}/v1/balances?address=${RECEIVER}`)) as { balance: Balance };
      const amounts = (balance.address_list[RECEIVER] ?? []).map(({ value }) => value.Token);
      const arrived = amounts.filter((amount) => acknowledged.includes(amount));
      return arrived.length === acknowledged.length && new Set(arrived).size === arrived.length ? true : undefined;
    });
  }

  /** Restores the backup as the document says, and has others write to etcd until its revision is beyond what it was. */
  async function restore(backup: string): Promise<void> {
    const revision = await revisionNow();
    const folder = `${backup}-restored`;
    const values: Readonly<Record<string, string>> = { 'backup.db': backup, NEW: folder, etcd1: 'only' };
    const peer = 'http://127.0.0.1:2380';
    const words = documented('restore').map((word) => {
      if (word.startsWith('etcd1=')) return `only=${peer}`;
      return word.startsWith('https:') ? peer : (values[word] ?? word);
    });
    await run(ETCDCTL ?? '', words.slice(1), { env: { ...process.env, ETCDCTL_API: '3' } });
    await etcd.restore(folder);
    expect(await revisionNow()).toBeLessThan(revision);
    for (let n = await revisionNow(); n < revision + 100; n++)
      await post(`${etcd.endpoint}/v3/kv/put`, { key: 'YW5vdGhlcg==', value: 'AA==' });
  }

  async function revisionNow(): Promise<number> {
    const { header } = (await post(`${etcd.endpoint}/v3/kv/range`, { key: 'AA==' })) as {
      header: { revision: string };
    };
    return Number(header.revision);
  }

  it('keeps the nodes out that have applied more, at each start', async () => {
    const { mempool, miner } = nodes;
    await pay(mempool);
    await allArrivedOnce(second);
    const backup = join(second.folder, '..', 'backup.db');
    const words = ['--endpoints', etcd.endpoint, 'snapshot', 'save', backup];
    await run(ETCDCTL ?? '', words, { env: { ...process.env, ETCDCTL_API: '3' } });
    await pay(second);
    for (const node of [mempool, second]) await allArrivedOnce(node);
    // Nobody makes a block any more: what waits is in these two states, and in the journal that is lost.
    await miner.kill();
    await pay(mempool);
    for (const node of [mempool, second]) await node.kill();
    await restore(backup);
    for (const node of [mempool, second]) await expect(node.start()).rejects.toThrow(LOST);
  });

  it('goes on with a node that has what the copy has, which nobody outvotes', async () => {
    await nodes.miner.start();
    await third.start();
    await whenReady(third);
    await expect(second.start()).rejects.toThrow(LOST);
    await pay(third);
    await expect(nodes.mempool.start()).rejects.toThrow(LOST);
    expect(third.isRunning).toBe(true);
    await whenReady(third);
  });

  it('is joined again by a node whose state was put aside', async () => {
    await rename(join(second.folder, 'db'), join(second.folder, 'db-aside'));
    await second.start();
    await whenReady(second);
  });

  it('is left for a new journal, with nothing lost that waited, as the document says', async () => {
    const { mempool, storage } = nodes;
    for (const node of [second, third]) await node.stop();
    await storage.stop();
    const archive = `${storage.folder}-copy`;
    await cp(storage.folder, archive, { recursive: true });
    await storage.start();
    const prefix = { TESSERA_JOURNAL__PREFIX: 'again' };
    for (const node of mempools()) {
      const values: Readonly<Record<string, string>> = {
        '/etc/tessera/mempool.toml': 'config/dev.toml',
        '/backup/storage': archive,
      };
      const [, ...words] = documented('rebuild').map((word) => values[word] ?? word);
      const options = Object.entries({ ...sets(), 'node.data_dir': node.folder });
      const all = [MAIN, ...words, ...options.flatMap(([option, value]) => ['--set', `${option}=${value}`])];
      await run(process.execPath, all, { env: { ...process.env, ...prefix } });
    }
    for (const node of mempools()) await node.start(prefix);
    await pay(third);
    for (const node of mempools()) {
      await whenReady(node);
      await allArrivedOnce(node);
    }
    await pay(mempool);
    for (const node of mempools()) await allArrivedOnce(node);
  });
});
