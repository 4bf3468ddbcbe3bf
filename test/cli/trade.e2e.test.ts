/** Two people trade with `tessera trade`, without writing code: by files and over a link, between nodes that are processes. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.js';
import { createContext } from '../support/cli-context.js';
import { call, createNetwork, type Network, type NodeProcess, until } from '../support/processes.js';

let folder: string;
let network: Network;
let alice: NodeProcess;
let bob: NodeProcess;
let genesisHash: string;

interface WalletTotals {
  readonly running_total_tokens: number;
  readonly available_total_tokens: number;
  readonly item_total: Readonly<Record<string, number>>;
}

async function tessera(node: NodeProcess, ...argv: string[]): Promise<{ status: number; out: string; err: string }> {
  const context = createContext();
  const status = await runCli([...argv, '--url', node.apiUrl], context);
  return { status, out: context.out(), err: context.err() };
}

/** Runs a command that must succeed; gives what it printed. */
async function ok(node: NodeProcess, ...argv: string[]): Promise<string> {
  const { status, out, err } = await tessera(node, ...argv);
  expect([argv.slice(0, 2), status, err], err).toEqual([argv.slice(0, 2), 0, err]);
  return out;
}

const totals = (node: NodeProcess) => call(`${node.apiUrl}/v1/wallet?page=0`) as Promise<WalletTotals>;
const at = (name: string): string => join(folder, name);
const asked = () => ['--yes', '--passphrase-file', at('blank')] as const;

/** Alive again, as after a power cut. */
async function cutPower(node: NodeProcess): Promise<void> {
  await node.kill();
  await node.start();
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-trade-'));
  await writeFile(at('blank'), '');
  network = await createNetwork();
  const storage = await network.add('storage', 'storage');
  const mempool = await network.add('mempool', 'mempool', { 'peers.storage': storage.peerAddress });
  const common = { 'peers.mempool': mempool.peerAddress };
  [, alice, bob] = await Promise.all([
    network.add('miner', 'miner', { ...common, 'wallet.enabled': false, 'mining.static_address': '0'.repeat(64) }),
    network.add('alice', 'user', { ...common, 'wallet.genesis_seed_index': 0 }),
    network.add('bob', 'user', { ...common, 'wallet.genesis_seed_index': 1 }),
  ]);
  await call(`${bob.apiUrl}/v1/items`, { genesis_hash_spec: 'Create', item_amount: 10, metadata: 'a ticket' });
  await until('the items of bob', async () => {
    [genesisHash = ''] = Object.keys((await totals(bob)).item_total);
    return genesisHash === '' ? undefined : true;
  });
});

afterAll(async () => {
  await network.stopAll();
  await rm(folder, { recursive: true, force: true });
});

describe('a trade', () => {
  it('takes place by files, though both nodes lose power in the middle', async () => {
    const [aliceBefore, bobBefore] = [await totals(alice), await totals(bob)];
    const [gives, wants] = [`72072000`, `3@${genesisHash}`];
    await ok(alice, 'trade', 'offer', '--raw', '--give', gives, '--want', wants, '--out', at('offer'), ...asked());
    await ok(bob, 'trade', 'accept', at('offer'), '--out', at('acceptance'), ...asked());
    await ok(alice, 'trade', 'complete', at('acceptance'), '--out', at('confirmation'));
    await Promise.all([alice, bob].map(cutPower));
    // The same again, because the answer could have been lost.
    await ok(alice, 'trade', 'complete', at('acceptance'));
    await ok(bob, 'trade', 'complete', at('confirmation'));
    const [{ trade_id: id }] = JSON.parse(await ok(bob, 'trade', 'list', '--json')).trades;
    expect((await ok(alice, 'trade', 'watch', id)).endsWith('done\n')).toBe(true);
    expect((await ok(bob, 'trade', 'watch', id)).endsWith('done\n')).toBe(true);
    const [ofAlice, ofBob] = [await totals(alice), await totals(bob)];
    expect(ofAlice.item_total).toEqual({ [genesisHash]: 3 });
    expect(ofBob.item_total).toEqual({ [genesisHash]: 7 });
    const moved = BigInt(gives);
    expect(BigInt(aliceBefore.running_total_tokens) - BigInt(ofAlice.running_total_tokens)).toBe(moved);
    expect(BigInt(ofBob.running_total_tokens) - BigInt(bobBefore.running_total_tokens)).toBe(moved);
    expect(BigInt(ofAlice.available_total_tokens)).toBe(BigInt(ofAlice.running_total_tokens));
    expect(await ok(alice, 'wallet', 'history', '--kind', 'trade')).toContain('3 items');
  });

  it('takes place over a link: offered to a node, which lists, accepts and sees what it gets', async () => {
    const offer = ['--give', `2@${genesisHash}`, '--want', '1.5', '--to', alice.peerAddress];
    await ok(bob, 'trade', 'offer', ...offer, ...asked());
    const { trades } = JSON.parse(await ok(alice, 'trade', 'list', '--json'));
    const [received] = trades.filter(({ state }: { state: string }) => state === 'received');
    expect(received).toMatchObject({ metadata: 'a ticket', get: { amount: 2 } });
    await ok(alice, 'trade', 'accept', received.trade_id, ...asked());
    expect((await ok(alice, 'trade', 'watch', received.trade_id)).endsWith('done\n')).toBe(true);
    expect((await ok(bob, 'trade', 'watch', received.trade_id)).endsWith('done\n')).toBe(true);
    expect(await ok(alice, 'wallet', 'items')).toContain('a ticket');
    expect((await totals(alice)).item_total).toEqual({ [genesisHash]: 5 });
  });

  it('is cancelled when its half waits for the other, and everything is free again', async () => {
    const before = await totals(alice);
    await ok(alice, 'trade', 'offer', '--give', '2', '--want', `1@${genesisHash}`, '--out', at('second'), ...asked());
    await ok(bob, 'trade', 'accept', at('second'), '--out', at('second-acceptance'), ...asked());
    await ok(alice, 'trade', 'complete', at('second-acceptance'), '--out', at('second-confirmation'));
    const [{ trade_id: id }] = JSON.parse(await ok(alice, 'trade', 'list', '--json')).trades;
    expect(await ok(alice, 'trade', 'cancel', id, '--yes')).toBe(`${id} cancelling\n`);
    const { status, out } = await tessera(alice, 'trade', 'watch', id);
    expect([status, out.split('\n').at(-2)]).toEqual([1, 'cancelled: cancelled']);
    expect(await ok(bob, 'trade', 'cancel', id, '--yes')).toBe(`${id} cancelled\n`);
    await until('everything to be free', async () => {
      const { running_total_tokens: running, available_total_tokens: available } = await totals(alice);
      return running === available && running === before.running_total_tokens ? true : undefined;
    });
    expect((await tessera(bob, 'trade', 'complete', at('second-confirmation'))).err).toContain('was cancelled');
  });
});
