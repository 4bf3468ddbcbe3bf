/**
 * `tessera takeover`: prepares an imported chain for our nodes. The genesis file gets the height from which our rules hold; the
 * last block of the original nodes gets the certificate of a producer, which proves all blocks before it.
 */

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { certifyBlock, chainName } from '../../chain/certificate.js';
import { eraAt, OUR_ERA } from '../../chain/eras.js';
import { type Genesis, parseGenesis } from '../../chain/genesis.js';
import { assetView } from '../../chain/json.js';
import { isCreate, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { formFault, planCreateValidation } from '../../chain/validation.js';
import type { Config } from '../../config/schema.js';
import type { KeyPair } from '../../crypto/ed25519.js';
import { DataDir } from '../../db/data-dir.js';
import type { Kv } from '../../db/kv.js';
import { TesseraError } from '../../lib/errors.js';
import { parseExactJson, stringifyExact } from '../../lib/json.js';
import { Archive } from '../../storage/archive/archive.js';
import { Certificates } from '../../storage/archive/certificates.js';
import { unspentKey } from '../../storage/archive/layout.js';
import { unspentIn } from '../../storage/archive/unspent-outputs.js';
import { openArchiveFiles, segmentsOf } from '../archive-files.js';
import { genesisWith, readGenesis, writeGenesisText } from '../genesis-file.js';
import { genesisFingerprint } from '../network-rules.js';
import { compare, contentText, type Holdings, type OldBalances } from './old-balances.js';

export interface TakeoverOptions {
  /** Configuration of the storage node with the imported chain. */
  readonly config: Config;
  /** The first block that our rules hold for. */
  readonly at: number;
  /** True for a rehearsal on a copy, which is removed; differences do not end it. */
  readonly isRehearsal: boolean;
  readonly producer: KeyPair | undefined;
  /** Milliseconds between two blocks; undefined leaves it to the configuration. */
  readonly intervalMs: number | undefined;
  readonly balances: OldBalances | undefined;
  /** Transactions of the old network's pool, by hash. */
  readonly pool: ReadonlyMap<string, Transaction>;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

export type Takeover = Awaited<ReturnType<typeof takeOver>>;

/**
 * Gives the genesis file that every node needs, the number of compared addresses (undefined without balances), and which transactions
 * of the old pool can be posted, and which not, with the reason. Throws `invalid_config` for a height that is not the next block's, and
 * `other_chain` when balances differ.
 */
export async function takeOver(options: TakeoverOptions) {
  const { config, isRehearsal } = options;
  const about = { role: 'storage', networkName: config.network.name };
  const directory = await DataDir.open(config.node.dataDir, about);
  try {
    if (!isRehearsal) return await takeOverIn(directory, options);
    return await directory.withCopy(about, (copy) => takeOverIn(copy, options));
  } finally {
    await directory.close();
  }
}

async function takeOverIn(directory: DataDir, options: TakeoverOptions) {
  const { config, at, signal, isRehearsal, balances, producer } = options;
  const genesis = await readGenesis(config.network.genesisFile);
  const files = await openArchiveFiles(directory, await segmentsOf(directory, config));
  const rules = { genesis, activationHeight: config.mining.asertActivationHeight };
  const archive = await Archive.open({ rules, cacheBytes: 0 }, files);
  await archive.load(undefined, signal);
  const lastHash = lastOfOriginal(archive, genesis, at);
  const eras = [...genesis.eras.filter(({ from }) => from < at), { ...OUR_ERA, from: at }];
  const text = genesisWith(config.network.genesisFile, eras, options.intervalMs);
  const next = parseGenesis(parseExactJson(text, { anyName: true }));
  const compared = balances && (await compare(balances, await heldIn(files.kv), options.onProgress));
  const differences = compared?.differences ?? [];
  const pool = await sorted(archive, files.kv, options.pool);
  if (differences.length > 0 && !isRehearsal) {
    const some = differences.slice(0, 5).join(' | ');
    const message = `nothing was written: ${differences.length} addresses have other balances than in the old network (all with --dry-run): ${some}; the old mempool node counts the block that it is making already, so let it make two empty ones first`;
    throw new TesseraError('other_chain', message);
  }
  const target = isRehearsal ? join(directory.path, 'genesis.json') : config.network.genesisFile;
  if (isRehearsal) await copyFile(config.network.genesisFile, target);
  await writeGenesisText(target, text);
  const chain = chainName(config.network.name, genesisFingerprint(next));
  const batch = files.kv.batch();
  const certificates = await Certificates.open(files.kv, undefined, at - 1);
  if (producer !== undefined)
    certificates.put(at - 1, certifyBlock(producer, chain, { height: at - 1, hash: lastHash }), batch);
  await files.kv.write(batch, { sync: true });
  return { lastHash, genesis: next, addresses: compared?.addresses, differences, ...pool };
}

/** The hash of the last block, which original nodes must have made. */
function lastOfOriginal({ nextHeight, tip: { hash } }: Archive, { eras }: Genesis, at: number): string {
  const isTheirs = eraAt(eras, nextHeight - 1).isOriginal;
  if (hash !== null && isTheirs && at === nextHeight) return hash;
  const whose = isTheirs ? 'original nodes' : 'our nodes already';
  const advice = at > nextHeight ? 'import the rest first' : `the next block is ${nextHeight}`;
  const message = `the folder has ${nextHeight} blocks, the last by ${whose}, and block ${at} is to be the next one: ${advice}`;
  throw new TesseraError('invalid_config', message);
}

async function heldIn(kv: Kv): Promise<Holdings> {
  const held = new Map<string, Map<string, string>>();
  for await (const [{ n, tHash }, { scriptPublicKey: address, value }] of unspentIn(kv)) {
    if (address === null) continue;
    const content = contentText(parseExactJson(stringifyExact(assetView(value))), tHash) ?? '';
    held.set(address, (held.get(address) ?? new Map<string, string>()).set(`${n}-${tHash}`, content));
  }
  return held;
}

/** Sorts the transactions of the old pool that are in no block: which can be posted, and why others cannot. */
async function sorted({ lookups }: Archive, kv: Kv, pool: TakeoverOptions['pool']) {
  const waiting: Transaction[] = [];
  const refused: [hash: string, reason: string][] = [];
  const taken = new Set<string>();
  for (const [hash, transaction] of pool) {
    const [stored] = await lookups.transactions([hash]);
    if (stored !== undefined) continue;
    const spent = spentOutPoints(transaction);
    const records = await kv.getMany(spent.map(unspentKey));
    const wrong = isCreate(transaction) ? planCreateValidation(transaction).fault : formFault(transaction);
    const isFree = !records.includes(undefined) && !spent.some((outPoint) => taken.has(outPointKey(outPoint)));
    const reason = wrong?.message ?? (isFree ? undefined : 'what it spends is not there, or another one spends it');
    if (reason !== undefined) refused.push([hash, reason]);
    else waiting.push(transaction);
    for (const outPoint of reason === undefined ? spent : []) taken.add(outPointKey(outPoint));
  }
  return { waiting, refused };
}
