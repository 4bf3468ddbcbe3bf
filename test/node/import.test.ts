/** `tessera import`: chains of original nodes, from both kinds of their API and from files, into a storage node, and a mempool node beside it. */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { tokenAsset } from '../../src/chain/assets.js';
import { txOut } from '../../src/chain/builders.js';
import { eraView } from '../../src/chain/eras.js';
import { transactionHash } from '../../src/chain/hash.js';
import { assetView, outPointView } from '../../src/chain/json.js';
import { createUnicorn, encodeSocketAddresses, seedValueOf, unicornSeed } from '../../src/chain/unicorn.js';
import { runCli } from '../../src/cli/run.js';
import { createConfig } from '../../src/config/load.js';
import { DataDir } from '../../src/db/data-dir.js';
import { stringifyExact } from '../../src/lib/json.js';
import { balancesOf } from '../../src/mempool/balances.js';
import type { loadMempoolState } from '../../src/mempool/state/load.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import { folderAnswers } from '../../src/node/import/folder-answers.js';
import { httpAnswers } from '../../src/node/import/http-answers.js';
import { importChain } from '../../src/node/import/import-chain.js';
import { ChainSource } from '../../src/node/import/source.js';
import { createContext } from '../support/cli-context.js';
import { rebuiltMempool } from '../support/moving-in.js';
import {
  createOriginalChain,
  FIXTURES,
  originalGenesis,
  originalGenesisFile,
  payment,
  realChain,
} from '../support/original-chain.js';
import { originalNode } from '../support/original-node.js';
import { ADDRESS } from '../support/storage/test-chain.js';

const UNKNOWN = { from: 0, made_by: 'original', find: ['header', 'signatures', 'mempool_nodes'] };
/** Nothing of a build is needed. */
const ON_MAIN_THREAD = ['--set', 'storage.verify_threads=0'];
const fixture = (name: string, file: string): string => fileURLToPath(new URL(`${name}/${file}`, FIXTURES));

let folder: string;
let genesisFile: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-import-'));
  genesisFile = join(folder, 'genesis.json');
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});

async function tessera(...args: readonly string[]) {
  const context = createContext();
  const status = await runCli(args, context);
  return { status, out: context.out(), err: context.err() };
}

const importFrom = (source: string, name = 'storage') =>
  tessera(
    'import',
    '--from',
    source,
    '--data',
    join(folder, name),
    '--set',
    `network.genesis_file=${genesisFile}`,
    ...ON_MAIN_THREAD,
    '--json',
  );

const genesisOf = (name: string) =>
  tessera(
    'genesis',
    'import',
    ...['settings.toml', 'issuance.json', 'genesis.json'].map((file) => fixture(name, file)),
    '--out',
    genesisFile,
  );

/** The genesis file of a made-up chain. */
function writeGenesis(eras: readonly object[]): void {
  writeFileSync(genesisFile, stringifyExact(originalGenesisFile(eras)));
}

describe('chains that real original nodes made', () => {
  it('moves one over the envelope routes, and every balance is that of its mempool node', async () => {
    const made = await genesisOf('one-miner');
    expect(made).toMatchObject({ status: 0, err: '' });
    const { url } = await originalNode('envelope', realChain('one-miner'));
    const { status, out, err } = await importFrom(url);
    expect({ status, err: err.replace(/^import.*\n/gm, '') }).toEqual({ status: 0, err: '' });
    const report = JSON.parse(out);
    const balances = JSON.parse(readFileSync(fixture('one-miner', 'balances.json'), 'utf8'));
    expect(report).toMatchObject({
      source: `${url} (envelope)`,
      blocks: 42,
      imported: 42,
      transactions: 45,
      unspent: Object.values(balances.address_list).flat().length,
      supply: balances.total.tokens,
      eras: [{ from: 0, made_by: 'original', header: 'current', signatures: 'outputs', mempool_nodes: 1 }],
    });
    expect(report.eras[0]).not.toHaveProperty('find');
    expect(report.eras[0].unicorn.miners).toEqual(['127.0.0.1:12340']);
    const { state } = await rebuiltMempool(folder, genesisFile);
    expect(balancesAsTheirs(state, Object.keys(balances.address_list))).toEqual(balances);
    const again = await importFrom(url);
    expect(JSON.parse(again.out)).toMatchObject({ blocks: 42, imported: 0 });
  });

  it('moves one with trades, items, multisignatures and fees, which two mempool nodes and two miners made', async () => {
    await genesisOf('trades');
    const { status, out } = await importFrom(fixture('trades', '.'));
    expect(status).toBe(0);
    const balances = JSON.parse(readFileSync(fixture('trades', 'balances.json'), 'utf8'));
    const report = JSON.parse(out);
    const unspent = Object.values(balances.address_list).flat().length;
    const eras = [{ from: 0, header: 'current', mempool_nodes: 2 }];
    expect(report).toMatchObject({ blocks: 42, transactions: 87, unspent, eras });
    const { state } = await rebuiltMempool(folder, genesisFile);
    expect(balancesAsTheirs(state, Object.keys(balances.address_list))).toEqual(balances);
  });

  it('moves one over /v1, whose rewards are divided by two', async () => {
    await genesisOf('two-mempool-nodes');
    const { url } = await originalNode('v1', realChain('two-mempool-nodes'));
    const { out } = await importFrom(url);
    expect(JSON.parse(out)).toMatchObject({ source: `${url} (/v1)`, blocks: 75, eras: [{ mempool_nodes: 2 }] });
    expect((await rebuiltMempool(folder, genesisFile)).rebuilt.height).toBe(74);
    const verified = await tessera(
      'verify',
      '--role',
      'storage',
      '--data',
      join(folder, 'storage'),
      '--set',
      `network.genesis_file=${genesisFile}`,
      ...ON_MAIN_THREAD,
    );
    expect(verified).toMatchObject({
      status: 0,
      out: expect.stringContaining('75 blocks with 78 transactions, all valid'),
    });
  });

  it('reads one from the files of an export', async () => {
    await genesisOf('one-miner');
    const { out } = await importFrom(fixture('one-miner', '.'));
    expect(JSON.parse(out)).toMatchObject({ blocks: 42, transactions: 45 });
  });
});

describe('rules that nobody wrote down', () => {
  it('are found in the blocks, said, and written into the genesis file', async () => {
    const eras = [
      { ...UNKNOWN, find: undefined, header: 'oldest', signatures: 'outpoint' },
      { from: 3, made_by: 'original', header: 'prime', signatures: 'outpoint', mempool_nodes: 3 },
      { from: 6, made_by: 'original', mempool_nodes: 3 },
    ];
    const chain = createOriginalChain(originalGenesis(eras));
    for (let i = 0; i < 9; i++)
      chain.add([payment(i, { signatures: i < 6 ? 'outpoint' : 'outputs', fees: [txOut(tokenAsset(3n), ADDRESS)] })]);
    writeGenesis([UNKNOWN]);
    const node = await originalNode('envelope', chain.answers());
    const { out, err } = await importFrom(node.url);
    expect(err).toContain('found from block 3: headers in the layout "prime"');
    expect(err).toContain('found from block 3: rewards divided by 3');
    expect(err).toContain('found from block 6: signatures over the outputs');
    expect(JSON.parse(out)).toMatchObject({ blocks: 9 });
    const found = (await readGenesis(genesisFile)).eras.map(eraView);
    expect(found.at(-1)).toEqual({
      from: 6,
      made_by: 'original',
      header: 'current',
      signatures: 'outputs',
      mempool_nodes: 3,
    });
    expect((await rebuiltMempool(folder, genesisFile)).rebuilt.height).toBe(8);
  });

  it('are found at a later import too: another miner has joined since the last one', async () => {
    const unicorn = { modulus: 2n ** 521n - 1n, iterations: 2, miners: ['127.0.0.1:12340'] };
    const chain = createOriginalChain(originalGenesis([UNKNOWN]));
    const grow = (miners: readonly string[]) => {
      const last = chain.blocks.at(-1)?.block.header.miningTxHash;
      const participants = encodeSocketAddresses(last === undefined ? [] : miners);
      const transactions = last === undefined ? ['000000'] : [];
      const seed = unicornSeed({ transactions, participants, winners: last === undefined ? [] : [last] });
      chain.add([], { seedValue: seedValueOf(createUnicorn(seed, unicorn)) });
    };
    for (let i = 0; i < 4; i++) grow(unicorn.miners);
    const find = [...UNKNOWN.find, 'miners'];
    writeGenesis([{ ...UNKNOWN, find, unicorn: { ...unicorn, modulus: String(unicorn.modulus) } }]);
    const node = await originalNode('v1', chain.answers());
    expect(await importFrom(node.url)).toMatchObject({ status: 0, err: expect.not.stringContaining('found') });
    const settled = readFileSync(genesisFile, 'utf8');
    expect(await importFrom(node.url)).toMatchObject({ status: 0 });
    expect(readFileSync(genesisFile, 'utf8')).toBe(settled);
    for (let i = 0; i < 3; i++) grow([...unicorn.miners, '127.0.0.2:12340']);
    node.chain = chain.answers();
    const { status, err } = await importFrom(node.url);
    expect({ status, err }).toMatchObject({ status: 0, err: expect.stringContaining('found from block 4: seeds') });
    const { eras } = await readGenesis(genesisFile);
    expect(eras.map((era) => [era.from, era.unicorn?.miners.length])).toEqual([
      [0, 1],
      [4, 0],
    ]);

    // A second mempool node halves the rewards. That is found where the file says so.
    const [reward] = chain.next().miningTransaction.outputs;
    const { seedValue } = chain.blocks.at(-1)?.block.header ?? {};
    const half = txOut(tokenAsset((reward?.value.amount ?? 0n) / 2n), ADDRESS);
    chain.add([], { ...(seedValue && { seedValue }) }, { outputs: [half] });
    node.chain = chain.answers();
    expect(await importFrom(node.url)).toMatchObject({ status: 1, err: expect.stringContaining('the reward is') });
    const file = JSON.parse(readFileSync(genesisFile, 'utf8'));
    Object.assign(file.eras.at(-1), { find: ['header', 'mempool_nodes'] });
    writeFileSync(genesisFile, JSON.stringify(file));
    const found = await importFrom(node.url);
    expect(found).toMatchObject({ status: 0, err: expect.stringContaining('from block 7: rewards divided by 2') });
  });

  it('keep every other node from starting until then', async () => {
    writeGenesis([UNKNOWN]);
    await expect(readGenesis(genesisFile)).rejects.toThrow('run tessera import');
  });
});

describe('a source that is not to be believed', () => {
  /** A storage node with ten blocks, and an import with short limits. */
  async function limited(change: (node: Awaited<ReturnType<typeof originalNode>>) => void = () => undefined) {
    const chain = createOriginalChain(originalGenesis([{ from: 0, made_by: 'original' }]));
    for (let i = 0; i < 10; i++) chain.add([payment(i)]);
    writeGenesis([{ from: 0, made_by: 'original' }]);
    const node = await originalNode('envelope', chain.answers());
    const signal = new AbortController().signal;
    const run = async () => {
      const answers = await httpAnswers(node.url, { signal, timeoutMs: 1_000, maxAnswerBytes: 4_000_000 });
      const config = createConfig('storage', {
        'network.secret': 'a secret of this test',
        'node.data_dir': join(folder, 'storage'),
        'network.genesis_file': genesisFile,
        'storage.verify_threads': 0,
      });
      const source = new ChainSource(answers, { signal, retryMs: 1 });
      return importChain(source, { config, signal, onProgress: () => undefined, onFound: () => undefined });
    };
    change(node);
    return { chain, node, run };
  }

  const inBlocks = (answer: string) => (path: string) => (path === '/block_by_num' ? answer : undefined);

  it.each([
    ['gives something else', inBlocks('{"content":[["b00",{"block":{"header":{}}}]]}'), 'other_chain'],
    ['gives no list', inBlocks('{"content":7}'), 'other_chain'],
    ['stops', inBlocks('lost'), 'node_unreachable'],
    ['does not answer in time', inBlocks('slow'), 'node_unreachable'],
    ['answers without an end', inBlocks('endless'), 'node_unreachable'],
  ])('ends by name when it %s', async (_what, instead, code) => {
    const { node, run } = await limited();
    node.instead = instead;
    await expect(run()).rejects.toMatchObject({ code });
    node.instead = () => undefined;
    expect(await run()).toMatchObject({ blocks: 10 });
  });

  it('ends by name when a transaction is another, and what came before is whole', async () => {
    const { chain, node, run } = await limited();
    const right = node.chain;
    const wrong = createOriginalChain(originalGenesis([{ from: 0, made_by: 'original' }]));
    for (let i = 0; i < 10; i++) wrong.add([payment(i + 20)]);
    const at = right.transactions.findIndex(([key]) => key === chain.blocks[6]?.block.transactions[0]);
    const other = wrong.answers().transactions[at];
    node.chain = {
      ...right,
      transactions: right.transactions.map((one, i) => (i === at && other ? [one[0], other[1], one[2]] : one)),
    };
    await expect(run()).rejects.toMatchObject({ code: 'block_refused', message: expect.stringContaining('block 6') });
    node.chain = right;
    expect(await run()).toMatchObject({ blocks: 10, imported: 4 });
  });

  it('leaves no rule behind that a refused block has shown', async () => {
    const eras = [{ from: 0, made_by: 'original', signatures: 'outpoint' }];
    const chain = createOriginalChain(originalGenesis(eras));
    for (let i = 0; i < 5; i++) chain.add([payment(i, { signatures: 'outpoint' })]);
    const lie = createOriginalChain(originalGenesis(eras));
    for (const { transactions } of chain.blocks.slice(0, 3)) lie.add(transactions);
    lie.add([payment(3)], { layout: 'prime', merkleRoot: 'another' });
    lie.add();
    writeGenesis([UNKNOWN]);
    const node = await originalNode('envelope', lie.answers());
    expect(await importFrom(node.url)).toMatchObject({ status: 1, err: expect.stringContaining('block 3') });
    const { eras: found } = await readGenesis(genesisFile, { withUnknown: true });
    expect(found.map(({ header, signatures, find }) => [header, signatures, find.length])).toEqual([
      ['current', 'outputs', 3],
      ['current', 'outpoint', 3],
    ]);
    node.chain = chain.answers();
    expect(await importFrom(node.url)).toMatchObject({ status: 0 });
    expect((await readGenesis(genesisFile)).eras.map(({ from, signatures }) => [from, signatures])).toEqual([
      [0, 'outputs'],
      [1, 'outpoint'],
    ]);
  });

  it('reads the genesis file when the folder is its own', async () => {
    const { run } = await limited();
    const other = await DataDir.open(join(folder, 'storage'), { role: 'storage', networkName: 'tessera' });
    writeFileSync(genesisFile, '{');
    await expect(run()).rejects.toThrow('uses the data directory');
    await other.close();
  });

  it('ends by name when it changes its mind, before and after', async () => {
    const { node, run } = await limited();
    const right = node.chain;
    const other = createOriginalChain(originalGenesis([{ from: 0, made_by: 'original' }]));
    for (let i = 0; i < 10; i++) other.add([payment(i + 40)]);
    const theirs = other.answers();
    node.chain = {
      blocks: [...right.blocks.slice(0, 5), ...theirs.blocks.slice(5)],
      transactions: [...right.transactions, ...theirs.transactions],
    };
    await expect(run()).rejects.toMatchObject({ code: 'other_chain' });
    node.chain = theirs;
    await expect(run()).rejects.toMatchObject({
      code: 'other_chain',
      message: expect.stringContaining('another block 4'),
    });
    node.chain = right;
    expect(await run()).toMatchObject({ blocks: 10, imported: 5 });
  });

  it('hands over no more blocks together than fit into memory, whole ones', async () => {
    const chain = createOriginalChain(originalGenesis([{ from: 0, made_by: 'original' }]));
    const script = [{ kind: 'bytes' as const, text: 'x'.repeat(1_500_000) }];
    // Genesis transactions have names of their own.
    chain.add();
    for (let i = 0; i < 9; i++) chain.add([{ ...payment(i), inputs: [{ previousOut: { tHash: '', n: i }, script }] }]);
    const { url } = await originalNode('v1', chain.answers());
    const { signal } = new AbortController();
    const source = new ChainSource(await httpAnswers(url, { signal }), { signal });
    const sizes: number[] = [];
    for (let next = 1; next < 10; ) {
      const blocks = await source.blocks(next, 9);
      expect(blocks.map(({ transactions }) => transactions.map((tx) => transactionHash(tx)))).toEqual(
        chain.blocks.slice(next, next + blocks.length).map(({ block }) => block.transactions),
      );
      sizes.push(blocks.length);
      next += blocks.length;
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(5);
  });

  it('is a folder whose files are read in turns, and what is no entry in them ends by name', async () => {
    const files = join(folder, 'export');
    cpSync(fixture('one-miner', '.'), files, { recursive: true });
    const aborted = AbortSignal.abort(new Error('enough'));
    await expect(folderAnswers(files, { signal: aborted })).rejects.toThrow();
    writeFileSync(join(files, 'transactions.json'), `[${'[],'.repeat(100)}[]]`);
    await expect(folderAnswers(files, new AbortController())).rejects.toMatchObject({ code: 'malformed_json' });
  });

  it('ends by name when it gives more than it was asked for', async () => {
    const { node, run } = await limited();
    const { transactions } = node.chain;
    const content = stringifyExact({ content: [...transactions, ...transactions] });
    node.instead = (path) => (path === '/blockchain_entry' ? content : undefined);
    await expect(run()).rejects.toMatchObject({ code: 'other_chain', message: expect.stringContaining('more than') });
  });

  it('ends by name when it lacks a block or a transaction', async () => {
    const { node, run } = await limited();
    const right = node.chain;
    node.chain = { ...right, transactions: right.transactions.slice(0, 5) };
    await expect(run()).rejects.toMatchObject({ code: 'data_lost' });
  });
});

/** The answer of a mempool node about the addresses, in the shape of the original's. */
function balancesAsTheirs(state: Awaited<ReturnType<typeof loadMempoolState>>, addresses: readonly string[]): unknown {
  const { tokens, items, addresses: found } = balancesOf(state.utxos, addresses);
  const entries = [...found].map(([address, holdings]) => [
    address,
    [...holdings].map(({ outPoint, value }) => ({ out_point: outPointView(outPoint), value: assetView(value) })),
  ]);
  return JSON.parse(stringifyExact({ total: { tokens, items }, address_list: Object.fromEntries(entries) }));
}
