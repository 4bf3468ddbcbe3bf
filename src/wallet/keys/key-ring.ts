/**
 * The key pairs of the wallet: one for each address, sealed under the master key in the store. Addresses and their
 * versions are in memory; a secret is unsealed for the moment in which it signs or is exported, and wiped.
 */

import { addressOf } from '../../chain/address.js';
import type { SigningKey } from '../../chain/builders.js';
import { ADDRESS_VERSION_TEMP, ADDRESS_VERSION_V0 } from '../../chain/constants.js';
import type { AddressVersion } from '../../chain/types.js';
import {
  encodePkcs8,
  generateKeyPair,
  type KeyPair,
  PUBLIC_KEY_LENGTH,
  parseSecretKey,
  SEED_LENGTH,
} from '../../crypto/ed25519.js';
import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { equalBytes, keptBytes } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import type { Random } from '../../lib/random.js';
import { addressKey, FORMAT_KEY, keyText, PREFIX, STORE_FORMAT } from '../layout.js';
import type { KeyPairRecord } from '../service.js';
import type { StagedWrites } from '../staged-writes.js';
import type { Keystore } from './keystore.js';

/** Record: address version (1 byte) ‖ box of seed and public key. */
const VERSION_BYTES = new Map<AddressVersion, number>([
  [null, 0],
  [ADDRESS_VERSION_V0, 1],
  [ADDRESS_VERSION_TEMP, 2],
]);
const CHECK_CONTEXT = 'tessera-wallet-store';
/** Addresses whose records are kept in memory until they are surely on disk: far more than one flush ever holds. */
const MAX_FRESH = 10_000;

export interface KeyRing {
  /** In the order of their text when read, then as they were added. */
  readonly addresses: ReadonlyMap<string, AddressVersion>;
  /** A fresh address of the current form; its key is staged, not yet durable. */
  create(): string;
  /** Checks all pairs, then stages them: all or nothing (decision V11). Throws `malformed_key_pair` with the address. */
  importPairs(pairs: ReadonlyMap<string, KeyPairRecord>): readonly string[];
  /** Takes fresh addresses out again whose records could not be written. Nobody may know them yet. */
  discard(addresses: Iterable<string>): void;
  exportPairs(): Promise<ReadonlyMap<string, KeyPairRecord>>;
  /** The keys of own addresses. Wipe them with `wipeKeys`. Throws `wallet_unreadable`. */
  signingKeys(addresses: Iterable<string>): Promise<Map<string, SigningKey>>;
}

export interface KeyRingModules {
  readonly kv: Kv;
  readonly writes: StagedWrites;
  readonly keystore: Keystore;
  readonly random: Random;
}

/** Overwrites the secrets. */
export function wipeKeys(keys: ReadonlyMap<string, SigningKey>): void {
  for (const { seed } of keys.values()) seed.fill(0);
}

/** Reads the addresses. Throws `wallet_unreadable` when store and keystore do not belong together. */
export async function openKeyRing({ kv, writes, keystore, random }: KeyRingModules): Promise<KeyRing> {
  await checkFormat(kv, writes, keystore);
  const addresses = new Map<string, AddressVersion>();
  for await (const [key, record] of kv.entries(prefixRange(PREFIX.key))) {
    addresses.set(keyText(key), versionOf(record));
  }
  // Keys that are staged but perhaps not on disk yet; signing must find them.
  const fresh = new Map<string, Uint8Array>();

  function stage(address: string, pair: KeyPair, version: AddressVersion): void {
    const content = Buffer.concat([pair.seed, pair.publicKey]);
    const box = keystore.seal(content, address);
    content.fill(0);
    pair.seed.fill(0);
    const record = keptBytes(Uint8Array.of(VERSION_BYTES.get(version) ?? 0), box);
    writes.put(addressKey(address), record);
    fresh.set(address, record);
    for (const oldest of fresh.keys()) {
      if (fresh.size <= MAX_FRESH) break;
      fresh.delete(oldest);
    }
    addresses.set(address, version);
  }

  function unseal(address: string, record: Uint8Array | undefined): SigningKey {
    const content = record && keystore.open(record.subarray(1), address);
    if (record === undefined || content?.length !== SEED_LENGTH + PUBLIC_KEY_LENGTH) {
      throw new TesseraError('wallet_unreadable', `the key of ${address} cannot be unsealed`);
    }
    const seed = Uint8Array.from(content.subarray(0, SEED_LENGTH));
    const publicKey = Uint8Array.from(content.subarray(SEED_LENGTH));
    content.fill(0);
    return { seed, publicKey, addressVersion: versionOf(record) };
  }

  async function signingKeys(wanted: Iterable<string>): Promise<Map<string, SigningKey>> {
    const list = [...new Set(wanted)];
    const stored = list.filter((address) => !fresh.has(address));
    const records = await kv.getMany(stored.map(addressKey));
    const found = new Map(stored.map((address, i) => [address, records[i]]));
    return new Map(list.map((address) => [address, unseal(address, fresh.get(address) ?? found.get(address))]));
  }

  return {
    addresses,
    create() {
      const pair = generateKeyPair(random);
      const address = addressOf(pair.publicKey);
      stage(address, pair, null);
      return address;
    },
    importPairs(pairs) {
      const checked = [...pairs].map(([address, record]) => ({ address, pair: checkPair(address, record), record }));
      for (const { address, pair, record } of checked) stage(address, pair, record.addressVersion);
      return checked.map(({ address }) => address);
    },
    discard(unwritten) {
      for (const address of unwritten) {
        addresses.delete(address);
        fresh.delete(address);
        writes.del(addressKey(address));
      }
    },
    async exportPairs() {
      const keys = await signingKeys(addresses.keys());
      const pairs = new Map<string, KeyPairRecord>();
      for (const [address, key] of keys) {
        pairs.set(address, {
          publicKey: key.publicKey,
          secretKey: encodePkcs8(key),
          addressVersion: key.addressVersion ?? null,
        });
      }
      wipeKeys(keys);
      return pairs;
    },
    signingKeys,
  };
}

async function checkFormat(kv: Kv, writes: StagedWrites, keystore: Keystore): Promise<void> {
  const record = await kv.get(FORMAT_KEY);
  if (record === undefined) {
    for await (const _ of kv.entries({ ...prefixRange(PREFIX.key), limit: 1 })) {
      throw new TesseraError('wallet_unreadable', 'the wallet store has keys but no format; restore it from a backup');
    }
    writes.put(
      FORMAT_KEY,
      Buffer.concat([Uint8Array.of(STORE_FORMAT), keystore.seal(new Uint8Array(0), CHECK_CONTEXT)]),
    );
    await writes.flush();
    return;
  }
  if (record[0] !== STORE_FORMAT) {
    throw new TesseraError(
      'wallet_unreadable',
      `the wallet store has format ${record[0]}; this node reads ${STORE_FORMAT}`,
    );
  }
  if (keystore.open(record.subarray(1), CHECK_CONTEXT) === undefined) {
    throw new TesseraError(
      'wallet_unreadable',
      'keystore.json belongs to another wallet; restore the one of this store',
    );
  }
}

/** The pair, when both keys and the address belong together (decision V11). Throws `malformed_key_pair` with the address. */
export function checkPair(address: string, { publicKey, secretKey, addressVersion }: KeyPairRecord): KeyPair {
  let pair: KeyPair;
  try {
    pair = parseSecretKey(secretKey);
  } catch (cause) {
    const why = cause instanceof TesseraError ? cause.message : 'the secret key cannot be read';
    throw new TesseraError('malformed_key_pair', `key pair of ${address}: ${why}`);
  }
  if (!equalBytes(pair.publicKey, publicKey)) {
    throw new TesseraError(
      'malformed_key_pair',
      `key pair of ${address}: the public key does not belong to the secret key`,
    );
  }
  if (addressOf(publicKey, addressVersion) !== address) {
    const version = addressVersion === null ? 'null' : addressVersion;
    throw new TesseraError(
      'malformed_key_pair',
      `${address} is not the address of its key in address version ${version}`,
    );
  }
  return pair;
}

function versionOf(record: Uint8Array): AddressVersion {
  for (const [version, byte] of VERSION_BYTES) if (record[0] === byte) return version;
  throw new TesseraError('wallet_unreadable', 'a key in the wallet store has an unknown address version');
}
