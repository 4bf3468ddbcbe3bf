/** `tessera genesis new`: makes a genesis file, and a file with the keys of new owners. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { addressOf, isPayableAddress } from '../../chain/address.js';
import { COINBASE_MATURITY } from '../../chain/constants.js';
import { type GenesisContent, genesisText } from '../../chain/genesis.js';
import { encodePkcs8, generateKeyPair, type KeyPair } from '../../crypto/ed25519.js';
import { toHex } from '../../lib/bytes.js';
import { systemClock } from '../../lib/clock.js';
import { stringifyExact } from '../../lib/json.js';
import { systemRandom } from '../../lib/random.js';
import { flag, type OwnCommand, type ParsedArgs, UsageError } from '../command.js';
import { writeNewFile } from '../named-file.js';
import { parseAmount } from '../wallet/amounts.js';
import { checkGenesisText, printFacts } from './show.js';

const GENESIS_MODE = 0o644;
const KEYS_MODE = 0o600;
const MAX_MESSAGE = 500;

export const command: OwnCommand = {
  spec: {
    description: [
      'Writes FILE, which says who owns what in block 0. An owner is an existing address (--owner) or a new key pair ' +
        '(--new-owner), whose private key is written to the file of --keys, mode 0600, in the form that `tessera wallet import` ' +
        'accepts. Whoever reads that file can spend the funds: import it into a wallet once the network runs, keep a copy with ' +
        'the backups of wallets, and remove it.',
      'AMOUNT is in display units, such as 1.5, or with --raw in raw units; the maximum in all is 5 billion display ' +
        'units. At least one owner is needed. Existing files are not overwritten. Copy FILE to every node; `tessera ' +
        'genesis show` prints the fingerprint by which nodes compare it.',
    ],
    arguments: [{ name: 'FILE', required: true, description: 'The genesis file to create.' }],
    flags: [
      flag('--owner ADDRESS=AMOUNT', 'An output of block 0 for the address.', { repeatable: true }),
      flag('--new-owner AMOUNT', 'An output of block 0 for a new key pair.', { repeatable: true }),
      flag('--keys KEYS', 'The file to create for the new key pairs; needed with --new-owner.', { completes: 'files' }),
      flag(
        '--issue ADDRESS=AMOUNT@HEIGHT',
        `Issues the amount with the block of that height, ${COINBASE_MATURITY} or more.`,
        { repeatable: true },
      ),
      flag(
        '--block-rule NAME=VALUE',
        'A rule for the blocks of this network (docs/chain.md#genesis): max_transactions, max_bytes, ' +
          'max_signature_operations, interval_ms, or start, which is full_or_interval or interval.',
        {
          repeatable: true,
          completes: ['max_transactions=', 'max_bytes=', 'max_signature_operations=', 'interval_ms=', 'start='],
        },
      ),
      flag(
        '--producer-key KEY',
        'Creates the key file with which a mempool node signs its blocks (mempool.producer_key_file, mode 0600), ' +
          'and prints the public key for network.producer_keys.',
        { completes: 'files' },
      ),
      flag('--message TEXT', 'A text that block 0 contains. Default: the current time.'),
      flag('--raw', 'AMOUNT is in raw units, 72072000 to a display unit.'),
    ],
    examples: {
      'tessera genesis new genesis.json --new-owner 1000000 --keys genesis-keys.json':
        'Makes a network with one owner and a new key.',
      'tessera genesis new genesis.json --owner ADDRESS=500 --block-rule max_transactions=20000 --block-rule interval_ms=5000':
        'Blocks of up to 20,000 payments, every five seconds or as soon as one is full.',
      'tessera genesis new genesis.json --owner ADDRESS=500 --issue ADDRESS=500@10000':
        'Half in block 0, half with block 10,000, for an existing wallet.',
    },
  },
  async run(args, context) {
    const [file = ''] = args.positionals;
    const newOwners = args.values('new-owner').map((amount) => ({ pair: generateKeyPair(systemRandom), amount }));
    const keysFile = args.value('keys');
    const producerFile = args.value('producer-key');
    checkKeys(keysFile, newOwners.length);
    checkNew([file, keysFile, producerFile].filter((one) => one !== undefined));
    const text = genesisText(contentOf(args, newOwners));
    const genesis = checkGenesisText(text);
    // The keys are written first: a genesis file without its keys is worse than none.
    if (keysFile !== undefined) await writeNewFile(keysFile, keysText(newOwners.map(({ pair }) => pair)), KEYS_MODE);
    const producer = producerFile === undefined ? undefined : toHex((await makeProducer(producerFile)).publicKey);
    await writeNewFile(file, text, GENESIS_MODE);
    const more = { keys: keysFile ?? null, producer_key: producer ?? null };
    printFacts(args, context, file, genesis, more);
    if (producer !== undefined && !args.has('json')) context.stdout.write(`producer_keys = ["${producer}"]\n`);
    if (keysFile !== undefined) {
      context.stderr.write(`${keysFile} holds private keys, unencrypted: tessera wallet import takes them.\n`);
    }
    return 0;
  },
};

interface NewOwner {
  readonly pair: KeyPair;
  readonly amount: string;
}

/** Writes the secret key of a new pair into a new file. */
export async function makeProducer(file: string): Promise<KeyPair> {
  const pair = generateKeyPair(systemRandom);
  await writeNewFile(file, `${toHex(pair.seed)}\n`, KEYS_MODE);
  return pair;
}

function checkKeys(keys: string | undefined, newOwners: number): void {
  if (newOwners > 0 && keys === undefined)
    throw new UsageError('--new-owner makes keys: add --keys FILE to keep them in');
  if (newOwners === 0 && keys !== undefined) throw new UsageError('--keys needs --new-owner');
}

/** Checks that no file exists yet, and that none is named twice. */
function checkNew(files: readonly string[]): void {
  const exists = files.find((file) => existsSync(file));
  if (exists !== undefined) throw new UsageError(`${exists} exists`);
  if (new Set(files.map((file) => resolve(file))).size < files.length) throw new UsageError('two files have one name');
}

function contentOf(args: ParsedArgs, newOwners: readonly NewOwner[]): GenesisContent {
  const isRaw = args.has('raw');
  const owners = args.values('owner').map((text) => ownerOf(text, '--owner', isRaw));
  const made = newOwners.map(({ pair, amount }) => ({
    address: addressOf(pair.publicKey),
    amount: parseAmount(amount, isRaw),
  }));
  if (owners.length + made.length === 0) {
    throw new UsageError('the network needs an owner: name one with --owner or --new-owner');
  }
  return {
    outputs: [...owners, ...made],
    issuances: args.values('issue').map(issue(isRaw)),
    blockRules: blockRules(args.values('block-rule')),
    message: messageOf(args),
  };
}

function blockRules(texts: readonly string[]): Readonly<Record<string, unknown>> {
  const rules = texts.map(blockRule);
  const names = rules.map(([name]) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new UsageError(`--block-rule ${twice} is given twice`);
  return Object.fromEntries(rules);
}

/** A block rule from `NAME=VALUE`; names and bounds are checked with the file. */
function blockRule(text: string): [string, unknown] {
  const match = /^([a-z_]+)=([a-z0-9_]+)$/.exec(text);
  if (match === null) throw new UsageError(`--block-rule ${text}: write NAME=VALUE, such as max_transactions=20000`);
  const [, name = '', value = ''] = match;
  return [name, /^(?:[0-9]{1,15}|true|false)$/.test(value) ? JSON.parse(value) : value];
}

function messageOf(args: ParsedArgs): string {
  const message = args.value('message') ?? `Tessera network, ${new Date(systemClock.now()).toISOString()}`;
  if (message.length > MAX_MESSAGE) throw new UsageError(`--message has at most ${MAX_MESSAGE} characters`);
  return message;
}

/** An owner of tokens from `ADDRESS=AMOUNT`. */
function ownerOf(text: string, flag: string, isRaw: boolean) {
  const [address = '', amount = ''] = text.split(/=(.*)/s);
  if (!isPayableAddress(address)) {
    throw new UsageError(
      `${flag} ${text}: write ADDRESS=AMOUNT; an address has 64 or 32 lower-case hexadecimal digits, or H and 63 of them`,
    );
  }
  return { address, amount: parseAmount(amount, isRaw) };
}

/** A parser of issues: `ADDRESS=AMOUNT@HEIGHT`. */
function issue(isRaw: boolean) {
  return (text: string) => {
    const [owner = '', height = ''] = text.split(/@(.*)/s);
    const blockHeight = Number(height);
    if (!/^[0-9]{1,15}$/.test(height) || blockHeight < Number(COINBASE_MATURITY)) {
      throw new UsageError(
        `--issue ${text}: write ADDRESS=AMOUNT@HEIGHT with a height of ${COINBASE_MATURITY} or more`,
      );
    }
    return { ...ownerOf(owner, '--issue', isRaw), block_height: blockHeight };
  };
}

function keysText(pairs: readonly KeyPair[]): string {
  const addresses = Object.fromEntries(
    pairs.map((pair) => [
      addressOf(pair.publicKey),
      { public_key: toHex(pair.publicKey), secret_key: toHex(encodePkcs8(pair)), address_version: null },
    ]),
  );
  return `${stringifyExact({ addresses })}\n`;
}
