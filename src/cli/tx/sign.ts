/**
 * `tessera tx sign`: signs the inputs of a transaction whose keys are given: in a file of key pairs, by words, in a keystore, or of a dev
 * account. It opens no connection.
 */

import { addressOf } from '../../chain/address.js';
import type { SigningKey } from '../../chain/builders.js';
import { ADDRESS_VERSION_TEMP } from '../../chain/constants.js';
import { outputsPreimage, signableOf } from '../../chain/signable.js';
import type { AddressVersion } from '../../chain/types.js';
import { type KeyPair, keyPairFromSeed, parseSecretKey, sign } from '../../crypto/ed25519.js';
import { fromHex, isHex } from '../../lib/bytes.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { assertSound } from '../../lib/fault.js';
import { parseExactJson } from '../../lib/json.js';
import { MAX_DOCUMENT_FILE, readBoundedText } from '../../lib/read-bounded.js';
import { ACCOUNTS, DerivedKeys } from '../../wallet/keys/derived-keys.js';
import { parseWords, type WalletWords } from '../../wallet/keys/words.js';
import {
  type CliContext,
  type FlagSpec,
  flag,
  integerFlag,
  type OwnCommand,
  type ParsedArgs,
  UsageError,
} from '../command.js';
import { devAccount } from '../dev-account.js';
import { warnOfTemporary } from '../output.js';
import { ROLE_FLAGS, YES_FLAG } from '../wallet/connection.js';
import { EXTRA_WORD_FLAGS, extraWord, folderConfig, keystoreIn, wordsIn } from '../wallet/own-folder.js';
import { ASKING_EXITS, confirm, isInteractive } from '../wallet/prompt.js';
import { PASSPHRASE, passphraseOf, secretFlag } from '../wallet/secrets.js';
import {
  type Draft,
  type DraftInput,
  draftText,
  outPointName,
  readDraft,
  STDIN,
  signatureFault,
  summaryOf,
  unsigned,
} from './draft.js';
import { GENESIS_FLAG, unprovenInputs } from './previous.js';

const DEFAULT_DEPTH = 1_000;
const MAX_DEPTH = 1_000_000;
const VERSIONS: readonly AddressVersion[] = [null, 0, 99_999];

const KEY_FLAGS: readonly FlagSpec[] = [
  flag('--key-file FILE', 'Key pairs, as `tessera wallet export` and `tessera genesis new` write them.', {
    repeatable: true,
  }),
  flag('--words-file FILE', 'The recovery words of a wallet, for all keys derived from them.'),
  ...EXTRA_WORD_FLAGS,
  ...ROLE_FLAGS.map((flag) =>
    flag.name === 'data'
      ? { ...flag, description: 'The data folder of a node, running or not, for the words in its keystore.json.' }
      : flag,
  ),
  secretFlag(PASSPHRASE, 'the passphrase of the wallet in the data folder'),
  flag('--depth N', `How many keys to try in each account of the words. Default: ${DEFAULT_DEPTH}.`),
  flag('--dev-account N', 'Account 1 to 10, user or miner of `tessera dev`, whose keys everybody knows.', {
    repeatable: true,
  }),
];

/** The keys that were found for the addresses, by address. Throws `UsageError` when no key is named. */
async function findKeys(
  addresses: ReadonlySet<string>,
  args: ParsedArgs,
  context: CliContext,
): Promise<ReadonlyMap<string, SigningKey>> {
  const found = new Map<string, SigningKey>();
  const take = (pair: KeyPair): void => {
    for (const addressVersion of VERSIONS) {
      const address = addressOf(pair.publicKey, addressVersion);
      if (addresses.has(address)) found.set(address, { publicKey: pair.publicKey, seed: pair.seed, addressVersion });
    }
  };
  const words = await wordsOf(args, context);
  for (const name of args.values('dev-account')) take(devAccount(name).keyPair);
  for (const file of args.values('key-file')) for (const pair of await readPairs(file)) take(pair);
  if (words === undefined && args.values('dev-account').length + args.values('key-file').length === 0) {
    throw new UsageError('name the keys: --key-file, --words-file, --data or --dev-account');
  }
  const depth = integerFlag(args, 'depth', 1, MAX_DEPTH) ?? DEFAULT_DEPTH;
  if (words !== undefined) await takeDerived(words, { addresses, found, depth }, take);
  return found;
}

async function wordsOf(args: ParsedArgs, context: CliContext): Promise<WalletWords | undefined> {
  const file = args.value('words-file');
  const isFolder = args.value('data') !== undefined || args.value('config') !== undefined;
  if (file !== undefined && isFolder) throw new UsageError('a keystore has its words: give --words-file or --data');
  if (file !== undefined) return parseWords(await readSecretText(file), await extraWord(args, context));
  if (!isFolder) return undefined;
  const { config } = folderConfig(args, context);
  const passphrase = await passphraseOf(args, context);
  return wordsIn(keystoreIn(config), passphrase);
}

interface Wanted {
  readonly addresses: ReadonlySet<string>;
  readonly found: ReadonlyMap<string, SigningKey>;
  readonly depth: number;
}

async function takeDerived(words: WalletWords, wanted: Wanted, take: (pair: KeyPair) => void): Promise<void> {
  const derived = await DerivedKeys.of(words);
  try {
    for (let index = 0; index < wanted.depth; index++) {
      for (const account of ACCOUNTS) {
        if (wanted.found.size === wanted.addresses.size) return;
        take(keyPairFromSeed(derived.seed({ account, index })));
      }
    }
  } finally {
    derived.close();
  }
}

async function readPairs(file: string): Promise<readonly KeyPair[]> {
  const content: unknown = parseJson(await readSecretText(file), file);
  const addresses = memberOf(content, 'addresses') ?? content;
  if (typeof addresses !== 'object' || addresses === null) throw malformed(file, 'does not hold {"addresses": {…}}');
  return Object.entries(addresses).map(([address, pair]) => {
    const secret = memberOf(pair, 'secret_key');
    if (typeof secret !== 'string' || !isHex(secret))
      throw malformed(file, `has no secret key for ${address.slice(0, 64)}`);
    return parseSecretKey(fromHex(secret));
  });
}

function parseJson(text: string, file: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    throw malformed(file, 'is not acceptable JSON');
  }
}

async function readSecretText(file: string): Promise<string> {
  try {
    return readBoundedText(file, MAX_DOCUMENT_FILE);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${errorMessage(error)}`);
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

function malformed(file: string, problem: string): TesseraError {
  return new TesseraError('malformed_key_pair', `${file} ${problem}`);
}

const TRUST_FLAG: FlagSpec = flag(
  '--trust-amounts',
  'Signs without a proof of the amounts of the inputs: if they hold more than the file says, its author can take ' +
    'the rest.',
);

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads a file of `tessera tx build`, shows on the error stream what it does, asks, and prints the signed file. ' +
        'Opens no connection, so it can run on a machine without a network. In a pipe it signs without asking.',
      'Every input needs its key. With --partial only inputs with a given key are signed; the next holder of keys ' +
        'signs the others. A signature covers all outputs: if they change, it is invalid.',
      'Only outputs to the address of an input with a given key are shown as `returns`. An input without a given key ' +
        'is marked: outputs to its address are payments, whoever has signed it.',
      'A signature does not cover fees, so anything that an input holds beyond the payment can be taken. The amounts ' +
        'are therefore checked by the transactions that made the inputs, or, for outputs of block 0, by the genesis ' +
        'file. An input without such a proof is not signed.',
      'Imported keys of a wallet are not derived from its words: export them, and name the file.',
    ],
    arguments: [{ name: 'FILE', description: 'The file. Default: standard input, also for -.' }],
    flags: [...KEY_FLAGS, flag('--partial', 'Signs what it can.'), GENESIS_FLAG, TRUST_FLAG, YES_FLAG],
    json: 'Prints the transaction on one line.',
    examples: {
      'tessera tx sign payment.json --data /var/lib/tessera/user > signed.json':
        'Signs with the wallet in the folder; asks for its passphrase.',
      'tessera tx sign payment.json --words-file words.txt > signed.json': 'Signs with words.',
    },
    exits: {
      1: 'a key is missing, or something in the file is wrong or not proven',
      ...ASKING_EXITS,
    },
  },
  async run(args, context) {
    const [file = STDIN] = args.positionals;
    const draft = await readDraft(file, context);
    assertSound(signatureFault(draft));
    const unproven = await unprovenInputs(draft, args, context);
    const open = unsigned(draft);
    // Inputs that are signed already count too: the summary says which are the signer's.
    const keys = await findKeys(new Set(draft.inputs.map(({ address }) => address)), args, context);
    try {
      context.stderr.write(summaryOf(draft, { own: new Set(keys.keys()), unproven }));
      const isTemporary = (address: string) => keys.get(address)?.addressVersion === ADDRESS_VERSION_TEMP;
      warnOfTemporary([...keys.keys()].filter(isTemporary), context);
      const without = open.find(({ address }) => !keys.has(address));
      if (!open.some(({ address }) => keys.has(address)) || (without !== undefined && !args.has('partial'))) {
        const whose = without === undefined ? 'nothing is left to be signed' : `no key is that of ${without.address}`;
        throw new TesseraError('invalid_signature', `${whose}: nothing was signed`);
      }
      const blind = open.find((input) => keys.has(input.address) && unproven.includes(input));
      if (blind !== undefined && !args.has(TRUST_FLAG.name)) throw unknownAmount(blind);
      if (!args.has('yes') && isInteractive(context)) await confirm('Sign?', context);
      context.stdout.write(draftText(signWith(keys, draft), args.has('json')));
      return 0;
    } finally {
      for (const { seed } of keys.values()) seed.fill(0);
    }
  },
};

function unknownAmount({ outPoint }: DraftInput): TesseraError {
  const why = `nothing proves what ${outPointName(outPoint)} holds; if it holds more, the rest can be taken as a fee`;
  const advice =
    'build the file again (tessera tx build), name the genesis file of the network for outputs of block 0 (--genesis)';
  return new TesseraError('malformed_transaction', `${why}: ${advice}, or trust the file (--${TRUST_FLAG.name})`);
}

export function signWith(keys: ReadonlyMap<string, SigningKey>, draft: Draft): Draft {
  const { inputs, outputs } = draft;
  const preimage = outputsPreimage(outputs);
  const signed = inputs.map((input) => {
    const key = input.signature === null ? keys.get(input.address) : undefined;
    if (key === undefined) return input;
    const { publicKey, seed, addressVersion = null } = key;
    const signature = sign(seed, signableOf(preimage, input.outPoint));
    return { ...input, signature: { publicKey, signature, addressVersion } };
  });
  return { ...draft, inputs: signed };
}
