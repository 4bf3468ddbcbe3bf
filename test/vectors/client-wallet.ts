/**
 * The keystore records of the network's client libraries (docs/clients.md#wallets-of-clients): NaCl secretbox under a key
 * made of a passphrase. The node's own wallet does not use this form; the vectors show that it can be read.
 */

import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import { base64 } from '@scure/base';
import { type KeyPair, PUBLIC_KEY_LENGTH, parseSecretKey, SEED_LENGTH } from '../../src/crypto/ed25519.js';
import { sha3Hex } from '../../src/crypto/sha3.js';
import { concatBytes, utf8 } from '../../src/lib/bytes.js';
import { TesseraError } from '../../src/lib/errors.js';
import { encodeSecretKey64 } from '../support/secret-key-64.js';

/** Characters of the passphrase's hash that are, as ASCII, the key. */
const KEY_LENGTH = 32;
const NONCE_LENGTH = 24;
const KEY_PAIR_LENGTH = PUBLIC_KEY_LENGTH + SEED_LENGTH + PUBLIC_KEY_LENGTH;

/** What clients save: `nonce` is 24 ASCII characters of a uuid, `save` base64 of tag and ciphertext. */
export interface ClientRecord {
  readonly nonce: string;
  readonly save: string;
}

/** Opens a saved key pair: public key, then 64-byte secret key. Throws `wrong_passphrase` or `malformed_key_pair`. */
export function openClientKeyPair(record: ClientRecord, passphrase: string): KeyPair {
  const plain = open(record, passphrase);
  if (plain.length !== KEY_PAIR_LENGTH) {
    throw new TesseraError('malformed_key_pair', `a saved key pair has ${KEY_PAIR_LENGTH} bytes, not ${plain.length}`);
  }
  return parseSecretKey(plain.subarray(PUBLIC_KEY_LENGTH));
}

/** Opens a saved master key, the text `xprv...`. Throws `wrong_passphrase`. */
export function openClientMasterKey(record: ClientRecord, passphrase: string): string {
  return Buffer.from(open(record, passphrase)).toString('utf8');
}

/** Saves a key pair as clients do. `nonce` must be 24 ASCII characters that were never used with this passphrase. */
export function sealClientKeyPair(pair: KeyPair, passphrase: string, nonce: string): ClientRecord {
  const plain = concatBytes(pair.publicKey, encodeSecretKey64(pair));
  return { nonce, save: base64.encode(box(passphrase, nonce).encrypt(plain)) };
}

function open({ nonce, save }: ClientRecord, passphrase: string): Uint8Array {
  const cipher = box(passphrase, nonce);
  let sealed: Uint8Array;
  try {
    sealed = base64.decode(save);
  } catch {
    throw new TesseraError('malformed_key_pair', 'the saved key is not base64');
  }
  try {
    return cipher.decrypt(sealed);
  } catch {
    throw new TesseraError('wrong_passphrase', 'the passphrase does not open the saved key');
  }
}

function box(passphrase: string, nonce: string): ReturnType<typeof xsalsa20poly1305> {
  const nonceBytes = utf8(nonce);
  if (nonceBytes.length !== NONCE_LENGTH) {
    throw new TesseraError('malformed_key_pair', `the nonce of a saved key has ${NONCE_LENGTH} characters`);
  }
  return xsalsa20poly1305(utf8(sha3Hex(passphrase).slice(0, KEY_LENGTH)), nonceBytes);
}
