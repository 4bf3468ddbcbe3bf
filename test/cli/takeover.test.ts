/** `tessera takeover`: what it compares, what it lists of the old pool, and what it writes. */

import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { itemAsset, tokenAsset } from '../../src/chain/assets.js';
import { BincodeWriter } from '../../src/chain/bincode.js';
import { createItemFromSignature, txOut } from '../../src/chain/builders.js';
import { encodeTransaction } from '../../src/chain/codec.js';
import { parseCreateTransaction } from '../../src/chain/create-transaction.js';
import { transactionHash } from '../../src/chain/hash.js';
import { assetSignable } from '../../src/chain/signable.js';
import type { Transaction } from '../../src/chain/types.js';
import { runCli } from '../../src/cli/run.js';
import { keyPairFromSeed, sign } from '../../src/crypto/ed25519.js';
import { sha3Hex } from '../../src/crypto/sha3.js';
import { type JsonValue, parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { createContext } from '../support/cli-context.js';
import { createOriginalChain, originalGenesis, originalGenesisFile, payment } from '../support/original-chain.js';
import { originalNode } from '../support/original-node.js';
import { poolFolder } from '../support/original-pool.js';
import { ADDRESS, MINER } from '../support/storage/test-chain.js';

const ERAS = [{ from: 0, made_by: 'original' }];
const HEIGHT = 3;

let imported = '';
let folder: string;
let genesisFile: string;
let waiting: string;
let about: readonly string[];

/** A chain of three blocks, imported by the first test: each has a copy. */
beforeEach(async () => {
  if (imported === '') {
    imported = mkdtempSync(join(tmpdir(), 'tessera-imported-'));
    useFolder(imported);
    writeFileSync(genesisFile, stringifyExact(originalGenesisFile(ERAS)));
    const chain = createOriginalChain(originalGenesis(ERAS));
    for (let i = 0; i < HEIGHT; i++) chain.add(i === 0 ? [] : [payment(i)]);
    const { url } = await originalNode('envelope', chain.answers());
    expect(await run('import', '--from', url)).toMatchObject({ status: 0 });
  }
  const made = mkdtempSync(join(tmpdir(), 'tessera-takeover-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  cpSync(imported, made, { recursive: true });
  useFolder(made);
});
afterAll(() => rmSync(imported, { recursive: true, force: true }));

function useFolder(one: string): void {
  folder = one;
  genesisFile = join(folder, 'genesis.json');
  waiting = join(folder, 'waiting.json');
  const sets = [`network.genesis_file=${genesisFile}`, 'storage.verify_threads=0', 'network.producer_keys='].flatMap(
    (set) => ['--set', set],
  );
  about = ['--data', join(folder, 'storage'), ...sets, '--json'];
}

async function run(...args: readonly string[]) {
  const context = createContext();
  const status = await runCli([...args, ...about], context);
  const err = context.err().replaceAll(/^(import|takeover).*\n/gm, '');
  return { status, report: context.out() === '' ? undefined : JSON.parse(context.out()), err };
}

function creation(bNum: bigint, metadata: string | null = null): Transaction {
  const { seed, publicKey } = keyPairFromSeed(new Uint8Array(32).fill(3));
  const signature = sign(seed, assetSignable(itemAsset(1n, null, metadata)));
  return createItemFromSignature(
    { bNum, amount: 1n, spec: 'Create', metadata },
    { address: ADDRESS, publicKey, signature },
  );
}

const takeover = (...args: readonly string[]) => run('takeover', '--at', String(HEIGHT), ...args);
const erasNow = () => JSON.parse(readFileSync(genesisFile, 'utf8')).eras;

/** What the old mempool node has, with `change` in its outputs. */
function oldBalances(change: (listed: Record<string, { value: unknown }[]>) => void = () => undefined) {
  const chain = createOriginalChain(originalGenesis(ERAS));
  const outputs = new Map<string, { address: string; output: { out_point: object; value: { Token: bigint } } }>();
  for (let i = 0; i < HEIGHT; i++) {
    const { block, transactions, miningTransaction } = chain.add(i === 0 ? [] : [payment(i)]);
    for (const [at, tx] of [...transactions, miningTransaction].entries()) {
      const hash = block.transactions[at] ?? block.header.miningTxHash;
      for (const { previousOut } of tx.inputs) outputs.delete(`${previousOut?.n}-${previousOut?.tHash}`);
      for (const [n, { value, scriptPublicKey }] of tx.outputs.entries()) {
        const output = { out_point: { t_hash: hash, n }, value: { Token: value.amount } };
        outputs.set(`${n}-${hash}`, { address: String(scriptPublicKey), output });
      }
    }
  }
  const listed: Record<string, { value: unknown }[]> = { [ADDRESS]: [], [MINER]: [] };
  for (const { address, output } of outputs.values()) listed[address]?.push(output);
  change(listed);
  return { total: {}, address_list: parseExactJson(stringifyExact(listed)) } as Record<string, JsonValue>;
}

function fileOf(content: unknown): string {
  const file = join(folder, 'balances.json');
  writeFileSync(file, stringifyExact(content));
  return file;
}

const database = (values: Parameters<typeof poolFolder>[1]): string => poolFolder(join(folder, 'mempool'), values);

/** The key file of a producer. */
function keyFile(): string {
  const file = join(folder, 'producer.key');
  writeFileSync(file, 'cd'.repeat(32));
  return file;
}

/** What a kill leaves of a block that was being written. */
function tearBlocks(): void {
  const segments = join(folder, 'storage', 'segments');
  const [open = ''] = readdirSync(segments).filter((name) => name.endsWith('.open'));
  appendFileSync(join(segments, open), 'half of a block');
}

function damageDatabase(): void {
  const archive = join(folder, 'storage', 'db', 'archive');
  for (const name of readdirSync(archive).filter((one) => /\.(ldb|log)$/.test(one))) {
    const bytes = readFileSync(join(archive, name));
    if (bytes.length > 0) writeFileSync(join(archive, name), bytes.fill(7, bytes.length >> 1, (bytes.length >> 1) + 9));
  }
}

describe('balances', () => {
  it.each([
    ['the content', (content: unknown) => content],
    ['an envelope', (content: unknown) => ({ status: 'Success', reason: '', content })],
    ['an answer of /v1', (content: unknown) => ({ balance: content })],
  ])('are compared with a file that has %s', async (_what, wrap) => {
    const { status, report } = await takeover('--balances', fileOf(wrap(oldBalances())));
    expect({ status, report }).toMatchObject({ status: 0, report: { compared_addresses: 2, differences: [] } });
    expect(erasNow()).toEqual([expect.objectContaining({ from: 0 }), { from: HEIGHT }]);
  });

  it('are asked of a node that has /v1 alone', async () => {
    const node = await originalNode('v1', createOriginalChain(originalGenesis(ERAS)).answers());
    node.instead = (path) => (path === '/v1/balances/query' ? stringifyExact({ balance: oldBalances() }) : undefined);
    expect(await takeover('--balances', node.url)).toMatchObject({ status: 0, report: { compared_addresses: 2 } });
  });

  it.each([
    ['another amount', (listed: object) => Object.values(listed)[0].splice(0, 1), 'nothing there, 1000 raw units here'],
    [
      'more addresses',
      (listed: object) => Object.assign(listed, { new: [{ out_point: { t_hash: 'g', n: 1 }, value: { Token: 5 } }] }),
      'new has output 1-g: 5 raw units there, nothing here',
    ],
    [
      'an item',
      (listed: object) =>
        Object.assign(Object.values(listed)[0][0], { value: { Item: { amount: 2, genesis_hash: null } } }),
      '2 of item 000000 there',
    ],
  ])('that differ by %s are named, and stop it', async (_what, change, named) => {
    const before = readFileSync(genesisFile, 'utf8');
    const file = fileOf(oldBalances(change));
    const { status, err } = await takeover('--balances', file);
    expect(status).toBe(1);
    expect(JSON.parse(err)).toMatchObject({ code: 'other_chain', detail: expect.stringContaining(named) });
    const rehearsed = await takeover('--balances', file, '--dry-run');
    expect(rehearsed).toMatchObject({ status: 1, report: { differences: [expect.stringContaining(named)] } });
    expect(readFileSync(genesisFile, 'utf8')).toBe(before);
  });

  it('are no list: it ends by name', async () => {
    const { err } = await takeover('--balances', fileOf({ content: { address_list: [7] } }));
    expect(JSON.parse(err)).toMatchObject({ code: 'other_chain' });
    const node = await originalNode('envelope', { blocks: [], transactions: [] });
    expect(JSON.parse((await takeover('--balances', node.url)).err)).toMatchObject({ code: 'other_chain' });
  });
});

describe('the height', () => {
  it.each([
    [HEIGHT - 1, 'the next block is 3'],
    [HEIGHT + 1, 'import the rest first'],
  ])('%s is not the next one', async (height, says) => {
    const { status, err } = await run('takeover', '--at', String(height));
    expect(status).toBe(1);
    expect(JSON.parse(err)).toMatchObject({ code: 'invalid_config', detail: expect.stringContaining(says) });
    expect(erasNow()).toHaveLength(1);
  });

  it('is written once, however often it is run, with the interval', async () => {
    const flags = ['--producer-key', join(folder, 'producer.key'), '--interval-ms', '700'];
    const rehearsed = await takeover(...flags, '--dry-run');
    expect(rehearsed.report).toMatchObject({ producer_key: null });
    const first = await takeover(...flags);
    expect(first).toMatchObject({ status: 0, report: { fingerprint: rehearsed.report.fingerprint, interval_ms: 700 } });
    expect(first.report.producer_key).toMatch(/^[0-9a-f]{64}$/);
    expect(await takeover(...flags)).toEqual(first);
    expect(erasNow()).toHaveLength(2);
  });

  it('ends every import, until its era is removed: blocks of the old network are none of ours', async () => {
    const chain = createOriginalChain(originalGenesis(ERAS));
    for (let i = 0; i <= HEIGHT; i++) chain.add(i === 0 ? [] : [payment(i)]);
    const { url } = await originalNode('envelope', chain.answers());
    expect(await takeover()).toMatchObject({ status: 0 });
    const refused = await run('import', '--from', url);
    expect(refused).toMatchObject({ status: 1, err: expect.stringContaining('remove the last of its') });
    writeFileSync(genesisFile, stringifyExact(originalGenesisFile(ERAS)));
    expect(await run('import', '--from', url)).toMatchObject({ status: 0, report: { imported: 1 } });
    expect(await run('verify', '--role', 'storage')).toMatchObject({ status: 0 });
  });

  it('needs the key of a producer in a network that names them', async () => {
    about = about.map((one) => (one === 'network.producer_keys=' ? `${one}${'ab'.repeat(32)}` : one));
    const key = join(folder, 'producer.key');
    const others = join(folder, 'other.key');
    writeFileSync(others, 'cd'.repeat(32));
    for (const flags of [[], ['--producer-key', key], ['--producer-key', others]]) {
      for (const rehearsal of [[], ['--dry-run']]) {
        const { status, err } = await takeover(...flags, ...rehearsal);
        expect({ status, err }).toMatchObject({ status: 2, err: expect.stringContaining('--producer-key') });
      }
    }
    expect(existsSync(key)).toBe(false);
    expect(erasNow()).toHaveLength(1);
  });
});

describe('a rehearsal', () => {
  const change = (how: () => void): readonly string[] => {
    how();
    return [];
  };
  /** Every file of the test, with a digest of its bytes; the lock is one of its own. */
  const files = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .map((entry) => (entry.isFile() ? join(entry.parentPath, entry.name) : ''))
      .filter((file) => file !== '' && !file.includes('/storage/lock'))
      .map((file) => `${file} ${sha3Hex(readFileSync(file))}`)
      .sort();

  it.each([
    ['without flags', () => []],
    ['with equal balances', () => ['--balances', fileOf(oldBalances())]],
    ['with other balances', () => ['--balances', fileOf(oldBalances((one) => Object.values(one)[0]?.pop()))]],
    ['with no balances', () => ['--balances', fileOf([7])]],
    ['with a source that is not there', () => ['--balances', 'http://127.0.0.1:1']],
    ['at another height', () => ['--at', '7']],
    ['at no height', () => ['--at', '-1']],
    ['with an interval and a key', () => ['--interval-ms', '9', '--producer-key', keyFile()]],
    ['with what is no key', () => ['--producer-key', genesisFile]],
    ['with an old pool', () => ['--pool', database([['a', encodeTransaction(payment(8))]]), '--waiting', waiting]],
    ['with no folder for the list', () => ['--pool', database([]), '--waiting', join(folder, 'no', 'list')]],
    ['with a genesis file that is none', () => change(() => writeFileSync(genesisFile, '{'))],
    ['with no genesis file', () => change(() => rmSync(genesisFile))],
    ['after an import that was killed', () => change(tearBlocks)],
    ['of a damaged database', () => change(damageDatabase)],
  ])('%s says what the real one does, and changes nothing', async (_what, given) => {
    const more: readonly string[] = given();
    const flags = more.includes('--at') ? more : ['--at', String(HEIGHT), ...more];
    const before = files();
    const rehearsed = await run('takeover', ...flags, '--dry-run');
    expect(files()).toEqual(before);
    const real = await run('takeover', ...flags);
    expect(rehearsed.status).toBe(real.status);
    if (rehearsed.report?.differences?.length > 0) {
      for (const one of rehearsed.report.differences) expect(real.err).toContain(one);
    } else expect(rehearsed).toEqual(real);
  });

  it('that was killed leaves a copy, which the next opening of the folder removes', async () => {
    const left = join(folder, 'storage', 'rehearsal', 'db');
    mkdirSync(left, { recursive: true });
    expect(await takeover('--dry-run')).toMatchObject({ status: 0 });
    expect(existsSync(left)).toBe(false);
  });
});

describe('the old pool', () => {
  const snapshotOf = (transactions: readonly Transaction[]): Uint8Array => {
    const writer = new BincodeWriter();
    writer.string('some other state');
    writer.length64(transactions.length);
    const parts = transactions.map((tx) => {
      const name = new BincodeWriter();
      name.string(transactionHash(tx));
      return Buffer.concat([name.toBytes(), encodeTransaction(tx)]);
    });
    return Buffer.concat([writer.toBytes(), ...parts, Buffer.from('and more')]);
  };

  it('is listed as it can be posted, and what cannot be is named', async () => {
    const local = payment(10);
    const committed = [payment(11), payment(12)];
    const stored = payment(1);
    const rivals = [payment(13), payment(13, { fees: [txOut(tokenAsset(1n), ADDRESS)] })];
    const gone = { ...payment(2), version: 7n };
    const pool = database([
      [transactionHash(local), encodeTransaction(local)],
      ['SnaphotDataKey', snapshotOf([...committed, stored, gone, ...rivals])],
      ['g0000000000000000000000000000000', encodeTransaction(local)],
    ]);
    const { status, report } = await takeover('--pool', pool, '--waiting', waiting);
    expect(status).toBe(0);
    const hashes = (list: readonly Transaction[]) => list.map((tx) => transactionHash(tx)).sort();
    const [first = '', second = ''] = hashes(rivals);
    expect(report.waiting).toEqual([...hashes([local, ...committed]), first].sort());
    const reason = 'what it spends is not there, or another one spends it';
    expect(report.refused).toHaveLength(2);
    expect(report.refused).toContainEqual([transactionHash(gone), reason]);
    expect(report.refused).toContainEqual([second, reason]);
    const { transactions } = JSON.parse(readFileSync(waiting, 'utf8'));
    expect(transactions.map((one: unknown) => transactionHash(parseCreateTransaction(one)))).toEqual(report.waiting);
  });

  it('is written in as many bodies as a node takes, each in a line', async () => {
    // Bytes count, of which such a character has three.
    for (const metadata of [null, '\u6f22'.repeat(260)]) {
      const many = Array.from({ length: 501 }, (_, i) => creation(BigInt(i), metadata));
      const pool = database(many.map((tx) => [transactionHash(tx), encodeTransaction(tx)]));
      rmSync(waiting, { force: true });
      const taken = await takeover('--pool', pool, '--waiting', waiting);
      expect(taken).toMatchObject({ status: 0, report: { refused: [] } });
      const lines = readFileSync(waiting, 'utf8').trimEnd().split('\n');
      const lengths = lines.map((line) => JSON.parse(line).transactions.length);
      expect(lengths.reduce((sum: number, length: number) => sum + length)).toBe(501);
      if (metadata === null) expect(lengths).toEqual([500, 1]);
      for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThan(513 * 1024);
      rmSync(pool, { recursive: true });
    }
  });

  it('writes no list in a rehearsal, and none over a file', async () => {
    const pool = database([['a key', Uint8Array.of(1)]]);
    expect(await takeover('--pool', pool, '--waiting', genesisFile)).toMatchObject({ status: 2 });
    expect(await takeover('--pool', pool)).toMatchObject({ status: 2 });
    const lost = await takeover('--pool', join(folder, 'lost'), '--waiting', waiting);
    expect(lost).toMatchObject({ status: 2, err: expect.stringContaining('there is no folder') });
    expect(await takeover('--pool', pool, '--waiting', waiting, '--dry-run')).toMatchObject({ status: 0 });
    expect(() => readFileSync(waiting)).toThrow();
  });
});
