/**
 * Key pairs out of a mnemonic, as the network's wallets derive them (docs/clients.md#wallets-of-clients): BIP39 seed, BIP32
 * master key, hardened child m/d', and then, peculiarly, the first 32 characters of the child's xprv text as the Ed25519
 * seed.
 */

import { HDKey } from '@scure/bip32';
import { mnemonicToSeedSync } from '@scure/bip39';
import { type KeyPair, keyPairFromSeed, SEED_LENGTH } from '../../src/crypto/ed25519.js';
import { utf8 } from '../../src/lib/bytes.js';
import { TesseraError } from '../../src/lib/errors.js';

/** The master key (`xprv...`) of a mnemonic. Throws `malformed_key_pair` when the mnemonic has no valid number of words. */
export function masterKeyFromMnemonic(mnemonic: string, passphrase = ''): string {
  try {
    return HDKey.fromMasterSeed(mnemonicToSeedSync(mnemonic, passphrase)).privateExtendedKey;
  } catch {
    // The library's message could quote the mnemonic.
    throw new TesseraError('malformed_key_pair', 'the mnemonic is not a list of 12, 15, 18, 21 or 24 words');
  }
}

/** The extended key (`xprv...`) of the hardened child number `depth` of a master key. Throws `malformed_key_pair`. */
export function childKey(masterKey: string, depth: number): string {
  try {
    return HDKey.fromExtendedKey(masterKey).derive(`m/${depth}'`).privateExtendedKey;
  } catch {
    throw new TesseraError('malformed_key_pair', 'not an extended private key, or not the number of a child');
  }
}

/** The key pair number `depth` of a master key. Throws `malformed_key_pair`. */
export function deriveKeyPair(masterKey: string, depth: number): KeyPair {
  return keyPairFromSeed(utf8(childKey(masterKey, depth).slice(0, SEED_LENGTH)));
}
