/** `tessera takeover`: lets our nodes go on with an imported chain. */

import { existsSync, rmSync } from 'node:fs';
import { transactionToCreateJson } from '../chain/create-transaction.js';
import { transactionHash } from '../chain/hash.js';
import type { Transaction } from '../chain/types.js';
import { loadConfig } from '../config/load.js';
import { keyPairFromSeed } from '../crypto/ed25519.js';
import { fromHex, toHex } from '../lib/bytes.js';
import { stringifyExact } from '../lib/json.js';
import { genesisFingerprint } from '../node/network-rules.js';
import type { Takeover } from '../node/takeover/take-over.js';
import { flag, integerFlag, type OwnCommand, printed, UsageError } from './command.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';
import { makeProducer } from './genesis/new.js';
import { eraText } from './genesis/show.js';
import { readNamed, writeNewFile } from './named-file.js';
import { checkUrl } from './node-access.js';
import { withProgress } from './output.js';

const DAY_MS = 86_400_000;
/** Transactions of one body, and its bytes where it is more than one transaction. */
const MOST_IN_BODY = 500;
const MOST_BODY_BYTES = 512 * 1024;
const SEED = /^[0-9a-f]{64}$/;

export const command: OwnCommand = {
  spec: {
    description: [
      'Lets nodes of Tessera make the next blocks of a chain that `tessera import` has brought into the data folder of a storage ' +
        'node. Writes into the genesis file (network.genesis_file) that our rules begin with block HEIGHT, the one after the last of the ' +
        'original nodes. Copy that file to every node, then start storage, mempool, miner and user nodes (docs/moving-in.md).',
      'With --balances, what every address has is compared with the old network first, output by output. A difference is ' +
        'named, and nothing is written.',
      'With --pool, lists what waited in the old mempool node and is in no block, as bodies of POST /v1/transactions. Transactions that our ' +
        'nodes would refuse are named instead.',
      'Nodes must be stopped. The same command can be run again.',
    ],
    flags: [
      flag('--at HEIGHT', 'The first block that our nodes make. Required.'),
      flag(
        '--balances SOURCE',
        'URL of the old mempool node, or a file with its answer of fetch_balance about all addresses.',
        { completes: 'files' },
      ),
      flag(
        '--producer-key FILE',
        'The key file of a mempool node that signs its blocks (mempool.producer_key_file), created if it is not there. It ' +
          'signs the last block of the original nodes. Prints the public key, for network.producer_keys.',
      ),
      flag('--interval-ms MS', 'Longest time between two blocks, for the genesis file.'),
      flag(
        '--pool FOLDER',
        'A database of the old mempool node, which must be stopped; also the one of its consensus.',
        { repeatable: true },
      ),
      flag('--waiting FILE', 'The file to create for what waited, a body in each line; needed with --pool.'),
      flag('--dry-run', 'Does everything to a copy in the data folder, says what would differ, and removes the copy.'),
      ...CONFIG_FLAGS,
    ],
    examples: {
      'tessera takeover --at 372542 --balances http://10.0.0.3:3003 --config storage.toml --dry-run':
        'Compares all balances with the old network, and changes nothing.',
      'tessera takeover --at 372542 --producer-key producer.key --config storage.toml':
        'Lets our nodes make and sign block 372542 and those after it.',
    },
    exits: { 1: 'balances differ, or the chain has another height: nothing was written' },
  },
  async run(args, context) {
    const at = integerFlag(args, 'at', 1, Number.MAX_SAFE_INTEGER);
    if (at === undefined) throw new UsageError('--at HEIGHT is missing: the first block that our nodes make');
    const { config } = loadConfig({ role: 'storage', ...configInput(args, context) });
    const [file, source, isRehearsal] = [args.value('waiting'), args.value('balances'), args.has('dry-run')];
    const folders = args.values('pool');
    if ((file === undefined) === folders.length > 0) throw new UsageError('--pool and --waiting need each other');
    const lost = folders.find((folder) => !existsSync(folder));
    if (lost !== undefined) throw new UsageError(`--pool: there is no folder ${lost}`);
    if (file !== undefined && existsSync(file)) throw new UsageError(`${file} exists`);
    const { oldBalances } = await import('../node/takeover/old-balances.js');
    const { poolIn } = await import('../node/takeover/old-pool.js');
    const { takeOver } = await import('../node/takeover/take-over.js');
    if (source !== undefined && !existsSync(source)) checkUrl(source, 'balances');
    const keyFile = args.value('producer-key');
    const isNew = keyFile !== undefined && !existsSync(keyFile);
    const seed = isNew ? undefined : keyFile === undefined ? config.mempool.producerKey : seedIn(keyFile);
    const known = seed === undefined ? undefined : keyPairFromSeed(fromHex(seed));
    const { producerKeys } = config.network;
    if (producerKeys.length > 0 && !producerKeys.includes(known === undefined ? '' : toHex(known.publicKey)))
      throw new UsageError('--producer-key FILE must have the key of one of network.producer_keys');
    const producer = isNew && !isRehearsal ? await makeProducer(keyFile) : known;
    const taken = await withProgress(['takeover', 'addresses'], context, (long) =>
      takeOver({
        ...{ config, at, isRehearsal, producer, ...long },
        intervalMs: integerFlag(args, 'interval-ms', 0, DAY_MS),
        balances: source === undefined ? undefined : oldBalances(source, long.signal),
        pool: poolIn(folders),
      }),
    );
    if (file !== undefined) await writeNewFile(file, bodiesOf(taken.waiting), 0o644);
    if (file !== undefined && isRehearsal) rmSync(file);
    const report = { ...reportOf(taken), producer_key: producer === undefined ? null : toHex(producer.publicKey) };
    printed(args, context, report, textOf(taken, report.producer_key));
    return taken.differences.length > 0 ? 1 : 0;
  },
};

/** Bodies of POST /v1/transactions, each in a line, within the limits that a node has by default. */
function bodiesOf(waiting: readonly Transaction[]): string {
  const bodies: string[][] = [];
  let room = 0;
  for (const one of waiting) {
    const text = stringifyExact(transactionToCreateJson(one));
    const size = Buffer.byteLength(text);
    if (room < size || bodies.at(-1)?.length === MOST_IN_BODY) room = MOST_BODY_BYTES;
    if (room === MOST_BODY_BYTES) bodies.push([]);
    bodies.at(-1)?.push(text);
    room -= size;
  }
  return bodies.map((texts) => `{"transactions":[${texts.join(',')}]}\n`).join('');
}

function seedIn(file: string): string {
  const text = readNamed(file).trim();
  if (SEED.test(text)) return text;
  throw new UsageError(`${file} is no key file: it must hold 64 lower-case hex digits`);
}

function reportOf({ lastHash, genesis, addresses, waiting, differences, refused }: Takeover) {
  return {
    last_hash: lastHash,
    fingerprint: genesisFingerprint(genesis),
    interval_ms: genesis.blockRules.intervalMs,
    compared_addresses: addresses ?? null,
    differences,
    waiting: waiting.map((one) => transactionHash(one)),
    refused,
  };
}

function textOf({ genesis, differences, refused, ...taken }: Takeover, key: string | null): string {
  const { intervalMs } = genesis.blockRules;
  const equal = `${taken.addresses} addresses compared, ${differences.length} of them differ`;
  return [
    `last block   ${taken.lastHash}`,
    ...genesis.eras.map((era) => `rules        ${eraText(era)}`),
    `fingerprint  ${genesisFingerprint(genesis)}, of the genesis file that every node needs`,
    `interval     ${intervalMs === null ? 'that of the configuration' : `${intervalMs} ms`}`,
    ...(key === null ? [] : [`producer     network.producer_keys = ["${key}"]`]),
    `balances     ${taken.addresses === undefined ? 'not compared (--balances)' : equal}`,
    ...differences.map((line) => `             ${line}`),
    `waiting      ${taken.waiting.length} transactions to be posted, ${refused.length} cannot be`,
    ...refused.map(([hash, reason]) => `             ${hash}: ${reason}`),
  ].join('\n');
}
