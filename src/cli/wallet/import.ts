/**
 * `tessera wallet import`: adds the key pairs of a file to the wallet, after all of them have been checked here; or those of the wallet of
 * the original node, in its RocksDB (docs/wallet.md#from-the-original-node), whose files are only read.
 */

import { createDecipheriv, pbkdf2Sync } from 'node:crypto';
import { importKeypairs } from '../../api/routes/wallet/operations.js';
import type { Keypair } from '../../api/routes/wallet/schemas.js';
import { DEFAULT_BATCH } from '../../api/schemas/scalars.js';
import { addressVersionOf } from '../../chain/address.js';
import { BincodeReader } from '../../chain/bincode.js';
import type { NodeClient } from '../../client/client.js';
import { type RocksValues, rocksValues } from '../../db/level-files/rocks-values.js';
import { fromHex, isHex, toHex } from '../../lib/bytes.js';
import { systemClock } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { parseExactJson } from '../../lib/json.js';
import { checkPair } from '../../wallet/keys/key-ring.js';
import { type CliContext, flag, type OwnCommand, type ParsedArgs, printed, UsageError } from '../command.js';
import { readNamedOrInput } from '../named-file.js';
import { startProgress, warnOfTemporaryPairs } from '../output.js';
import { connect, NODE_FLAGS } from './connection.js';
import { askSecret } from './prompt.js';
import { givenSecret, type SecretSource, secretFlag } from './secrets.js';

const ORIGINAL: SecretSource = {
  flag: 'original-passphrase-file',
  env: 'TESSERA_ORIGINAL_PASSPHRASE',
  question: 'Passphrase of the wallet of the original node: ',
};

type Pairs = readonly (readonly [address: string, pair: Keypair])[];

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads a file of `tessera wallet export`; secret keys may also be 32-byte seeds or 64-byte secrets, in hex. ' +
        'All pairs are checked before the first is sent; if one is invalid, nothing is imported. Then the node asks ' +
        'the mempool node what the addresses hold; `tessera wallet balance` shows it a moment later.',
      `More than ${DEFAULT_BATCH} pairs are sent in several requests. Importing a pair again changes nothing, so after a ` +
        'failure the same command continues.',
    ],
    arguments: [{ name: 'FILE', required: false, description: 'The file with the key pairs; - for standard input.' }],
    flags: [
      ...NODE_FLAGS,
      flag(
        '--from-original FOLDER',
        'Reads the wallet of the original node in this folder instead of a file; stop that node first.',
      ),
      secretFlag(ORIGINAL, 'the passphrase of that wallet'),
    ],
    examples: {
      'tessera wallet import --from-original src/wallet/wallet/live':
        'Asks for the passphrase of the wallet in that folder, and adds its keys.',
      'tessera wallet import keys.json --role miner': 'Adds the keys to the wallet of the miner.',
    },
    again: 'run the same command again: importing a pair again changes nothing',
    exits: { 1: 'failed; if only the refresh failed, the message says that the keys are imported' },
  },
  async run(args, context) {
    const [file] = args.positionals;
    const folder = args.value('from-original');
    if ((file === undefined) === (folder === undefined)) throw new UsageError('name a file, or --from-original FOLDER');
    const pairs =
      file === undefined
        ? await readOriginal(folder, args, context)
        : checkedPairs(parseJson(await readNamedOrInput(file, context.stdin), file), file);
    warnOfTemporaryPairs(pairs, context);
    const imported = await send(pairs, connect(args, context), context);
    return printed(args, context, { imported }, `${imported.length} key pairs imported`);
  },
};

async function readOriginal(folder = '', args: ParsedArgs, context: CliContext): Promise<Pairs> {
  const passphrase = givenSecret(ORIGINAL, args, context) ?? (await askSecret(ORIGINAL.question, context));
  return checkedPairs(originalPairs(folder, passphrase), folder);
}

/** Checks the pairs. Errors name an address or a place, never a key. */
function checkedPairs(content: unknown, file: string): Pairs {
  const addresses =
    typeof content === 'object' && content !== null && 'addresses' in content ? content.addresses : content;
  if (typeof addresses !== 'object' || addresses === null || Array.isArray(addresses)) {
    throw new TesseraError('malformed_key_pair', `${file} does not hold {"addresses": {ADDRESS: key pair}}`);
  }
  return Object.entries(addresses).map(([address, pair]) => {
    if (!isPair(pair)) {
      throw new TesseraError('malformed_key_pair', `the key pair of ${address.slice(0, 64)} is not two keys in hex`);
    }
    const addressVersion = addressVersionOf(pair.address_version ?? null);
    const publicKey = fromHex(pair.public_key);
    checkPair(address, { publicKey, secretKey: fromHex(pair.secret_key), addressVersion }).seed.fill(0);
    return [address, pair];
  });
}

function isPair(value: unknown): value is Keypair {
  if (typeof value !== 'object' || value === null || !('public_key' in value) || !('secret_key' in value)) return false;
  const { public_key: publicKey, secret_key: secretKey } = value;
  const version = 'address_version' in value ? value.address_version : null;
  if (version !== null && typeof version !== 'number') return false;
  return typeof publicKey === 'string' && isHex(publicKey) && typeof secretKey === 'string' && isHex(secretKey);
}

function parseJson(text: string, file: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    throw new TesseraError('malformed_key_pair', `${file} is not acceptable JSON`);
  }
}

async function send(pairs: Pairs, client: NodeClient, context: CliContext): Promise<readonly string[]> {
  const progress = startProgress('importing', 'key pairs', context, systemClock);
  const imported: string[] = [];
  let failedRefresh: TesseraError | undefined;
  for (let at = 0; at < pairs.length; at += DEFAULT_BATCH) {
    const part = pairs.slice(at, at + DEFAULT_BATCH);
    try {
      const body = { addresses: Object.fromEntries(part) };
      imported.push(...(await client.call(importKeypairs, { body })).imported);
    } catch (error) {
      if (!isTesseraError(error, 'refresh_failed')) throw error;
      failedRefresh = error;
      imported.push(...part.map(([address]) => address));
    }
    progress.update(imported.length, pairs.length);
  }
  progress.end();
  if (failedRefresh === undefined) return imported;
  throw new TesseraError(
    'refresh_failed',
    `${imported.length} key pairs are imported, but their funds are not known yet (${failedRefresh.message}); the node ` +
      'asks for them when it is linked to a mempool node',
  );
}

const TAG_LENGTH = 16;
const NONCE_LENGTH = 12;
const KEY_LENGTH = 32;
const ROUNDS = 100_000;
const MASTER_KEY = 'MasterKeyStore';
/** Key of the entry that lists the addresses whose key pairs are stored. */
const ADDRESSES = 'a';

/** The key pairs in a folder, in the form of an export. Throws `wrong_passphrase` and `wallet_unreadable`. */
function originalPairs(folder: string, passphrase: string): unknown {
  try {
    return pairsIn(rocksValues(folder), passphrase);
  } catch (cause) {
    if (isTesseraError(cause, 'wrong_passphrase')) throw cause;
    throw new TesseraError('wallet_unreadable', `${folder} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}

function pairsIn(values: RocksValues, passphrase: string): unknown {
  const stored = (key: string): Uint8Array => {
    const { value } = values.get(key) ?? {};
    if (value === undefined) throw new RangeError(`it holds no ${key} of a wallet of the original node`);
    return value;
  };
  const store = new BincodeReader(stored(MASTER_KEY));
  const [salt, nonce, sealed] = [store.bytes(), store.bytes(), store.bytes()];
  const master = opened(pbkdf2Sync(passphrase, salt, ROUNDS, KEY_LENGTH, 'sha256'), nonce, sealed);
  if (master === undefined) throw new TesseraError('wrong_passphrase', 'the passphrase does not open this wallet');
  const list = new BincodeReader(stored(ADDRESSES));
  const addresses = Array.from({ length: list.length64(1) }, () => list.string());
  const pairs = addresses.map((address) => {
    const box = stored(address);
    const pair = opened(master, box.subarray(0, NONCE_LENGTH), box.subarray(NONCE_LENGTH));
    if (pair === undefined) throw new RangeError(`the key pair of ${address} is damaged`);
    const from = new BincodeReader(pair);
    const keys = { public_key: toHex(from.bytes()), secret_key: toHex(from.bytes()) };
    return [address, { ...keys, address_version: from.option() ? from.number64() : null }];
  });
  return Object.fromEntries(pairs);
}

/** The bytes in a box of ChaCha20-Poly1305; undefined for a wrong key or changed bytes. */
function opened(key: Uint8Array, nonce: Uint8Array, box: Uint8Array): Buffer | undefined {
  try {
    const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG_LENGTH });
    decipher.setAuthTag(box.subarray(-TAG_LENGTH));
    return Buffer.concat([decipher.update(box.subarray(0, -TAG_LENGTH)), decipher.final()]);
  } catch {
    return undefined;
  }
}
