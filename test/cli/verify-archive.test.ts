/** `tessera verify --archive`: two accounts of one chain, one of them with a fault. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outPointKey } from '../../src/chain/transaction.js';
import { runCli } from '../../src/cli/run.js';
import { DEV_GENESIS_TX, devAccounts } from '../../src/config/dev-accounts.js';
import { DataDir } from '../../src/db/data-dir.js';
import { prefixRange } from '../../src/db/keys.js';
import type { Kv, KvEntry, KvRange } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { ranges } from '../../src/journal/local-journal.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { decodeCommand, encodeCommand } from '../../src/mempool/state/commands.js';
import { DevNetwork } from '../../src/node/dev-network.js';
import { NodeLogger } from '../../src/observability/logger.js';
import { UNSPENT, unspentKey } from '../../src/storage/archive/layout.js';
import { decodeCoin, encodeCoin } from '../../src/wallet/coins/coin.js';
import { keyText, outpointRecordKey, PREFIX } from '../../src/wallet/layout.js';
import { createContext } from '../support/cli-context.js';
import { call, until } from '../support/processes.js';

const PAYEE = devAccounts().accounts[3]?.address;
const BLOCKS = 3;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tessera-verify-archive-'));
  const logger = NodeLogger.create({ level: 'silent', format: 'json' });
  const network = new DevNetwork({ dataDir: folder, ports: 'any' }, { logger });
  await network.start();
  for (let block = 1; block <= BLOCKS; block++) {
    const payment = { kind: 'address', address: PAYEE, amount: 1_000, passphrase: '' };
    await call(`${network.urls.user}/v1/payments`, payment);
    await until(`block ${block}`, async () => ((await wallet(network)) >= block ? true : undefined));
  }
  // The wallet alone is stopped: the others run on, and answer.
  await network.nodes.user.stop();
  const againstNode = () => verify('user', '--node', network.urls.mempool);
  byNode.whole = await againstNode();
  byNode.lacking = await without('user', 'wallet', prefixRange(PREFIX.outpoint), againstNode);
  byNode.foreign = await withForeignCoin(againstNode);
  await network.stop();
});

type Verified = Awaited<ReturnType<typeof verify>>;
const byNode: { whole?: Verified; lacking?: Verified; foreign?: Verified } = {};

/** Gives the wallet a coin that is on no chain while the check runs. */
async function withForeignCoin<T>(work: () => Promise<T>): Promise<T> {
  const outPoint = { tHash: `g${'0'.repeat(31)}`, n: 0 };
  const key = outpointRecordKey(outPointKey(outPoint));
  const change = async (edit: (kv: Kv) => Promise<void>): Promise<void> => {
    const directory = await DataDir.open(join(folder, 'user'), { role: 'user', networkName: 'tessera-dev' });
    await edit(await directory.open('wallet'));
    await directory.close();
  };
  await change(async (kv) => {
    for await (const [first, record] of kv.entries({ ...prefixRange(PREFIX.outpoint), limit: 1 })) {
      const coin = decodeCoin(keyText(first), record);
      const foreign = { ...coin, outPoint, key: outPointKey(outPoint), state: 'unspent' as const };
      await kv.write(kv.batch().put(key, encodeCoin(foreign)), { sync: true });
    }
  });
  try {
    return await work();
  } finally {
    await change((kv) => kv.write(kv.batch().del(key), { sync: true }));
  }
}

afterAll(() => rm(folder, { recursive: true, force: true }));

/** The last block that the wallet has. */
async function wallet(network: DevNetwork): Promise<number> {
  return network.nodes.user.services.wallet?.chain.height ?? -1;
}

async function verify(role: NodeRole, ...flags: string[]) {
  const context = createContext();
  const place = ['--role', role, '--config', 'config/dev.toml', '--data', join(folder, role)];
  const status = await runCli(['verify', ...place, ...flags], context);
  return { status, out: context.out(), err: context.err() };
}

const against = (role: NodeRole) => verify(role, '--archive', join(folder, 'storage'));

/** LevelDB changes any record, also of a journal, which is brought back by the next that opens it. */
async function edited(role: NodeRole, database: string, edit: (kv: Kv) => Promise<void>): Promise<void> {
  const kv = await LevelKv.open(join(folder, role, 'db', database), { createIfMissing: false });
  await edit(kv).finally(() => kv.close());
}

/** Takes the first record of a range away while the check runs, and puts it back. */
async function without<T>(role: NodeRole, database: string, range: KvRange, work: () => T) {
  const change = (edit: (kv: Kv) => Promise<void>): Promise<void> => edited(role, database, edit);
  let taken: readonly [Uint8Array, Uint8Array] | undefined;
  await change(async (kv) => {
    for await (const entry of kv.entries({ ...range, limit: 1 })) taken = entry;
    await kv.write(kv.batch().del(taken?.[0] ?? new Uint8Array()), { sync: true });
  });
  const result = await work();
  await change((kv) =>
    kv.write(kv.batch().put(taken?.[0] ?? new Uint8Array(), taken?.[1] ?? new Uint8Array()), { sync: true }),
  );
  return result;
}

/** Puts the first command in the place of the last one that holds transactions, whole as it is, while the check runs. */
async function withOtherCommand<T>(work: () => Promise<T>): Promise<T> {
  const directory = (edit: (kv: Kv) => Promise<void>): Promise<void> => edited('mempool', 'journal', edit);
  let taken: KvEntry | undefined;
  await directory(async (kv) => {
    for await (const entry of kv.entries(ranges.entries))
      if (decodeCommand(entry[1]).kind === 'transactions') taken = entry;
    const [key = new Uint8Array()] = taken ?? [];
    const empty = encodeCommand({ kind: 'transactions', time: 0, groups: [] });
    await kv.write(kv.batch().put(key, empty), { sync: true });
  });
  const result = await work();
  const [key, value] = taken ?? [new Uint8Array(), new Uint8Array()];
  await directory((kv) => kv.write(kv.batch().put(key, value), { sync: true }));
  return result;
}

describe('verify --node', () => {
  it('finds a wallet right', () => {
    expect(byNode.whole).toMatchObject({ status: 0, err: '' });
    expect(byNode.whole?.out).toMatch(/wallet: [1-9]\d* unspent outputs are the same on the node$/m);
  });

  it('says how many outputs the wallet has yet to see', () => {
    expect(byNode.lacking).toMatchObject({ status: 0, out: expect.stringContaining('1 more are there that') });
  });

  it('finds a coin that the node does not have', () => {
    expect(byNode.foreign).toMatchObject({
      status: 1,
      err: expect.stringMatching(/data_corrupt: the wallet counts on 0-g0{31}, which is not unspent on the node/),
    });
  });

  it('is for wallets, and names a node that does not answer', async () => {
    expect(await verify('storage', '--node', 'http://127.0.0.1:9')).toMatchObject({ status: 2 });
    const { status, err } = await verify('user', '--node', 'http://127.0.0.1:9');
    expect({ status, err }).toEqual({ status: 1, err: expect.stringContaining('node_unreachable') });
  });
});

describe('verify --archive', () => {
  it.each<NodeRole>(['mempool', 'user', 'miner'])('finds a %s node of the same chain right', async (role) => {
    const { status, out, err } = await against(role);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(out).toMatch(/\d+ unspent outputs are the same in the archive, after block \d+/);
  });

  it('and the archive itself by its rules, links, proofs of work and scripts', async () => {
    const { status, out } = await verify('storage');
    expect(status).toBe(0);
    expect(out).toMatch(/archive: \d+ blocks with \d+ transactions, all valid/);
    expect(out).toMatch(/^index: the same as the blocks give again, (\d+) of \1$/m);
  });

  it.each<NodeRole>(['mempool', 'user'])(
    'finds an output of a %s node that the archive does not have',
    async (role) => {
      // Outputs of block 0 that nobody spends here: the first of all, and one of the user's.
      const range = role === 'user' ? { ...UNSPENT, gte: unspentKey({ tHash: DEV_GENESIS_TX, n: 15 }) } : UNSPENT;
      const { status, err } = await without('storage', 'archive', range, () => against(role));
      expect({ status, err }).toEqual({
        status: 1,
        err: expect.stringMatching(/data_corrupt: the (mempool node has|wallet counts)/),
      });
    },
  );

  it('finds a coin that the wallet does not know', async () => {
    const { status, err } = await without('user', 'wallet', prefixRange(PREFIX.outpoint), () => against('user'));
    expect({ status, err }).toEqual({
      status: 1,
      err: expect.stringContaining('data_corrupt: the wallet does not know'),
    });
  });

  it('finds a state that its journal does not give', async () => {
    // The journal is whole: it begins with the chain.
    expect((await verify('mempool')).out).toMatch(
      /^mempool: the journal alone gives the same state, after command \d+$/m,
    );
    const last = await without('mempool', 'journal', { ...ranges.entries, reverse: true }, () => verify('mempool'));
    expect(last).toMatchObject({ status: 1, err: expect.stringMatching(/data_corrupt: the journal ends at entry/) });
    const other = await withOtherCommand(() => verify('mempool'));
    expect(other).toMatchObject({ status: 1, err: expect.stringContaining('data_corrupt: the journal does not give') });
  });

  it('leaves all as it was', async () => {
    expect((await against('mempool')).status).toBe(0);
    expect((await against('user')).status).toBe(0);
    expect((await verify('storage')).status).toBe(0);
  });

  it('is not for the archive itself', async () => {
    expect(await against('storage')).toMatchObject({ status: 2, err: expect.stringContaining('--archive') });
  });
});

describe('the index of the chain (docs/adr/0031-an-index-of-the-chain.md)', () => {
  const rebuild = async (...flags: string[]) => {
    const context = createContext();
    const place = ['--role', 'storage', '--config', 'config/dev.toml', '--data', join(folder, 'storage')];
    const status = await runCli(['rebuild', '--index', ...place, ...flags], context);
    return { status, out: context.out(), err: context.err() };
  };

  it('that lacks a record is found by verify, and made again by rebuild --index', async () => {
    const directory = await DataDir.open(join(folder, 'storage'), { role: 'storage', networkName: 'tessera-dev' });
    const kv = await directory.openDerived('index');
    for await (const [key] of kv.entries({ ...prefixRange('h'), limit: 1 })) {
      await kv.write(kv.batch().del(key), { sync: true });
    }
    await directory.close();
    const { status, err } = await verify('storage');
    expect({ status, err }).toEqual({
      status: 1,
      err: expect.stringContaining('tessera rebuild --index makes it again'),
    });
    const { out } = await rebuild();
    expect(out).toMatch(/^the index of the chain is built anew, with \d+ blocks$/m);
    expect(await verify('storage')).toMatchObject({ status: 0, err: '' });
  });

  it('is removed where it is switched off', async () => {
    expect(await rebuild('--set', 'storage.index=false')).toMatchObject({
      status: 0,
      out: expect.stringContaining('storage.index is false: the index is removed'),
    });
    expect((await verify('storage')).out).not.toMatch(/^index:/m);
  });

  it('is for storage nodes', async () => {
    const context = createContext();
    expect(await runCli(['rebuild', '--index', '--role', 'user', '--data', join(folder, 'user')], context)).toBe(2);
  });
});
