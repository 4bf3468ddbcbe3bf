/** The keys that `tessera tx sign` signs with: of a file of key pairs, of words, of a keystore, or of a dev account. */

import { addressOf } from '../../chain/address.js';
import type { SigningKey } from '../../chain/builders.js';
import type { AddressVersion } from '../../chain/types.js';
import { type KeyPair, keyPairFromSeed, parseSecretKey } from '../../crypto/ed25519.js';
import { fromHex, isHex } from '../../lib/bytes.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { parseExactJson } from '../../lib/json.js';
import { MAX_DOCUMENT_FILE, readBoundedText } from '../../lib/read-bounded.js';
import { ACCOUNTS, DerivedKeys } from '../../wallet/keys/derived-keys.js';
import { parseWords, type WalletWords } from '../../wallet/keys/words.js';
import { type CliContext, type FlagSpec, flag, integerFlag, type ParsedArgs, UsageError } from '../command.js';
import { devAccount } from '../dev-account.js';
import { ROLE_FLAGS } from '../wallet/connection.js';
import { EXTRA_WORD_FLAGS, extraWord, folderConfig, keystoreIn, wordsIn } from '../wallet/own-folder.js';
import { PASSPHRASE, passphraseOf, secretFlag } from '../wallet/secrets.js';

const DEFAULT_DEPTH = 1_000;
const MAX_DEPTH = 1_000_000;
const VERSIONS: readonly AddressVersion[] = [null, 0, 99_999];

export const KEY_FLAGS: readonly FlagSpec[] = [
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

/** The keys of those of the addresses for which there is one. Throws `UsageError` when no key is named. */
export async function findKeys(
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
