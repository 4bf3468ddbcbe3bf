/** The wallet of the original node, in its RocksDB (docs/wallet.md#from-the-original-node), and its key pairs. Files are only read. */

import { createDecipheriv, pbkdf2Sync } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { BincodeReader } from '../../chain/bincode.js';
import { readBatch } from '../../db/level-files/batch.js';
import { readLog } from '../../db/level-files/log.js';
import { rocksEntries, userKey } from '../../db/level-files/table.js';
import { toHex } from '../../lib/bytes.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { readBounded } from '../../lib/read-bounded.js';

const MAX_FILE = 256 * 1024 * 1024;
const TAG_LENGTH = 16;
const NONCE_LENGTH = 12;
const KEY_LENGTH = 32;
const ROUNDS = 100_000;
const MASTER_KEY = 'MasterKeyStore';
/** Where it lists the addresses that it has keys for. */
const ADDRESSES = 'a';
/** Sequence of a write, above the kind in the tag of an internal key; kind 1 is a value. */
const KIND_BITS = 8n;

/** The newest write of each key, undefined for a deletion. */
type Values = ReadonlyMap<string, { readonly sequence: bigint; readonly value: Uint8Array | undefined }>;

/** The key pairs in a folder, in the form of an export. Throws `wrong_passphrase` and `wallet_unreadable`. */
export function originalPairs(folder: string, passphrase: string): unknown {
  try {
    return pairsIn(valuesIn(folder), passphrase);
  } catch (cause) {
    if (isTesseraError(cause, 'wrong_passphrase')) throw cause;
    throw new TesseraError('wallet_unreadable', `${folder} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}

function pairsIn(values: Values, passphrase: string): unknown {
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

/** The values of tables, and of logs that no table has yet. */
function valuesIn(folder: string): Values {
  const newest: Map<string, { readonly sequence: bigint; readonly value: Uint8Array | undefined }> = new Map();
  const add = (key: Uint8Array, sequence: bigint, value: Uint8Array | undefined): void => {
    const name = Buffer.from(key).toString('latin1');
    if ((newest.get(name)?.sequence ?? -1n) < sequence) newest.set(name, { sequence, value });
  };
  for (const name of readdirSync(folder).filter((file) => /^\d+\.(sst|log)$/.test(file))) {
    const file = readBounded(join(folder, name), MAX_FILE);
    for (const { key, value } of name.endsWith('.sst') ? rocksEntries(file) : []) {
      const tag = Buffer.from(key).readBigUInt64LE(key.length - 8);
      add(userKey(key), tag >> KIND_BITS, (tag & 0xffn) === 1n ? value : undefined);
    }
    const { records, fault } = name.endsWith('.log') ? readLog(file) : { records: [], fault: null };
    // A crash cuts the end off, which holds nothing that the node had answered for. Anything else hides keys.
    if (fault?.kind === 'damaged') throw new RangeError(`${name} is damaged at byte ${fault.at}`);
    for (const { data } of records) {
      const first = Buffer.from(data).readBigUInt64LE();
      for (const [at, { key, value }] of readBatch(data).entries()) add(key, first + BigInt(at), value);
    }
  }
  return newest;
}
