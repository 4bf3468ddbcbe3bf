/**
 * The keys of a wallet's words: `m/44'/COIN'/ACCOUNT'/INDEX'` by SLIP-0010, an account for each use
 * (docs/wallet.md#the-words-and-their-keys). The paths are for ever: old words must give the same addresses in every later version.
 */

import { addressOf } from '../../chain/address.js';
import { keyPairFromSeed } from '../../crypto/ed25519.js';
import { sha3Hex } from '../../crypto/sha3.js';
import { childKeyOf, type ExtendedKey, keyAtPath, wipeKey } from '../../crypto/slip10.js';
import { toHex } from '../../lib/bytes.js';
import { seedOfWords, type WalletWords } from './words.js';

/** Accounts by number: where others pay to, change and merges, mining rewards, items. */
export const ACCOUNTS = ['receive', 'change', 'rewards', 'items'] as const;
export type Account = (typeof ACCOUNTS)[number];

/** Root of the paths: BIP44, and the letters "tess" as a number, which SLIP-0044 gives to nobody. */
const ROOT = [44, 0x7465_7373] as const;
const FINGERPRINT_LENGTH = 8;

export interface KeyPlace {
  readonly account: Account;
  readonly index: number;
}

export class DerivedKeys {
  /** Fingerprint of the words, which does not reveal them: 8 hexadecimal digits. */
  readonly fingerprint: string;
  readonly #accounts: ReadonlyMap<Account, ExtendedKey>;

  private constructor(root: ExtendedKey) {
    const { publicKey } = keyPairFromSeed(root.seed);
    this.fingerprint = sha3Hex(`tessera-words:${toHex(publicKey)}`).slice(0, FINGERPRINT_LENGTH);
    this.#accounts = new Map(ACCOUNTS.map((account, number) => [account, childKeyOf(root, number)]));
  }

  static async of(words: WalletWords): Promise<DerivedKeys> {
    const seed = await seedOfWords(words);
    const root = keyAtPath(seed, ROOT);
    try {
      return new DerivedKeys(root);
    } finally {
      seed.fill(0);
      wipeKey(root);
    }
  }

  address(place: KeyPlace): string {
    return addressOf(this.publicKey(place));
  }

  publicKey(place: KeyPlace): Uint8Array {
    const seed = this.seed(place);
    const { seed: copy, publicKey } = keyPairFromSeed(seed);
    seed.fill(0);
    copy.fill(0);
    return publicKey;
  }

  /** The secret key of a place; the caller must wipe it. */
  seed({ account, index }: KeyPlace): Uint8Array {
    const parent = this.#accounts.get(account);
    if (parent === undefined) throw new RangeError(`${account} is no account`);
    const { seed, chainCode } = childKeyOf(parent, index);
    chainCode.fill(0);
    return seed;
  }

  close(): void {
    for (const key of this.#accounts.values()) wipeKey(key);
  }
}
