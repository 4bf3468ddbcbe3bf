/** `tessera verify`: checks the data of a stopped node: every record, and the rules of the data. */

import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeClient } from '../client/client.js';
import { loadConfig } from '../config/load.js';
import type { Config } from '../config/schema.js';
import { DataDir } from '../db/data-dir.js';
import type { Kv } from '../db/kv.js';
import { systemClock } from '../lib/clock.js';
import { TesseraError } from '../lib/errors.js';
import { factsOf, hasWallet } from '../lib/roles.js';
import type { RoleDefinition, VerifiedData } from '../node/roles/role.js';
import {
  type CliContext,
  flag,
  type OwnCommand,
  type OwnSpec,
  type ParsedArgs,
  printed,
  UsageError,
} from './command.js';
import { TIMEOUT_FLAG } from './command-client.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { CA_FILE_FLAG, checkUrl, publicClient } from './node-access.js';
import { interruptible, startProgress } from './output.js';

/** Databases of a node; a journal in etcd is in none of them. */
function databasesOf({ node, journal }: Config): readonly string[] {
  const all = factsOf(node.role).databases;
  return journal.kind === 'local' ? all : all.filter((name) => name !== 'journal');
}

/** End of every range of keys: no key begins with this byte. */
const END_OF_KEYS = Uint8Array.of(0xff);

const spec: OwnSpec = {
  description: [
    'Reads every record of the node’s databases and checks its checksum. On a storage node, it also checks every ' +
      'block by the rules of the chain, every index entry against its data, and the index for explorers against a ' +
      'new one (which takes as much space again, for a while). On a mempool node, it checks the state against the ' +
      'digest of the last command, and against the journal, which it applies again in memory. Ends with data_corrupt ' +
      'and status 1 at the first fault.',
    'With --archive, compares the unspent outputs of a mempool node or a wallet with an archive, output by output: ' +
      'the folder of a storage node of the same network, or a restored backup of it. With --node, compares a wallet ' +
      'with a running mempool node over its API.',
    'With --store, checks the files of blocks in the object store of a storage node: each has the digest of its name, its ' +
      'blocks hash to their names and follow each other from block 0, and none is missing.',
    'The nodes must be stopped, because only one process can use a data folder. Nothing is changed, except that a ' +
      'folder of an older format is upgraded, as at a start.',
  ],
  flags: [
    ...CONFIG_FLAGS,
    flag('--archive DIR', 'The data folder of a storage node, to compare a mempool node or a wallet with.'),
    flag('--node URL', 'The API of a running mempool node, to compare a wallet with.'),
    flag('--store', 'Checks the object store of storage.segments, and no data folder; the node may run.'),
    CA_FILE_FLAG,
    TIMEOUT_FLAG,
  ],
  examples: {
    'tessera verify --role user --config user.toml --archive /var/lib/tessera/storage':
      'Checks a wallet, and its coins against the chain.',
    'tessera verify --role user --config user.toml --node https://mempool.example.net:3003':
      'Compares the wallet with a running node.',
    'tessera verify --role storage --data /var/lib/tessera': 'Checks the archive in the folder.',
  },
  exits: { 1: 'a fault was found, or the data cannot be read' },
};

export const command: OwnCommand = {
  spec,
  async run(args, context) {
    const { config } = loadConfig(configInput(args, context));
    const { role, dataDir: path } = config.node;
    if (args.has('store')) return verifyTheStore(config, args, context);
    if (!existsSync(path))
      throw new TesseraError('data_dir_invalid', `${path} does not exist: there is nothing to verify`);
    const archive = args.value('archive');
    const { DEFINITIONS } = await import('../node/roles/roles.js');
    const definition = DEFINITIONS[role];
    if (archive !== undefined && definition.holdAgainst === undefined)
      throw new UsageError('--archive is for mempool nodes and wallets');
    const node = args.value('node');
    if (node !== undefined && !hasWallet(role)) throw new UsageError('--node is for wallets');
    const directory = await DataDir.open(path, { role, networkName: config.network.name });
    return interruptible(context, async (signal) => {
      const databases = new Map<string, Kv>();
      const checks: { readonly database: string; readonly found: string }[] = [];
      const tools = {
        signal,
        progress: (task: string, unit: string) => startProgress(task, unit, context, systemClock),
        note(found: string, database = [...databases.keys()].at(-1) ?? ''): void {
          checks.push({ database, found });
          if (!args.has('json')) context.stdout.write(`${database}: ${found}\n`);
        },
        readAll: async (name: string, kv: Kv) =>
          tools.note(`${await countRecords(name, kv, tools)} records, all checksums right`, name),
      };
      for (const name of databasesOf(config)) {
        const kv = await directory.open(name);
        databases.set(name, kv);
        await tools.readAll(name, kv);
      }
      const [kv] = [...databases.values()].slice(-1);
      const data = kv && { ...tools, config, directory, databases, kv };
      if (data !== undefined) await definition.verify?.(data);
      if (data !== undefined && node !== undefined) {
        const client = publicClient(checkUrl(node, 'node'), args, context);
        data.note(await holdAgainstNode(client, data));
      }
      if (data !== undefined && archive !== undefined) data.note(await holdAgainst(archive, data, definition));
      return printed(args, context, { data_dir: path, role, checks }, '');
    }).finally(() => directory.close());
  },
};

async function verifyTheStore(config: Config, args: ParsedArgs, context: CliContext): Promise<number> {
  const { verifyStore } = await import('../node/verify/verify-store.js');
  const path = await mkdtemp(join(tmpdir(), 'tessera-verify-'));
  const progress = startProgress('blocks in the object store', 'blocks', context, systemClock);
  return interruptible(context, async (signal) => {
    const found = await verifyStore({ config, path, progress, signal });
    return printed(args, context, { store: config.storage.segments.endpoint, checks: found }, `${found.join('\n')}\n`);
  }).finally(() => rm(path, { recursive: true }));
}

/** Number of the records. Reading a record checks it: damage is thrown as `data_corrupt`. */
async function countRecords(
  name: string,
  kv: Kv,
  { progress: start, signal }: Pick<VerifiedData, 'progress' | 'signal'>,
): Promise<number> {
  const progress = start(name, 'records');
  let count = 0;
  for await (const _ of kv.entries({ gte: new Uint8Array(), lt: END_OF_KEYS })) {
    count++;
    progress.update(count);
    if (signal.aborted) throw new TesseraError('aborted', 'the check was cancelled');
  }
  progress.end();
  return count;
}

async function holdAgainst(path: string, data: VerifiedData, { holdAgainst: hold }: RoleDefinition): Promise<string> {
  const { ArchiveAccount } = await import('../node/verify/archive-account.js');
  const archive = await ArchiveAccount.open(path, data.config.network.name);
  const progress = data.progress('comparing', 'outputs');
  try {
    const same = await hold?.(archive, data, (outputs) => progress.update(outputs));
    return `${same} unspent outputs are the same in the archive, after block ${archive.height}`;
  } finally {
    progress.end();
    await archive.close();
  }
}

async function holdAgainstNode(client: NodeClient, { kv, progress: start, signal }: VerifiedData): Promise<string> {
  const { holdWalletAgainstNode } = await import('../node/verify/wallet-against-archive.js');
  const progress = start('comparing', 'outputs');
  const show = (outputs: number) => progress.update(outputs);
  const { same, unknown } = await holdWalletAgainstNode(client, kv, show, signal).finally(() => progress.end());
  const more = `${unknown} more are there that the wallet has not seen yet: they come with the next blocks, or with a refresh`;
  return `${same} unspent outputs are the same on the node${unknown === 0 ? '' : `; ${more}`}`;
}
