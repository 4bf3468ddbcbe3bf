/** Keys and addresses: from the words of a wallet, from a secret key, or new ones. Nothing here leaves the program. */

import { addressOf } from '../chain/address.js';
import type { SigningKey } from '../chain/builders.js';
import { encodePkcs8, generateKeyPair, type KeyPair, keyPairFromSeed, parseSecretKey } from '../crypto/ed25519.js';
import { parseHex, toHex } from '../lib/bytes.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import type { Random } from '../lib/random.js';
import { type Account, DerivedKeys } from '../wallet/keys/derived-keys.js';
import { newWords, parseWords, type WordCount, wordsText } from '../wallet/keys/words.js';

/** Random source of browsers, which Node.js has too. */
const random: Random = { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) };

export interface MnemonicOptions {
  /** The optional passphrase of BIP39: another one gives other keys, and nobody can tell which are right. */
  readonly passphrase?: string | undefined;
}

/** New words of BIP39, English, with a space between two. The words are the wallet: whoever has them can spend everything. */
export function generateMnemonic(count: WordCount = 12): string {
  return wordsText(newWords(random, count));
}

/** True for 12 or 24 words of BIP39 with the right checksum; case and further spaces do not count. */
export function isMnemonic(text: string): boolean {
  try {
    parseWords(text);
    return true;
  } catch (error) {
    if (isTesseraError(error)) return false;
    throw error;
  }
}

/** The keys of words: `m/44'/1952805747'/ACCOUNT'/INDEX'` by SLIP-0010, as in nodes' wallets (docs/wallet.md#the-words-and-their-keys). */
export class HdKeys {
  readonly #keys: DerivedKeys;

  private constructor(keys: DerivedKeys) {
    this.#keys = keys;
  }

  /** The keys of words, in about a tenth of a second. Throws `invalid_request`, which names a wrong word by its place only. */
  static async fromMnemonic(mnemonic: string, { passphrase = '' }: MnemonicOptions = {}): Promise<HdKeys> {
    return new HdKeys(await DerivedKeys.of(parseWords(mnemonic, passphrase)));
  }

  /** The key at a place: `receive` for payments of others, `change`, `items` for items; the index is from 0 to 2^31 - 1. */
  keyPair(account: Account, index: number): KeyPair {
    return keyPairFromSeed(this.#keys.seed({ account, index }));
  }

  address(account: Account, index: number): string {
    return this.#keys.address({ account, index });
  }

  /** Overwrites the secret that the keys are derived from. Keys that were given out stay. */
  wipe(): void {
    this.#keys.close();
  }
}

/** A new key pair, of 32 random bytes. */
export function randomKeyPair(): KeyPair {
  return generateKeyPair(random);
}

/** Reads a secret key, bytes or hex: seed (32 bytes), seed and public key (64), or PKCS#8 v2 (85). Throws `malformed_key_pair`. */
export function keyPairOf(secretKey: Uint8Array | string): KeyPair {
  const bytes = typeof secretKey === 'string' ? parseHex(secretKey) : secretKey;
  if (bytes === undefined) throw new TesseraError('malformed_key_pair', 'the secret key is not hex');
  return parseSecretKey(bytes);
}

/** The secret key in hex, as nodes import and export it (PKCS#8 v2). Whoever has it can spend all that is paid to its addresses. */
export function exportSecretKey(pair: KeyPair): string {
  return toHex(encodePkcs8(pair));
}

/** The keys by the addresses that they can spend from: each key has the current address and the two of older clients. */
export function byAddress(keys: Iterable<KeyPair>): ReadonlyMap<string, SigningKey> {
  const found = new Map<string, SigningKey>();
  for (const { seed, publicKey } of keys) {
    for (const addressVersion of [null, 0, 99_999] as const) {
      found.set(addressOf(publicKey, addressVersion), { seed, publicKey, addressVersion });
    }
  }
  return found;
}
