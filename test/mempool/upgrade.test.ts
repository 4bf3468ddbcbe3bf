/** What an earlier version admitted by laxer rules must not stop the chain: it is dropped when a block is cut. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { itemAsset } from '../../src/chain/assets.js';
import { assemble, createItemTransaction, txOut } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { parseGenesis } from '../../src/chain/genesis.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createAssetScript } from '../../src/chain/script/builders.js';
import { assetSignable } from '../../src/chain/signable.js';
import type { DruidInfo, Transaction } from '../../src/chain/types.js';
import { createConfig } from '../../src/config/load.js';
import { sign } from '../../src/crypto/ed25519.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Kv } from '../../src/db/kv.js';
import type { Journal } from '../../src/journal/journal.js';
import { type Command, decodeCommand, encodeCommand } from '../../src/mempool/state/commands.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { rebuildMempool } from '../../src/node/rebuild/rebuild-mempool.js';
import { openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, applierOf, genesisOut, mine, pay, payment } from '../support/mempool.js';
import { createPair, type Pair, stateRulesOf } from '../support/mempool-and-archive.js';
import { nextOf } from '../support/peers.js';

const alice = account('alice');
const bob = account('bob');
const OUTPUTS = 6;
const GENESIS = parseGenesis({
  mempool_seed_utxo: { '000000': Array.from({ length: OUTPUTS }, () => ({ address: alice.address, amount: 1_000 })) },
});

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A million copies of an item that somebody else has created. */
function counterfeit(): Transaction {
  const asset = itemAsset(1_000_000n, `g${'0'.repeat(31)}`);
  const signable = assetSignable(asset);
  const script = createAssetScript(0n, signable, sign(alice.key.seed, signable), alice.key.publicKey);
  return assemble({ inputs: [{ previousOut: null, script }], outputs: [txOut(asset, alice.address)] });
}

const honest = (n: number, druidInfo?: DruidInfo): Transaction =>
  payment({
    from: alice,
    inputs: [genesisOut(n)],
    outputs: [pay(bob, 1_000n)],
    ...(druidInfo === undefined ? {} : { druidInfo }),
  });

/** Makes items beside what it spends, which the reference does not count. */
const minting = (n: number, druidInfo?: DruidInfo): Transaction => ({
  ...honest(n, druidInfo),
  fees: [txOut(itemAsset(5n, null), alice.address)],
});

const half: DruidInfo = { druid: 'trade', participants: 2n, expectations: [], genesisHash: null };

const commandOf = (groups: readonly (readonly Transaction[])[]): Command => ({
  kind: 'transactions',
  time: 1,
  groups: groups.map((group) => group.map(encodeTransaction)),
});

/** A journal with block 0, and then transactions that a version without today's rules has let in. */
async function journalWith(
  groups: readonly (readonly Transaction[])[],
  more: readonly Command[] = [],
  kv: Kv = new MemoryKv(),
): Promise<Journal> {
  const journal = await openJournal(kv);
  const state = new MempoolState(stateRulesOf(GENESIS));
  const applier = applierOf(journal, new MemoryKv(), state);
  await applier.start();
  const round = await applier.submit<'cut-block'>({ kind: 'cut-block', time: 1, miners: ['m'] });
  if (round === null) throw new Error('no round');
  const { nonce, coinbase } = mine(round.header, round.reward, alice);
  await applier.submit<'proof'>({ kind: 'proof', height: 0, miner: 'm', nonce, coinbase: encodeTransaction(coinbase) });
  await applier.submit<'close-block'>({ kind: 'close-block', height: 0 });
  await applier.stop();
  for (const command of [commandOf(groups), ...more]) await journal.append(encodeCommand(command)).durable;
  return journal;
}

async function upgraded(groups: readonly (readonly Transaction[])[]): Promise<{ pair: Pair; rejected: string[] }> {
  const rejected: string[] = [];
  const journal = await journalWith(groups);
  const onRejected = (hash: string): unknown => rejected.push(hash);
  const pair = await createPair({ genesis: GENESIS, miner: alice, onDemand: true, journal, onRejected });
  cleanups.push(pair.close);
  // The first cut comes at once.
  while (pair.mempool.figures().height < 1) await nextOf(pair.mempool.blockConfirmed);
  return { pair, rejected };
}

describe('a pool of an earlier version', () => {
  it('loses a counterfeit creation when a block is cut, by name, and the chain goes on (rule P4)', async () => {
    const made = createItemTransaction({ bNum: 0n, amount: 1n, spec: 'Create', metadata: null }, alice.key);
    const { pair, rejected } = await upgraded([[counterfeit()], [honest(1)], [made]]);
    expect(pair.refusals).toEqual([]);
    expect(pair.blocks[1]?.block.transactions).toEqual([honest(1), made].map(transactionHash));
    const hash = transactionHash(counterfeit());
    expect(rejected).toEqual([hash]);
    const status = (await pair.mempool.statuses([hash])).get(hash);
    expect(status).toMatchObject({ status: 'Rejected', additionalInfo: expect.stringContaining('genesis hash') });
    expect(pair.mempool.balances([alice.address]).items).toEqual(new Map([[transactionHash(made), 1n]]));
    await pair.cut();
    expect(pair.archive.nextHeight).toBe(3);
  });

  it('frees what a dropped transaction would have spent', async () => {
    const { pair } = await upgraded([[minting(2)]]);
    await pair.mempool.submit([honest(2)]);
    await pair.cut();
    expect(pair.refusals).toEqual([]);
    expect(pair.blocks.at(-1)?.transactions).toHaveLength(1);
  });

  it('loses a DRUID set as a whole, each member with the member that is to blame', async () => {
    const [good, bad] = [honest(3, half), minting(4, half)];
    const { pair, rejected } = await upgraded([[good, bad]]);
    expect(pair.refusals).toEqual([]);
    expect(pair.blocks[1]?.transactions).toEqual([]);
    const hashes = [good, bad].map(transactionHash);
    expect(rejected.sort()).toEqual([...hashes].sort());
    const statuses = await pair.mempool.statuses(hashes);
    expect(statuses.get(hashes[0] ?? '')?.additionalInfo).toContain(`in transaction ${hashes[1]}`);
    expect(statuses.get(hashes[1] ?? '')?.status).toBe('Rejected');
  });

  it('may be in commands that older versions wrote (rule P7)', () => {
    const commands: Command[] = [
      commandOf([[honest(0)]]),
      { kind: 'cut-block', time: 2, miners: ['m'], height: 1 },
      { kind: 'block-adopted', block: new Uint8Array(3), facts: null },
    ];
    // The same bytes behind another number; an older cut does not say which block.
    for (const [command, older] of [
      [commands[0], [0]],
      [commands[1], [1, 6, 8]],
      [commands[2], [5]],
    ] as const) {
      for (const tag of older) {
        const bytes = encodeCommand(command as Command);
        const length = command?.kind === 'cut-block' ? bytes.length - 8 : bytes.length;
        const { height: _, ...rest } = { height: 0, ...command };
        expect(decodeCommand(Uint8Array.of(tag, ...bytes.subarray(1, length)))).toEqual(rest);
      }
    }
  });

  it('is served in one order, with chains, by the commands of this version', async () => {
    const stored = await blockStored(await journalWith([]));
    const [one, ...set] = [honest(0), honest(1, half), honest(2, half)];
    const child = payment({ from: bob, inputs: [{ tHash: transactionHash(one), n: 0 }], outputs: [pay(bob, 1_000n)] });
    const admit: Command = {
      kind: 'transactions',
      time: 1,
      groups: [[child], set].map((group) => group.map(encodeTransaction)),
    };
    const cut: Command = { kind: 'cut-block', time: 2, miners: ['m'] };
    const state = await replayed(await journalWith([[one]], [admit, stored, cut]));
    expect(namesIn(state)).toEqual([one, child, ...set].map(transactionHash));
    expect([admit, cut].map((command) => encodeCommand(command)[0])).toEqual([7, 8]);
  });

  it('cuts no block but the one that is due, where the command says which', async () => {
    const stored = await blockStored(await journalWith([]));
    const cut = (height: number): Command => ({ kind: 'cut-block', height, time: 2, miners: ['m'] });
    expect(encodeCommand(cut(1))[0]).toBe(10);
    for (const [height, round] of [
      [0, undefined],
      [1, 1],
      [2, undefined],
    ] as const) {
      const state = await replayed(await journalWith([[honest(0)]], [stored, cut(height)]));
      expect(state.round?.height).toBe(round);
    }
  });

  it('loses what spends from a transaction that is dropped, too', async () => {
    const child = payment({
      from: bob,
      inputs: [{ tHash: transactionHash(minting(2)), n: 0 }],
      outputs: [pay(bob, 1_000n)],
    });
    const stored = await blockStored(await journalWith([]));
    const admit: Command = {
      kind: 'transactions',
      time: 1,
      groups: [[encodeTransaction(child)], [encodeTransaction(honest(1))]],
    };
    const cut: Command = { kind: 'cut-block', time: 2, miners: ['m'] };
    const state = await replayed(await journalWith([[minting(2)]], [admit, stored, cut]));
    expect(namesIn(state)).toEqual([transactionHash(honest(1))]);
    expect(state.waiting.count).toBe(0);
    expect(state.coins.isClaimed(genesisOut(2))).toBe(false);
  });
});

/** A state that the journal alone has made. */
async function replayed(journal: Journal): Promise<MempoolState> {
  const state = new MempoolState(stateRulesOf(GENESIS));
  const applier = applierOf(journal, new MemoryKv(), state);
  await applier.start();
  await applier.stop();
  return state;
}

const namesIn = (state: MempoolState | undefined): string[] | undefined =>
  state?.round?.transactions.map(({ hash }) => hash);

describe('a block of an earlier version that storage will never take', () => {
  it('is given up by tessera rebuild: what broke a rule is refused, and the rest is in a block (docs/operations.md#rebuilding)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tessera-upgrade-'));
    cleanups.push(() => rm(folder, { recursive: true }));
    const config = createConfig('mempool', { 'node.data_dir': folder, 'network.secret': 'a secret for this test' });
    const place = { role: 'mempool' as const, networkName: config.network.name };
    const old = await DataDir.open(folder, place);
    const cut: Command = { kind: 'cut-block', time: 2, miners: ['m'] };
    const stored = await blockStored(await journalWith([]));
    // Commands say that scripts were checked: only storage sees that this one fails.
    const stolen = payment({ from: bob, inputs: [genesisOut(0)], outputs: [pay(bob, 1_000n)] });
    const before = await journalWith([[stolen], [honest(1)]], [stored, cut], await old.open('journal'));
    expect(namesIn(await replayed(before))).toContain(transactionHash(stolen));
    await before.close();
    await old.close();

    const signal = new AbortController().signal;
    await rebuildMempool({ config, genesis: GENESIS, archive: undefined, signal, onProgress: () => undefined });

    const anew = await DataDir.open(folder, place);
    cleanups.push(() => anew.close());
    const journal = await openJournal(await anew.open('journal'));
    const pair = await createPair({
      genesis: GENESIS,
      miner: alice,
      onDemand: true,
      journal,
      kv: await anew.open('mempool'),
    });
    cleanups.push(pair.close);
    const hashes = [stolen, honest(1)].map(transactionHash);
    const statuses = async () => {
      const found = await pair.mempool.statuses(hashes);
      return hashes.map((hash) => found.get(hash)?.status);
    };
    await expect.poll(statuses, { timeout: 60_000 }).toEqual(['Rejected', 'Pending']);
    await pair.cut();
    expect(await statuses()).toEqual(['Rejected', 'Confirmed']);
    expect(pair.refusals).toEqual([]);
  });
});

/** The command that block 0 of such a journal is stored. */
async function blockStored(journal: Journal): Promise<Command> {
  const pair = await createPair({ genesis: GENESIS, miner: alice, onDemand: true, journal });
  if (pair.mempool.figures().height < 0) await nextOf(pair.mempool.blockConfirmed);
  const { hash } = pair.archive.tip;
  await pair.close();
  return { kind: 'block-stored', height: 0, hash: hash ?? '' };
}
