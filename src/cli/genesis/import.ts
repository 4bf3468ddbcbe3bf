/** `tessera genesis import`: a genesis file from the files of the original nodes. */

import { parse as parseToml } from 'smol-toml';
import { SOCKET_ADDRESS } from '../../chain/eras.js';
import { isObject } from '../../chain/json-fields.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { parseJsonFile, prettyExact } from '../../lib/json.js';
import { MAX_DOCUMENT_FILE, readBounded } from '../../lib/read-bounded.js';
import { flag, type OwnCommand, UsageError } from '../command.js';
import { writeNewFile } from '../named-file.js';
import { checkGenesisText, printFacts } from './show.js';

const MODE = 0o644;

type Members = Readonly<Record<string, unknown>>;

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads the files that a network of original nodes began with, in any order: the one with the first outputs ' +
        '(initial_block.json), the one with later issuances (initial_issuance.json), and the settings of its nodes ' +
        '(node_settings.toml). Writes FILE, by whose rules `tessera import` checks the chain of that network.',
      'What the files do not tell, `tessera import` finds in the blocks and writes into FILE: layouts of headers, what signatures ' +
        'cover, by how many mempool nodes rewards are divided, and whether the seeds follow from the addresses of the miners. No ' +
        'node starts with FILE before. Private keys of test wallets in the files are left out.',
    ],
    arguments: [
      { name: 'SETTINGS', required: true, rest: true, completes: 'files', description: 'Files of the original nodes.' },
    ],
    flags: [flag('--out FILE', 'The genesis file to create. Required.')],
    examples: {
      'tessera genesis import initial_block.json initial_issuance.json node_settings.toml --out genesis.json':
        'Makes the file for a network that moves in.',
    },
    exits: { 1: 'a file cannot be read or understood, or FILE exists' },
  },
  async run(args, context) {
    const file = args.value('out');
    if (file === undefined) throw new UsageError('--out FILE is missing: the genesis file to create');
    const members: Members = Object.assign({}, ...args.positionals.map(readSettings));
    const text = `${prettyExact(contentOf(members))}\n`;
    const genesis = checkGenesisText(text);
    await writeNewFile(file, text, MODE);
    return printFacts(args, context, file, genesis);
  },
};

function readSettings(file: string): Members {
  try {
    const bytes = readBounded(file, MAX_DOCUMENT_FILE);
    const content: unknown = file.endsWith('.toml')
      ? parseToml(bytes.toString(), { integersAsBigInt: 'asNeeded' })
      : parseJsonFile(bytes);
    if (isObject(content)) return content;
    throw new Error('it holds no members');
  } catch (cause) {
    throw new TesseraError('invalid_config', `${file}: ${errorMessage(cause)}`, { cause });
  }
}

function contentOf(members: Members): Members {
  const { mempool_seed_utxo, mempool_genesis_tx_in, initial_issuances, mempool_nodes, miner_nodes } = members;
  if (mempool_seed_utxo === undefined) {
    throw new UsageError(
      'none of the files has mempool_seed_utxo, the outputs of block 0: name initial_block.json too',
    );
  }
  const { mempool_unicorn_fixed_param: unicorn, mempool_raft: raft } = members;
  const nodes = Array.isArray(mempool_nodes) && Number(raft ?? 0) > 0 ? mempool_nodes.length : 1;
  const miners = addressesOf(miner_nodes);
  const parameters = isObject(unicorn)
    ? { modulus: unicorn.modulus, iterations: unicorn.iterations, miners }
    : undefined;
  // Original nodes issue nothing with block 0.
  const isMade = (issuance: unknown): boolean => !isObject(issuance) || issuance.block_height !== 0;
  return {
    mempool_seed_utxo,
    mempool_genesis_tx_in,
    initial_issuances: Array.isArray(initial_issuances) ? initial_issuances.filter(isMade) : (initial_issuances ?? []),
    eras: [
      {
        from: 0,
        made_by: 'original',
        mempool_nodes: Math.max(nodes, 1),
        unicorn: parameters,
        find: ['header', 'signatures', 'mempool_nodes', ...(parameters === undefined ? [] : ['miners'])],
      },
    ],
  };
}

/** Addresses of the nodes; none when one is a name, which only the nodes themselves can resolve. */
function addressesOf(nodes: unknown): string[] {
  const addresses = Array.isArray(nodes) ? nodes.map((node) => (isObject(node) ? String(node.address) : '')) : [];
  return addresses.every((address) => SOCKET_ADDRESS.test(address)) ? addresses : [];
}
