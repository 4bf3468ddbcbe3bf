/** What tests of chains that move in share: transactions as original nodes took them, and what must be the same afterwards. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { itemAsset, tokenAsset, withFixedHash } from '../../src/chain/assets.js';
import { createItemFromSignature, txOut } from '../../src/chain/builders.js';
import { transactionHash } from '../../src/chain/hash.js';
import { assetView, outPointView } from '../../src/chain/json.js';
import { pay2pkhScript } from '../../src/chain/script/builders.js';
import { assetSignable } from '../../src/chain/signable.js';
import type { AddressVersion, FullBlock, OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { runCli } from '../../src/cli/run.js';
import { createConfig } from '../../src/config/load.js';
import { keyPairFromSeed, sign } from '../../src/crypto/ed25519.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Kv } from '../../src/db/kv.js';
import { type JsonValue, parseExactJson, stringifyExact } from '../../src/lib/json.js';
import { balancesOf } from '../../src/mempool/balances.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { openArchiveFiles, segmentsOf } from '../../src/node/archive-files.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import { rebuildMempool } from '../../src/node/rebuild/rebuild-mempool.js';
import { stateRules } from '../../src/node/roles/mempool/options.js';
import { Archive } from '../../src/storage/archive/archive.js';
import type { ChainView } from '../../src/storage/chain-index/service.js';
import { inputSignable } from '../vectors/reference-library.js';
import { createContext } from './cli-context.js';
import { openJournal } from './journal.js';
import { account } from './mempool.js';
import { createPair, type Pair, type PairOptions } from './mempool-and-archive.js';
import { type createOriginalChain, originalGenesis } from './original-chain.js';
import { originalNode } from './original-node.js';
import { IndexedChain } from './storage/indexed-chain.js';
import { ADDRESS } from './storage/test-chain.js';

export const ERAS = [{ from: 0, made_by: 'original', find: ['header', 'signatures', 'mempool_nodes', 'miners'] }];
export const OWNER = keyPairFromSeed(new Uint8Array(32).fill(3));
export const U64_MAX = 0xffff_ffff_ffff_ffffn;
export const TRADERS = [3, 4, 5].map((byte) => keyPairFromSeed(new Uint8Array(32).fill(byte)));

let folder: string;
let genesisFile: string;

/** A new folder for the chains of the test. */
export function movingFolder(): void {
  folder = mkdtempSync(join(tmpdir(), 'tessera-oddities-'));
  genesisFile = join(folder, 'genesis.json');
  const made = folder;
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
}

export async function tessera(...args: readonly string[]) {
  const context = createContext();
  const status = await runCli(
    [
      ...args,
      '--data',
      join(folder, 'storage'),
      '--set',
      `network.genesis_file=${genesisFile}`,
      '--set',
      'storage.verify_threads=0',
      '--set',
      'network.producer_keys=',
    ],
    context,
  );
  return { status, out: context.out(), err: context.err() };
}

/** Unspent outputs by the rules of the original: fees are put over outputs, and nothing else is asked. In our blocks they stand behind. */
function unspentOf(blocks: readonly FullBlock[]): Map<string, { readonly outPoint: OutPoint; readonly txOut: TxOut }> {
  const unspent = new Map<string, { readonly outPoint: OutPoint; readonly txOut: TxOut }>();
  const put = (outPoint: OutPoint, one: TxOut) =>
    unspent.set(`${outPoint.tHash}/${outPoint.n}`, { outPoint, txOut: one });
  for (const { block, transactions, miningTransaction } of blocks) {
    for (const { inputs } of transactions) {
      for (const { previousOut } of inputs) unspent.delete(`${previousOut?.tHash}/${previousOut?.n}`);
    }
    for (const [i, { outputs, fees }] of [...transactions, miningTransaction].entries()) {
      const tHash = block.transactions[i] ?? block.header.miningTxHash;
      const isOurs = block.header.isOriginal === undefined;
      const places = isOurs ? [...outputs, ...fees].entries() : [...outputs.entries(), ...fees.entries()];
      for (const [n, one] of places) put({ tHash, n }, one);
    }
  }
  return unspent;
}

/** What the old mempool node answers about all addresses. */
export function oldBalancesOf(blocks: readonly FullBlock[]): JsonValue {
  const address_list = new Map<string, unknown[]>();
  for (const { outPoint, txOut: one } of unspentOf(blocks).values()) {
    if (one.scriptPublicKey === null) continue;
    const output = { out_point: outPointView(outPoint), value: assetView(withFixedHash(one.value, outPoint)) };
    address_list.set(one.scriptPublicKey, [...(address_list.get(one.scriptPublicKey) ?? []), output]);
  }
  return parseExactJson(stringifyExact({ total: {}, address_list }), { anyName: true });
}

/** Imports the chain over these kinds of API, and compares what a mempool node beside it holds with the model. */
export async function moves(
  chain: ReturnType<typeof createOriginalChain>,
  file: object,
  kinds: readonly ('v1' | 'envelope')[] = ['v1', 'envelope'],
): Promise<void> {
  writeFileSync(genesisFile, stringifyExact(file));
  const unspent = [...unspentOf(chain.blocks).values()].filter(
    ({ txOut: { scriptPublicKey } }) => scriptPublicKey !== null,
  );
  for (const kind of kinds) {
    rmSync(join(folder, 'storage'), { recursive: true, force: true });
    const node = await originalNode(kind, chain.answers());
    const { url } = node;
    node.wantsNames = kind === 'envelope';
    const imported = await tessera('import', '--from', url, '--json');
    expect(imported).toMatchObject({ status: 0, err: expect.not.stringContaining('code') });
    expect(JSON.parse(imported.out)).toMatchObject({ blocks: chain.blocks.length, unspent: unspent.length });
  }
  expect(await tessera('verify', '--role', 'storage')).toMatchObject({ status: 0 });
  const balances = join(folder, 'balances.json');
  writeFileSync(balances, stringifyExact(oldBalancesOf(chain.blocks)));
  const flags = ['--at', String(chain.blocks.length), '--balances', balances, '--dry-run', '--json'];
  const taken = await tessera('takeover', ...flags);
  expect(taken).toMatchObject({ status: 0, err: expect.not.stringContaining('code') });
  expect(JSON.parse(taken.out)).toMatchObject({ differences: [] });
  const addresses = [...new Set(unspent.map(({ txOut: { scriptPublicKey } }) => scriptPublicKey ?? ''))];
  const held = await holdings(addresses);
  for (const address of addresses) {
    const theirs = unspent.filter(({ txOut: { scriptPublicKey } }) => scriptPublicKey === address);
    expect([address, held(address)]).toEqual([
      address,
      theirs.map(({ outPoint, txOut: { value } }) => text(outPoint, value)).sort(),
    ]);
  }
}

/** The index of blocks as they come is that of all at once, and has the unspent outputs of the model. */
export async function isIndexedAlike(
  blocks: readonly FullBlock[],
  more: object = {},
  look: (view: ChainView) => Promise<void> = async () => undefined,
): Promise<IndexedChain> {
  const genesis = originalGenesis([{ from: 0, made_by: 'original' }], more);
  const indexed = await IndexedChain.open({}, { genesis, activationHeight: 3 });
  for (const block of blocks) {
    await indexed.store([block]);
    if (block.block.header.bNum % 3n === 0n) await indexed.caughtUp();
  }
  await indexed.caughtUp();
  await indexed.index.at(async (view) => {
    for (const [address, count] of countsOf(unspentOf(blocks))) {
      expect([address, (await view.address(address))?.unspentOutputs]).toEqual([address, count]);
    }
    await look(view);
  });
  const records = await indexed.records();
  await indexed.stopIndex();
  await indexed.forgetIndex();
  await indexed.startIndex();
  await indexed.caughtUp();
  expect(await indexed.records()).toEqual(records);
  return indexed;
}

function countsOf(unspent: ReturnType<typeof unspentOf>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { txOut } of unspent.values()) {
    const address = txOut.scriptPublicKey;
    if (address !== null) counts.set(address, (counts.get(address) ?? 0) + 1);
  }
  return counts;
}

const text = (outPoint: OutPoint, value: TxOut['value']) =>
  stringifyExact([outPointView(outPoint), assetView(withFixedHash(value, outPoint))]);

/** A mempool node's own state after all blocks of the archive in `storage`, rebuilt in a folder beside it. */
export async function rebuiltMempool(root: string, file: string, name = 'mempool') {
  const config = createConfig('mempool', {
    'network.secret': 'a secret of this test',
    'node.data_dir': join(root, name),
    'network.genesis_file': file,
    'mempool.verify_threads': 0,
  });
  const genesis = await readGenesis(file);
  const { signal } = new AbortController();
  const archive = join(root, 'storage');
  const rebuilt = await rebuildMempool({ config, genesis, archive, signal, onProgress: () => undefined });
  const directory = await DataDir.open(config.node.dataDir, { role: 'mempool', networkName: config.network.name });
  onTestFinished(() => directory.close());
  const kv = await directory.open('mempool');
  const rules = stateRules(genesis, config);
  const state = await loadMempoolState(kv, rules, { hashKey: new Uint8Array(8) });
  return { rebuilt, state, genesis, rules, kv, journalKv: await directory.open('journal') };
}

/** Takes over what `moves` has imported: a mempool node and a miner of ours, and the archive that keeps their blocks. */
export async function takenOver(
  chain: ReturnType<typeof createOriginalChain>,
  { change, ...options }: Pick<PairOptions, 'logger'> & { readonly change?: (kv: Kv) => Promise<void> } = {},
) {
  const at = ['--at', String(chain.blocks.length)];
  expect(await tessera('takeover', ...at, '--balances', join(folder, 'balances.json'))).toMatchObject({ status: 0 });
  const { genesis, rules, kv, journalKv } = await rebuiltMempool(folder, genesisFile, 'goes-on');
  const config = createConfig('storage', { 'network.secret': 'a secret of this test' });
  const about = { role: 'storage', networkName: config.network.name };
  const directory = await DataDir.open(join(folder, 'storage'), about);
  onTestFinished(() => directory.close());
  const files = await openArchiveFiles(directory, await segmentsOf(directory, config));
  const archive = await Archive.open({ rules: { genesis, activationHeight: rules.asertActivationHeight } }, files);
  await archive.load();
  const miner = account('a miner of ours');
  const journal = await openJournal(journalKv);
  await change?.(kv);
  const pair = await createPair({ genesis, rules, kv, journal, archive, miner, onDemand: true, ...options });
  onTestFinished(() => pair.close());
  return pair;
}

/** Compares what the mempool node holds with the model, after blocks of both kinds. */
export function holdsAlike({ mempool }: Pick<Pair, 'mempool'>, blocks: readonly FullBlock[]): void {
  const listed = new Map<string, string[]>();
  for (const { outPoint, txOut: one } of unspentOf(blocks).values())
    if (one.scriptPublicKey !== null)
      listed.set(one.scriptPublicKey, [...(listed.get(one.scriptPublicKey) ?? []), text(outPoint, one.value)]);
  const { addresses } = mempool.balances([...listed.keys()]);
  const held = [...addresses].map(([address, holdings]): [string, string[]] => [
    address,
    [...holdings].map(({ outPoint, value }) => text(outPoint, value)),
  ]);
  const sorted = (of: Iterable<[string, string[]]>) =>
    Object.fromEntries([...of].map(([address, one]) => [address, one.sort()]));
  expect(sorted(held)).toEqual(sorted(listed));
}

/** The outputs of an address in a mempool node that is rebuilt beside the archive. */
async function holdings(addresses: readonly string[]): Promise<(address: string) => readonly string[]> {
  const { utxos } = (await rebuiltMempool(folder, genesisFile)).state;
  const { addresses: found } = balancesOf(utxos, addresses);
  return (address) => [...(found.get(address) ?? [])].map(({ outPoint, value }) => text(outPoint, value)).sort();
}

export interface Making {
  readonly key?: typeof OWNER;
  readonly version?: AddressVersion;
  readonly fees?: readonly TxOut[];
  readonly druidInfo?: Transaction['druidInfo'];
}

export function pays(inputs: readonly OutPoint[], outputs: readonly TxOut[], making: Making = {}): Transaction {
  const { key = OWNER, version = null, fees = [], druidInfo = null } = making;
  const signed = inputs.map((previousOut) => {
    const signable = inputSignable(outputs, previousOut);
    return { previousOut, script: pay2pkhScript(signable, sign(key.seed, signable), key.publicKey, version) };
  });
  return { inputs: signed, outputs, version: 6n, fees, druidInfo };
}

export function creates(
  n: number,
  amount: bigint,
  address: string,
  metadata: string | null = null,
  spec: 'Create' | 'Default' = 'Create',
) {
  const signature = sign(OWNER.seed, assetSignable(itemAsset(amount, null)));
  return createItemFromSignature(
    { bNum: BigInt(n), amount, spec, metadata },
    { address, publicKey: OWNER.publicKey, signature },
  );
}

export const tokens = (amount: bigint, address: string | null = ADDRESS, locktime = 0n): TxOut =>
  txOut(tokenAsset(amount), address, locktime);
export const items = (amount: bigint, of: string | null, address: string | null = ADDRESS): TxOut =>
  txOut(itemAsset(amount, of), address);
export const at = (tx: Transaction, n = 0): OutPoint => ({ tHash: transactionHash(tx), n });
