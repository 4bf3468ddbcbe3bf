/** The wallet of the original node, in its RocksDB (docs/wallet.md#from-the-original-node), and its key pairs. Files are only read. */

import { createDecipheriv, pbkdf2Sync } from 'node:crypto';
import { BincodeReader } from '../../chain/bincode.js';
import { type RocksValues, rocksValues } from '../../db/level-files/rocks-values.js';
import { toHex } from '../../lib/bytes.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';

const TAG_LENGTH = 16;
const NONCE_LENGTH = 12;
const KEY_LENGTH = 32;
const ROUNDS = 100_000;
const MASTER_KEY = 'MasterKeyStore';
/** Where it lists the addresses that it has keys for. */
const ADDRESSES = 'a';

/** The key pairs in a folder, in the form of an export. Throws `wrong_passphrase` and `wallet_unreadable`. */
export function originalPairs(folder: string, passphrase: string): unknown {
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

/** ChaCha20-Poly1305; undefined when the key is another one, or the bytes are. */
function opened(key: Uint8Array, nonce: Uint8Array, box: Uint8Array): Buffer | undefined {
  try {
    const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG_LENGTH });
    decipher.setAuthTag(box.subarray(-TAG_LENGTH));
    return Buffer.concat([decipher.update(box.subarray(0, -TAG_LENGTH)), decipher.final()]);
  } catch {
    return undefined;
  }
}
