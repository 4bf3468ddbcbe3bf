/**
 * Four nodes whose disks fill up, have room again, fail in other ways: what is asked for in vain is answered with the error
 * that the API names, reads go on, nothing that was acknowledged is lost, and no node needs a restart (rules P1, P6, P7).
 */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { NodeClient } from '../../src/client/client.js';
import { NoAnswer } from '../../src/client/transport.js';
import { devAccounts } from '../../src/config/dev-accounts.js';
import { errorMessage, isTesseraError } from '../../src/lib/errors.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { Ledger } from '../soak/ledger.js';
import { lanesOf, SigningWriter, splitFor, WalletWriter, type Writer } from '../soak/writers.js';
import { canMakeFaultyDisks, FaultyDisk } from '../support/faulty-disk/faulty-disk.js';
import { createNetwork, type Network, type NodeProcess, type Nodes, until, whenReady } from '../support/processes.js';

const PATIENCE_MS = 60_000;
/** Coins of the signing client, and of each wallet. */
const COINS = 40;
/** A connection kept alive ended while a request was on its way: that says nothing about the disk. */
const BROKEN = 'broken connection';

let network: Network;
let disk: FaultyDisk;
let nodes: Nodes;
let ledger: Ledger;
let client: Writer;
let wallet: Writer;
/** Payments that the user node has acknowledged. */
const paid = new Set<string>();

beforeAll(async () => {
  if (!canMakeFaultyDisks) return;
  disk = await FaultyDisk.create();
  network = await createNetwork({ environment: () => disk.environment() });
  nodes = await network.addAll({}, { mempool: { 'mining.instant': true } });
  await prepare();
});

afterAll(async () => {
  await network?.stopAll();
  await disk?.remove();
});

const clientOf = ({ apiUrl }: NodeProcess): NodeClient => new NodeClient({ url: apiUrl, timeoutMs: 20_000 });

async function reasonsOf({ apiUrl }: NodeProcess): Promise<readonly string[]> {
  const answer = await fetch(`${apiUrl}/readyz`);
  return ((await answer.json()) as { readonly reasons: string[] }).reasons;
}

/** Writers that have coins, and a ledger that knows what they were told. */
async function prepare(): Promise<void> {
  const [mempool, user] = [clientOf(nodes.mempool), clientOf(nodes.user)];
  ledger = new Ledger();
  const { address } = await user.api.createWalletAddress();
  const [giver, owner] = devAccounts().accounts;
  if (giver === undefined || owner === undefined) throw new Error('no accounts');
  const own = splitFor(owner, [owner.address], COINS);
  const transactions = [splitFor(giver, [address], COINS), own].map(transactionToCreateJson);
  const { transactions: taken } = await mempool.api.createTransactions({ body: { transactions } });
  for (const hash of Object.keys(taken ?? {})) ledger.acknowledge({ hash, by: 'client', at: 0 });
  expect(await ledger.settled(mempool, PATIENCE_MS)).toEqual([]);
  await whenReady(nodes.user);
  client = new SigningWriter(mempool, lanesOf(owner, own));
  wallet = new WalletWriter('user', user, owner.address);
}

/** Tries once; resolves with the code of the refusal, or '' when it was acknowledged. */
async function attempt(writer: Writer): Promise<string> {
  try {
    const hash = await writer.send();
    ledger.acknowledge({ hash, by: writer.name, at: 0 });
    if (writer === wallet) paid.add(hash);
    return '';
  } catch (error) {
    if (error instanceof NoAnswer && /other side closed|ECONNRESET|socket hang up/.test(error.message)) return BROKEN;
    return isTesseraError(error, 'node_unreachable') || !isTesseraError(error) ? errorMessage(error) : error.code;
  }
}

/** Writes until one write is refused; resolves with the code. */
const refusal = (writer: Writer): Promise<string> =>
  until('a refusal', async () => {
    const code = await attempt(writer);
    return code === '' || code === BROKEN ? undefined : code;
  });

const accepted = (writer: Writer): Promise<true> =>
  until('a write that is taken', async () => ((await attempt(writer)) === '' ? true : undefined));

/** What the API reads still answers, on the node whose disk is full. */
async function expectReads(role: NodeRole): Promise<void> {
  switch (role) {
    case 'mempool':
      await clientOf(nodes.mempool).api.getSupply();
      break;
    case 'storage':
      await clientOf(nodes.storage).api.getBlock({ params: { num: 0 } });
      break;
    case 'miner':
      await clientOf(nodes.miner).api.getWallet({ query: {} });
      break;
    case 'user':
      await clientOf(nodes.user).api.getWallet({ query: {} });
  }
}

/** Everything that was acknowledged is confirmed, and in exactly one block. */
async function expectKept(): Promise<void> {
  expect(await ledger.settled(clientOf(nodes.mempool), PATIENCE_MS)).toEqual([]);
  expect(await ledger.againstBlocks(clientOf(nodes.storage))).toEqual({ missing: [], repeated: [] });
}

/** Faults of the disk below the database of a role. It takes them all in one way, and the mempool node meets each: one is enough. */
function faultsOf(role: string): [what: string, rules: string[]][] {
  const folder = `/${role}/db/`;
  const all: [string, string[]][] = [
    ['a full disk', [`write ${folder} ENOSPC`]],
    [
      'too many open files, when the database is opened anew',
      [`sync ${folder} EIO times=1`, `create ${folder} EMFILE`],
    ],
    ['a disk that was made read-only', [`change ${folder} EROFS`]],
    ['a disk that cannot be synced', [`sync ${folder} EIO`]],
  ];
  return process.env.LONG_TESTS === undefined ? all.slice(0, 1) : all;
}

const MINER_FAULTS: readonly [what: string, rules: string[]][] = [
  ['a full disk', ['write /miner/db/ ENOSPC']],
  ...(process.env.LONG_TESTS === undefined
    ? []
    : [
        ['a disk that was made read-only', ['change /miner/db/ EROFS']] as [string, string[]],
        ['a disk that cannot be written', ['write /miner/db/ EIO']] as [string, string[]],
      ]),
];

describe.runIf(canMakeFaultyDisks)('a disk without room', () => {
  it.each([
    ['a full disk', ['write /mempool/db/ ENOSPC']],
    ['a full disk, after some more bytes', ['write /mempool/db/ room=20000']],
    ['a disk that was made read-only', ['change /mempool/db/ EROFS']],
    ['a disk that cannot be synced', ['sync /mempool/db/ EIO']],
    ['a disk that cannot be written', ['write /mempool/db/ EIO']],
    [
      'too many open files, when the database is opened anew',
      ['sync /mempool/db/ EIO times=1', 'create /mempool/db/ EMFILE'],
    ],
    ['a full disk under the state, while the journal is written', ['write /mempool/db/mempool/ ENOSPC']],
  ])(
    'mempool, %s: submissions are answered write_failed, reads go on, and it goes on by itself',
    async (_what, rules) => {
      await disk.set(...rules);
      expect(await refusal(client)).toBe('write_failed');
      await expectReads('mempool');
      expect((await reasonsOf(nodes.mempool)).join()).toContain('cannot be written');
      await disk.set();
      await accepted(client);
      await whenReady(nodes.mempool);
      await expectKept();
    },
  );

  it('writes that the system takes in part are finished', async () => {
    await disk.set('write /db/ short');
    await accepted(client);
    await accepted(wallet);
    await expectKept();
    await disk.set();
  });

  it.each(faultsOf('storage'))(
    'storage, %s: blocks wait, reads go on, and the chain goes on by itself',
    async (_what, rules) => {
      await disk.set(...rules);
      const { block: before } = await clientOf(nodes.storage).api.getLatestBlock();
      await accepted(client);
      await until('the mempool to say so', async () => {
        const reasons = (await reasonsOf(nodes.mempool)).join();
        return reasons.includes('cannot be written') ? true : undefined;
      });
      await expectReads('storage');
      expect((await reasonsOf(nodes.storage)).join()).toContain('cannot be written');
      expect((await clientOf(nodes.storage).api.getLatestBlock()).block).toEqual(before);
      await disk.set();
      await whenReady(nodes.storage);
      await expectKept();
    },
  );

  it.each(faultsOf('user'))(
    'user, %s: payments are answered wallet_write_failed, reads go on, and it pays again by itself',
    async (_what, rules) => {
      await accepted(wallet);
      await disk.set(...rules);
      expect(await refusal(wallet)).toBe('wallet_write_failed');
      await expectReads('user');
      await disk.set();
      await accepted(wallet);
      await whenReady(nodes.user);
      await expectKept();
    },
  );

  it.each(MINER_FAULTS)('miner, %s: it goes on by itself, with its rewards', async (_what, rules) => {
    await disk.set(...rules);
    await accepted(client);
    await until('the miner to say so', async () =>
      (await reasonsOf(nodes.miner)).join().includes('cannot be written') ? true : undefined,
    );
    await expectReads('miner');
    await disk.set();
    await whenReady(nodes.miner);
    await expectKept();
  });
});

describe.runIf(canMakeFaultyDisks)('a disk with less room than node.min_free_bytes', () => {
  const low = 'statfs * free=100000000';

  it('nothing new is taken, by code, and it is again when there is room', async () => {
    await disk.set(low);
    expect(await refusal(client)).toBe('write_failed');
    expect(await refusal(wallet)).toBe('wallet_write_failed');
    for (const node of Object.values(nodes) as NodeProcess[]) {
      await until(`${node.role} to say so`, async () =>
        (await reasonsOf(node)).join().includes('node.min_free_bytes') ? true : undefined,
      );
      await expectReads(node.role);
    }
    // What was acknowledged waits: the mempool cuts no block, and storage would keep none.
    const { block } = await clientOf(nodes.storage).api.getLatestBlock();
    await disk.set();
    await accepted(client);
    await accepted(wallet);
    for (const node of Object.values(nodes) as NodeProcess[]) await whenReady(node);
    await expectKept();
    const { block: later } = await clientOf(nodes.storage).api.getLatestBlock();
    expect(later.block.header.b_num).toBeGreaterThan(block.block.header.b_num);
  });
});

describe.runIf(canMakeFaultyDisks)('a node that is started on a full disk', () => {
  it.each([
    ['storage', 'write,create,mkdir /storage/ ENOSPC', 'the data directory'],
    ['mempool', 'write /mempool/db/ ENOSPC', 'the database'],
    ['user', 'write,create,mkdir /user/ ENOSPC', 'the data directory'],
  ] as const)('%s, %s: says so, waits, and opens by itself', async (role, rule, what) => {
    const node = nodes[role];
    const opens = 'the disk is full, and the node opens when it has room';
    const waits = () =>
      until(`${role} to say so`, async () => {
        const log = node.log();
        return log.lastIndexOf(`${opens}: ${what}`) > log.lastIndexOf('stopping;') ? true : undefined;
      });
    await node.kill();
    await disk.set(rule);
    const ended = node.start().catch(() => undefined);
    await waits();
    expect(await node.stop()).toBe(0);
    await ended;
    const started = node.start();
    await waits();
    await disk.set();
    await started;
    for (const one of Object.values(nodes) as NodeProcess[]) await whenReady(one);
    await accepted(client);
    await expectKept();
  });
});

describe.runIf(canMakeFaultyDisks)('after all of that, and kill -9 of every node', () => {
  it('everything that was acknowledged is there once, and no payment that was refused', async () => {
    const all = Object.values(nodes) as NodeProcess[];
    await Promise.all(all.map((node) => node.kill()));
    await Promise.all(all.map((node) => node.start()));
    await expectKept();
    const { transactions } = await clientOf(nodes.user).api.getWalletHistory({ query: {} });
    const own = transactions.filter(({ kind }) => kind === 'payment');
    expect(new Set(own.map((one) => one.tx_hash))).toEqual(paid);
    await accepted(client);
    await expectKept();
  });
});
