/** `tessera verify`: checks the data of a stopped node: every record, and the rules of the data. */

import { existsSync } from 'node:fs';
import type { NodeClient } from '../client/client.js';
import { loadConfig } from '../config/load.js';
import type { Config } from '../config/schema.js';
import { DataDir } from '../db/data-dir.js';
import type { Kv } from '../db/kv.js';
import { HASH_KEY_BYTES } from '../ledger/utxo/keyed-hash.js';
import type { Verifier } from '../ledger/verifier/verifier.js';
import { systemClock } from '../lib/clock.js';
import { TesseraError } from '../lib/errors.js';
import { stringifyExact } from '../lib/json.js';
import { systemRandom } from '../lib/random.js';
import { factsOf, hasWallet } from '../lib/roles.js';
import type { MempoolState } from '../mempool/state/state.js';
import type { ArchiveAccount } from '../node/verify/archive-account.js';
import type { Archive } from '../storage/archive/archive.js';
import { type CliContext, type Command, type CommandSpec, UsageError } from './command.js';
import { TIMEOUT_FLAG } from './command-client.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { CA_FILE_FLAG, checkUrl, publicClient } from './node-access.js';
import { startProgress } from './progress.js';
import { JSON_FLAG } from './wallet/connection.js';

/** A journal in etcd is in no database. */
function databasesOf({ node, journal }: Config): readonly string[] {
  const all = factsOf(node.role).databases;
  return journal.kind === 'local' ? all : all.filter((name) => name !== 'journal');
}

/** Databases that can be compared with an archive. */
const COMPARED: ReadonlySet<string> = new Set(['mempool', 'wallet']);

/** No key begins with this byte. */
const END_OF_KEYS = Uint8Array.of(0xff);

const spec: CommandSpec = {
  name: 'verify',
  summary: 'Checks the data of a stopped node',
  description: [
    'Reads every record of the node’s databases and checks its checksum. On a storage node, it also checks every ' +
      'block by the rules of the chain, every index entry against its data, and the index for explorers against a ' +
      'new one (which takes as much space again, for a while). On a mempool node, it checks the state against the ' +
      'digest of the last command, and against the journal, which it applies again in memory. Ends with data_corrupt ' +
      'and status 1 at the first fault.',
    'With --archive, compares the unspent outputs of a mempool node or a wallet with an archive, output by output: ' +
      'the folder of a storage node of the same network, or a restored backup of it. With --node, compares a wallet ' +
      'with a running mempool node over its API.',
    'The nodes must be stopped, because only one process can use a data folder. Nothing is changed, except that a ' +
      'folder of an older format is upgraded, as at a start.',
  ],
  flags: [
    ...CONFIG_FLAGS,
    {
      name: 'archive',
      value: 'DIR',
      description: 'The data folder of a storage node, to compare a mempool node or a wallet with.',
    },
    {
      name: 'node',
      value: 'URL',
      description: 'The API of a running mempool node, to compare a wallet with.',
    },
    CA_FILE_FLAG,
    TIMEOUT_FLAG,
    JSON_FLAG,
  ],
  examples: [
    {
      line: 'tessera verify --role user --config user.toml --archive /var/lib/tessera/storage',
      does: 'Checks a wallet, and its coins against the chain.',
    },
    {
      line: 'tessera verify --role user --config user.toml --node https://mempool.example.net:3003',
      does: 'Compares the wallet with a running node.',
    },
    { line: 'tessera verify --role storage --data /var/lib/tessera', does: 'Checks the archive in the folder.' },
  ],
  exits: { 1: 'a fault was found, or the data cannot be read' },
};

export const command: Command = {
  spec,
  async run(args, context) {
    const { config } = loadConfig(configInput(args, context));
    const { role, dataDir: path } = config.node;
    if (!existsSync(path))
      throw new TesseraError('data_dir_invalid', `${path} does not exist: there is nothing to verify`);
    const archive = args.value('archive');
    const isCompared = databasesOf(config).some((name) => COMPARED.has(name));
    if (archive !== undefined && !isCompared) throw new UsageError('--archive is for mempool nodes and wallets');
    const node = args.value('node');
    if (node !== undefined && !hasWallet(role)) throw new UsageError('--node is for wallets');
    const abort = new AbortController();
    const removers = (['SIGINT', 'SIGTERM'] as const).map((name) => context.onSignal(name, () => abort.abort()));
    const directory = await DataDir.open(path, { role, networkName: config.network.name });
    try {
      const opened = new Map<string, Kv>();
      const checks: { readonly database: string; readonly found: string }[] = [];
      const note = (database: string, found: string): void => {
        checks.push({ database, found });
        if (!args.has('json')) context.stdout.write(`${database}: ${found}\n`);
      };
      for (const name of databasesOf(config)) {
        const kv = await directory.open(name);
        opened.set(name, kv);
        const records = await countRecords(name, kv, context, abort.signal);
        note(name, `${records} records, all checksums right`);
        const result = await checkRules(name, kv, config, context, abort.signal);
        if (result !== undefined) note(name, result);
        const journal = name === 'mempool' ? opened.get('journal') : undefined;
        if (journal !== undefined) note(name, await checkReplay(kv, journal, config, context, abort.signal));
        if (node !== undefined) {
          const client = publicClient(checkUrl(node, 'node'), args, context);
          note(name, await holdAgainstNode(client, kv, context, abort.signal));
        }
        if (archive === undefined || !COMPARED.has(name)) continue;
        note(name, await holdAgainst(archive, name, kv, config, context, abort.signal));
      }
      const stored = opened.get('archive');
      if (stored !== undefined) await checkIndex(directory, stored, config, context, abort.signal, note);
      if (args.has('json')) context.stdout.write(`${stringifyExact({ data_dir: path, role, checks })}\n`);
      return 0;
    } finally {
      for (const remove of removers) remove();
      await directory.close();
    }
  },
};

/** Reading a record checks it: what is damaged is thrown as `data_corrupt`. */
async function countRecords(name: string, kv: Kv, context: CliContext, signal: AbortSignal): Promise<number> {
  const progress = startProgress(name, 'records', context, systemClock);
  let count = 0;
  for await (const _ of kv.entries({ gte: new Uint8Array(), lt: END_OF_KEYS })) {
    count++;
    progress.update(count);
    if (signal.aborted) throw new TesseraError('aborted', 'the check was cancelled');
  }
  progress.end();
  return count;
}

/** Checks the rules of a role's data beyond checksums. Returns the result in words; undefined if there are none. */
async function checkRules(
  name: string,
  kv: Kv,
  config: Config,
  context: CliContext,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (name === 'archive') return checkArchive(kv, config, context, signal);
  if (name === 'mempool') return checkState(kv, config, context);
  return undefined;
}

/** The index of the chain, which a storage node may have: every record, and that the blocks give the same once more. */
async function checkIndex(
  directory: DataDir,
  stored: Kv,
  config: Config,
  context: CliContext,
  signal: AbortSignal,
  note: (database: string, found: string) => void,
): Promise<void> {
  const { INDEX } = await import('../node/index-database.js');
  if (!directory.hasDerived(INDEX)) return;
  const kv = await directory.openDerived(INDEX);
  note(INDEX, `${await countRecords(INDEX, kv, context, signal)} records, all checksums right`);
  const { compareIndex } = await import('../node/rebuild/rebuild-index.js');
  const archive = await openArchive(stored, config);
  const progress = startProgress('indexing again', 'blocks', context, systemClock);
  const onProgress = (done: number, total: number): void => progress.update(done, total);
  const blocks = await compareIndex(directory, kv, archive, { signal, onProgress }).finally(() => progress.end());
  note(INDEX, `the same as the blocks give again, ${blocks} of ${archive.nextHeight}`);
}

async function checkArchive(kv: Kv, config: Config, context: CliContext, signal: AbortSignal): Promise<string> {
  const { Verifier } = await import('../ledger/verifier/verifier.js');
  const scripts = new Verifier({ threads: config.storage.verifyThreads });
  await scripts.start();
  const archive = await openArchive(kv, config, scripts);
  const progress = startProgress('blocks', 'blocks', context, systemClock);
  const show = ({ height, target }: { height: number; target: number }) => progress.update(height + 1, target + 1);
  const { blocks, transactions } = await archive.verify({}, show, signal).finally(() => scripts.close());
  progress.end();
  return `${blocks} blocks with ${transactions} transactions, all valid`;
}

async function openArchive(kv: Kv, config: Config, scripts?: Verifier): Promise<Archive> {
  const { readGenesis } = await import('../node/genesis-file.js');
  const { Archive: Opened } = await import('../storage/archive/archive.js');
  const { producersOf } = await import('../node/producers.js');
  const genesis = await readGenesis(config.network.genesisFile);
  const activationHeight = config.mining.asertActivationHeight;
  const rules = { genesis, producers: producersOf(config, genesis), activationHeight };
  return Opened.open({ rules, cacheBytes: config.storage.cacheBytes }, { kv, ...(scripts && { scripts }) });
}

async function checkState(kv: Kv, config: Config, context: CliContext): Promise<string> {
  const progress = startProgress('outputs', 'outputs', context, systemClock);
  const state = await loadState(kv, config, (outputs) => progress.update(outputs));
  progress.end();
  return `${state.utxos.size} unspent outputs and the pool match their digest, after command ${state.seq}`;
}

/** The state as the next start will have it, and the same from the journal alone. */
async function checkReplay(
  state: Kv,
  journal: Kv,
  config: Config,
  context: CliContext,
  signal: AbortSignal,
): Promise<string> {
  const { readGenesis } = await import('../node/genesis-file.js');
  const { stateRules, unicornSource } = await import('../node/roles/mempool/options.js');
  const { replayJournal } = await import('../node/verify/replayed-state.js');
  const progress = startProgress('replaying', 'commands', context, systemClock);
  const { head, first, isFromNothing } = await replayJournal({
    state,
    journal,
    rules: stateRules(await readGenesis(config.network.genesisFile), config),
    unicorn: unicornSource(config),
    signal,
    onProgress: (done, total) => progress.update(done, total),
  }).finally(() => progress.end());
  if (isFromNothing) return `the journal alone gives the same state, after command ${head}`;
  return `the journal goes on to command ${head}; it begins at command ${first}, so it was not applied from the first on`;
}

async function loadState(kv: Kv, config: Config, onProgress: (outputs: number) => void): Promise<MempoolState> {
  const { readGenesis } = await import('../node/genesis-file.js');
  const { stateRules } = await import('../node/roles/mempool/options.js');
  const { loadMempoolState } = await import('../mempool/state/load.js');
  const rules = stateRules(await readGenesis(config.network.genesisFile), config);
  return loadMempoolState(kv, rules, { hashKey: systemRandom.bytes(HASH_KEY_BYTES), onProgress });
}

/** Compares what the database counts as unspent with the archive. */
async function holdAgainst(
  path: string,
  name: string,
  kv: Kv,
  config: Config,
  context: CliContext,
  signal: AbortSignal,
): Promise<string> {
  const { ArchiveAccount } = await import('../node/verify/archive-account.js');
  const archive = await ArchiveAccount.open(path, config.network.name);
  const progress = startProgress('comparing', 'outputs', context, systemClock);
  const show = (outputs: number) => progress.update(outputs);
  try {
    const same = await compare(archive, name, kv, config, show, signal);
    return `${same} unspent outputs are the same in the archive, after block ${archive.height}`;
  } finally {
    progress.end();
    await archive.close();
  }
}

/** Compares the unspent outputs of a wallet with a running mempool node. */
async function holdAgainstNode(client: NodeClient, kv: Kv, context: CliContext, signal: AbortSignal): Promise<string> {
  const { holdWalletAgainstNode } = await import('../node/verify/wallet-against-node.js');
  const progress = startProgress('comparing', 'outputs', context, systemClock);
  const show = (outputs: number) => progress.update(outputs);
  const { same, unknown } = await holdWalletAgainstNode(client, kv, show, signal).finally(() => progress.end());
  const more = `${unknown} more are there that the wallet has not seen yet: they come with the next blocks, or with a refresh`;
  return `${same} unspent outputs are the same on the node${unknown === 0 ? '' : `; ${more}`}`;
}

async function compare(
  archive: ArchiveAccount,
  name: string,
  kv: Kv,
  config: Config,
  show: (outputs: number) => void,
  signal: AbortSignal,
): Promise<number> {
  if (name === 'wallet') {
    const { holdWalletAgainst } = await import('../node/verify/wallet-against-archive.js');
    return holdWalletAgainst(archive, kv, show, signal);
  }
  const { holdStateAgainst } = await import('../node/verify/state-against-archive.js');
  return holdStateAgainst(archive, await loadState(kv, config, () => undefined), show, signal);
}
