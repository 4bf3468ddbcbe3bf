/**
 * What the folder of a node answers when it is opened as a node opens it: every record of its databases, the state that the
 * journal gives, the keys. Two folders with the same answers serve the same.
 */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.js';
import { PACKAGE_CONFIG_DIR } from '../../src/config/option-table.js';
import type { Config } from '../../src/config/schema.js';
import { DataDir } from '../../src/db/data-dir.js';
import type { Kv } from '../../src/db/kv.js';
import { keys as journalKeys, LocalJournal } from '../../src/journal/local-journal.js';
import { HASH_KEY_BYTES } from '../../src/ledger/utxo/keyed-hash.js';
import { toHex } from '../../src/lib/bytes.js';
import { systemClock } from '../../src/lib/clock.js';
import { systemRandom } from '../../src/lib/random.js';
import type { NodeRole } from '../../src/lib/roles.js';
import { createUnicornSource } from '../../src/mempool/blocks/unicorn-source.js';
import { Applier } from '../../src/mempool/state/applier.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import { stateRules } from '../../src/node/roles/mempool/options.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { loadOrCreateNodeKey } from '../../src/peers/node-key.js';
import { ROUND_KEY } from '../../src/storage/archive/layout.js';
import { KEYSTORE_FILE, Keystore } from '../../src/wallet/keys/keystore.js';
import { MemoryKv } from '../support/memory-kv.js';

const END_OF_KEYS = Uint8Array.of(0xff);
/** Bytes that the master key of a wallet seals: whoever has another key cannot open the result. */
const PROBE = { content: Buffer.from('probe'), context: 'reliability' };

/** By name: `journal` and the other databases, `state`, `node-key`, and a way to hold the keystore against another. */
export type Answers = ReadonlyMap<string, string>;

export interface ReadOptions {
  /** The databases that the folder must hold. */
  readonly databases: readonly string[];
  /** A box that the right keystore opens; without one the keystore is not opened, which takes a while on purpose. */
  readonly sealed?: Uint8Array | undefined;
}

function devConfigOf(role: NodeRole): Config {
  return loadConfig({ role, file: join(PACKAGE_CONFIG_DIR, 'dev.toml') }).config;
}

/** Opens the folder and reads all of it. Throws as a node does that does not start. */
export async function readFolder(role: NodeRole, path: string, options: ReadOptions): Promise<Answers> {
  const config = devConfigOf(role);
  const directory = await DataDir.open(path, { role, networkName: config.network.name });
  try {
    const answers = new Map<string, string>();
    const key = await loadOrCreateNodeKey(join(path, 'node-key'), systemRandom);
    answers.set('node-key', toHex(key.publicKey));
    if (options.sealed !== undefined) answers.set('keystore', await openProbe(path, options.sealed));
    const opened = new Map<string, Kv>();
    for (const name of options.databases) opened.set(name, await directory.open(name));
    const [mempool, journal] = [opened.get('mempool'), opened.get('journal')];
    for (const [name, kv] of opened) if (kv !== mempool) answers.set(name, await contentsOf(name, kv));
    if (mempool !== undefined && journal !== undefined) {
      answers.set('state', await stateAfterJournal(config, mempool, journal));
    }
    return answers;
  } finally {
    await directory.close();
  }
}

/** A box that only the keystore of this folder opens. */
export async function sealProbe(path: string): Promise<Uint8Array> {
  const keystore = await openKeystore(path);
  try {
    return keystore.seal(PROBE.content, PROBE.context);
  } finally {
    keystore.close();
  }
}

/**
 * The state of a mempool node twice, as its folder gives it and as the whole journal does from nothing; they must be equal.
 * `replayed` is undefined when the journal begins later: the node was made anew from blocks, or has forgotten old commands.
 */
export async function statesOf(
  path: string,
): Promise<{ readonly stored: string; readonly replayed: string | undefined }> {
  const config = devConfigOf('mempool');
  const directory = await DataDir.open(path, { role: 'mempool', networkName: config.network.name });
  try {
    const [mempool, journal] = [await directory.open('mempool'), await directory.open('journal')];
    const stored = await stateAfterJournal(config, mempool, journal);
    const isWhole = (await journal.get(journalKeys.entry(1))) !== undefined;
    return { stored, replayed: isWhole ? await stateAfterJournal(config, new MemoryKv(), journal) : undefined };
  } finally {
    await directory.close();
  }
}

async function openKeystore(path: string): Promise<Keystore> {
  return Keystore.open(
    { file: join(path, KEYSTORE_FILE), passphrase: '', createIfMissing: false, allowBlankPassphrase: true },
    { random: systemRandom, clock: systemClock },
  );
}

async function openProbe(path: string, sealed: Uint8Array): Promise<string> {
  const keystore = await openKeystore(path);
  try {
    return keystore.open(sealed, PROBE.context)?.toString() ?? 'another master key';
  } finally {
    keystore.close();
  }
}

/** A digest of all records that can be made again, in order. */
async function contentsOf(name: string, kv: Kv): Promise<string> {
  const hash = createHash('sha256');
  let count = 0;
  for await (const [key, value] of kv.entries({ gte: new Uint8Array(), lt: END_OF_KEYS })) {
    // An archive that is made again from its segments does not have it (docs/adr/0056-blocks-in-segments.md).
    if (name === 'archive' && key.length === ROUND_KEY.length && key[0] === ROUND_KEY[0]) continue;
    hash.update(`${key.length}:${value.length}:`).update(key).update(value);
    count += 1;
  }
  return `${count} records, ${hash.digest('hex')}`;
}

/** The state as a start makes it: what the database holds, and what the journal has beyond it. */
async function stateAfterJournal(config: Config, kv: Kv, journalKv: Kv): Promise<string> {
  const rules = stateRules(await readGenesis(config.network.genesisFile), config);
  const state = await loadMempoolState(kv, rules, { hashKey: systemRandom.bytes(HASH_KEY_BYTES) });
  const modules = { clock: systemClock, metrics: noMetrics };
  const journal = await LocalJournal.open({}, { kv: journalKv, ...modules });
  const { unicorn } = config.mining;
  const source = createUnicornSource({ modulus: BigInt(unicorn.modulus), iterations: unicorn.iterations });
  const applier = new Applier({ journal, store: new StateStore(kv, systemClock), state, unicorn: source, ...modules });
  applier.failed.catch(() => undefined);
  try {
    await applier.start();
    return `after command ${state.seq}: ${state.digest()}`;
  } finally {
    await applier.stop();
    await journal.close();
  }
}
