/**
 * The key pairs of the wallet, each sealed under the master key. New ones are derived from the words and stored, with their place, before
 * their address is told; keys without a place are not covered by the words. A secret is unsealed only while it signs or is exported.
 */

import { addressOf } from '../../chain/address.js';
import { BincodeWriter } from '../../chain/bincode.js';
import type { SigningKey } from '../../chain/builders.js';
import { ADDRESS_VERSION_TEMP, ADDRESS_VERSION_V0 } from '../../chain/constants.js';
import type { AddressVersion } from '../../chain/types.js';
import { encodePkcs8, type KeyPair, PUBLIC_KEY_LENGTH, parseSecretKey, SEED_LENGTH } from '../../crypto/ed25519.js';
import { decodeRecord, readChoice } from '../../db/decode-record.js';
import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { equalBytes, keptBytes } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { addressKey, FORMAT_KEY, keyText, PREFIX, placeKey, STORE_FORMAT } from '../layout.js';
import type { KeyPairRecord } from '../service.js';
import type { WriteBuffer } from '../write-buffer.js';
import { ACCOUNTS, type Account, DerivedKeys, type KeyPlace } from './derived-keys.js';
import type { Keystore } from './keystore.js';
import { Lookahead } from './lookahead.js';

/** Bytes of the address versions in records: version (1 byte) ‖ box of seed and public key. */
const VERSION_BYTES = new Map<AddressVersion, number>([
  [null, 0],
  [ADDRESS_VERSION_V0, 1],
  [ADDRESS_VERSION_TEMP, 2],
]);
const CHECK_CONTEXT = 'tessera-wallet-store';
/** Addresses whose records are kept in memory until they are surely on disk: far more than one flush ever writes. */
const MAX_FRESH = 10_000;

export interface KeyRingModules {
  readonly kv: Kv;
  readonly writes: WriteBuffer;
  readonly keystore: Keystore;
}

export class KeyRing {
  readonly #modules: KeyRingModules;
  readonly #derived: DerivedKeys;
  readonly #lookahead: Lookahead;
  readonly #addresses: Map<string, AddressVersion>;
  /** Addresses that other keys may have too (version 99999). */
  readonly #temporary: Set<string>;
  /** Places of the addresses that the words cover. */
  readonly #places: Map<string, KeyPlace>;
  /** Records of keys that are staged but perhaps not on disk yet; signing must find them. */
  readonly #fresh = new Map<string, Uint8Array>();
  #changes = 0;

  private constructor(
    modules: KeyRingModules,
    derived: DerivedKeys,
    addresses: Map<string, AddressVersion>,
    places: Map<string, KeyPlace>,
  ) {
    this.#modules = modules;
    this.#derived = derived;
    this.#addresses = addresses;
    this.#temporary = new Set(
      [...addresses.keys()].filter((address) => addresses.get(address) === ADDRESS_VERSION_TEMP),
    );
    this.#places = places;
    this.#lookahead = new Lookahead(derived, places.values());
  }

  /** Reads the addresses. Throws `wallet_unreadable` when store and keystore do not belong together. */
  static async open(modules: KeyRingModules): Promise<KeyRing> {
    const { kv, writes, keystore } = modules;
    await checkFormat(kv, writes, keystore);
    const addresses = new Map<string, AddressVersion>();
    for await (const [key, record] of kv.entries(prefixRange(PREFIX.key))) {
      addresses.set(keyText(key), versionOf(record));
    }
    const words = keystore.words();
    const derived = await DerivedKeys.of(words).finally(() => words.entropy.fill(0));
    const places = new Map<string, KeyPlace>();
    for await (const [key, record] of kv.entries(prefixRange(PREFIX.place))) {
      // The place may be one of other words, lost together with a newer keystore: these words do not cover that key.
      const place = decodePlace(record, derived.fingerprint);
      if (place !== undefined) places.set(keyText(key), place);
    }
    return new KeyRing(modules, derived, addresses, places);
  }

  /** Addresses in the order of their text when read, then as they were added; without those that were not told to anybody yet. */
  get addresses(): ReadonlyMap<string, AddressVersion> {
    return this.#addresses;
  }

  /** Addresses of version 99999, which many keys share (docs/chain.md#addresses). */
  get temporary(): ReadonlySet<string> {
    return this.#temporary;
  }

  /** All addresses that may be paid: also those that an older or newer copy of this wallet may have handed out. */
  watched(): readonly string[] {
    return [...this.#addresses.keys(), ...this.#lookahead.addresses()];
  }

  /** Addresses that are watched only since the last call. */
  takeNewlyWatched(): readonly string[] {
    return this.#lookahead.takeNew();
  }

  /** Number that changes whenever the addresses of `watched` do. */
  get changes(): number {
    return this.#changes;
  }

  owns(address: string): boolean {
    return this.#addresses.has(address) || this.#lookahead.placeOf(address) !== undefined;
  }

  isCovered(address: string): boolean {
    return this.#places.has(address) || this.#lookahead.placeOf(address) !== undefined;
  }

  /** The last place handed out in each account, if any. */
  lastPlaces(): readonly KeyPlace[] {
    const last = new Map<Account, KeyPlace>();
    for (const place of this.#places.values()) {
      if (place.index > (last.get(place.account)?.index ?? -1)) last.set(place.account, place);
    }
    return [...last.values()];
  }

  /** Place of the address's key among those of the words. */
  placeOf(address: string): KeyPlace | undefined {
    return this.#places.get(address);
  }

  /** A fresh address of the current form; its key is staged, not yet durable. */
  create(account: Account): string {
    return this.#handOut(this.#lookahead.next(account));
  }

  /** Hands out a place and all before it in its account, as another copy of the wallet has done. Staged. */
  handOutTo({ account, index }: KeyPlace): readonly string[] {
    const addresses: string[] = [];
    while (this.#lookahead.next(account).index <= index) addresses.push(this.create(account));
    return addresses;
  }

  /** True for an own address, which was paid. If it was not known to be in use, it is staged as handed out, with all before it. */
  claim(address: string): boolean {
    if (this.#addresses.has(address)) return true;
    const place = this.#lookahead.placeOf(address);
    if (place === undefined) return false;
    for (const earlier of this.#lookahead.upTo(place)) this.#handOut(earlier);
    return true;
  }

  /** Checks all pairs, then stages them: all or nothing (decision V11). Throws `malformed_key_pair` with the address. */
  importPairs(pairs: ReadonlyMap<string, KeyPairRecord>): readonly string[] {
    const checked = [...pairs].map(([address, record]) => ({ address, pair: checkPair(address, record), record }));
    for (const { address, pair, record } of checked) {
      this.claim(address);
      this.#stage(address, pair, record.addressVersion);
    }
    return checked.map(({ address }) => address);
  }

  /** Removes fresh addresses whose records could not be written, and which nobody was told of. */
  discard(addresses: Iterable<string>): void {
    this.#changes++;
    for (const address of addresses) {
      this.#addresses.delete(address);
      this.#temporary.delete(address);
      this.#fresh.delete(address);
      this.#modules.writes.del(addressKey(address));
      const place = this.#places.get(address);
      if (place === undefined) continue;
      this.#places.delete(address);
      this.#modules.writes.del(placeKey(address));
      this.#lookahead.wait(place);
    }
  }

  close(): void {
    this.#derived.close();
  }

  async exportPairs(wanted: Iterable<string> = this.#addresses.keys()): Promise<ReadonlyMap<string, KeyPairRecord>> {
    return this.withKeys(wanted, (keys) => {
      const pairs = [...keys].map(([address, key]) => {
        const { publicKey, addressVersion = null } = key;
        return [address, { publicKey, secretKey: encodePkcs8(key), addressVersion }] as const;
      });
      return new Map(pairs);
    });
  }

  /** Works with the keys of own addresses, and wipes them afterwards. Throws `wallet_unreadable`, and what `work` throws. */
  async withKeys<T>(
    wanted: Iterable<string>,
    work: (keys: ReadonlyMap<string, SigningKey>) => T | Promise<T>,
  ): Promise<T> {
    const keys = await this.#signingKeys(wanted);
    try {
      return await work(keys);
    } finally {
      for (const { seed } of keys.values()) seed.fill(0);
    }
  }

  /** Works with the key of one own address, as `withKeys`. */
  withKey<T>(address: string, work: (key: SigningKey) => T): Promise<T> {
    return this.withKeys([address], (keys) => {
      const key = keys.get(address);
      if (key === undefined) throw new TesseraError('internal_error', `the wallet has no key for ${address}`);
      return work(key);
    });
  }

  async #signingKeys(wanted: Iterable<string>): Promise<Map<string, SigningKey>> {
    const list = [...new Set(wanted)];
    const stored = list.filter((address) => !this.#fresh.has(address));
    const records = await this.#modules.kv.getMany(stored.map(addressKey));
    const found = new Map(stored.map((address, i) => [address, records[i]]));
    const recordOf = (address: string): Uint8Array | undefined => this.#fresh.get(address) ?? found.get(address);
    return new Map(list.map((address) => [address, this.#unseal(address, recordOf(address))]));
  }

  #handOut(place: KeyPlace): string {
    const { address, publicKey } = this.#lookahead.take(place);
    this.#stage(address, { seed: this.#derived.seed(place), publicKey }, null);
    this.#modules.writes.put(placeKey(address), encodePlace(place, this.#derived.fingerprint));
    this.#places.set(address, place);
    return address;
  }

  #stage(address: string, pair: KeyPair, version: AddressVersion): void {
    this.#changes++;
    const content = Buffer.concat([pair.seed, pair.publicKey]);
    const box = this.#modules.keystore.seal(content, address);
    content.fill(0);
    pair.seed.fill(0);
    const record = keptBytes(Uint8Array.of(VERSION_BYTES.get(version) ?? 0), box);
    this.#modules.writes.put(addressKey(address), record);
    this.#fresh.set(address, record);
    for (const oldest of this.#fresh.keys()) {
      if (this.#fresh.size <= MAX_FRESH) break;
      this.#fresh.delete(oldest);
    }
    this.#addresses.set(address, version);
    if (version === ADDRESS_VERSION_TEMP) this.#temporary.add(address);
  }

  #unseal(address: string, record: Uint8Array | undefined): SigningKey {
    const content = record && this.#modules.keystore.open(record.subarray(1), address);
    if (record === undefined || content?.length !== SEED_LENGTH + PUBLIC_KEY_LENGTH) {
      throw new TesseraError('wallet_unreadable', `the key of ${address} cannot be unsealed`);
    }
    const seed = Uint8Array.from(content.subarray(0, SEED_LENGTH));
    const publicKey = Uint8Array.from(content.subarray(SEED_LENGTH));
    content.fill(0);
    return { seed, publicKey, addressVersion: versionOf(record) };
  }
}

export async function isNewStore(kv: Kv): Promise<boolean> {
  return (await kv.get(FORMAT_KEY)) === undefined;
}

async function checkFormat(kv: Kv, writes: WriteBuffer, keystore: Keystore): Promise<void> {
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

function encodePlace({ account, index }: KeyPlace, fingerprint: string): Uint8Array {
  const to = new BincodeWriter();
  to.string(fingerprint);
  to.u8(ACCOUNTS.indexOf(account));
  to.u64(BigInt(index));
  return to.toBytes();
}

/** The place in a record; undefined when other words gave the key. Throws `wallet_unreadable`. */
function decodePlace(record: Uint8Array, fingerprint: string): KeyPlace | undefined {
  const read = decodeRecord(
    'place of a key',
    record,
    (from) => ({ by: from.string(), account: readChoice(from, ACCOUNTS), index: from.number64() }),
    'wallet_unreadable',
  );
  return read.by === fingerprint ? { account: read.account, index: read.index } : undefined;
}
