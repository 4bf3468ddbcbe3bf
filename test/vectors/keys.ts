/** Vectors about keys, addresses, signatures and the wallets of clients (docs/chain.md#keys). */

import { addressOf } from '../../src/chain/address.js';
import { itemAsset } from '../../src/chain/assets.js';
import { assetSignable } from '../../src/chain/signable.js';
import { encodePkcs8, type KeyPair, sign, verifySignature } from '../../src/crypto/ed25519.js';
import { fromHex } from '../../src/lib/bytes.js';
import { encodeSecretKey64 } from '../support/secret-key-64.js';
import { openClientKeyPair, openClientMasterKey } from './client-wallet.js';
import type { Computed } from './compare.js';
import { childKey, deriveKeyPair, masterKeyFromMnemonic } from './derivation.js';
import {
  has,
  hexOf,
  type Inputs,
  integerOf,
  keyOf,
  recordOf,
  requiredKeyOf,
  textOf,
  UnknownShapeError,
  versionOf,
} from './inputs.js';
import { clientVersion1Address } from './reference-library.js';

const SECRET_KEY_LENGTH = 64;

/** Everything that follows from a key pair, under all the names that vectors use. */
function keyMembers(
  pair: KeyPair,
  address: () => string = () => addressOf(pair.publicKey),
): Record<string, () => unknown> {
  const pkcs8 = () => encodePkcs8(pair);
  const secret = () => encodeSecretKey64(pair);
  const publicKey = () => pair.publicKey;
  const seed = () => pair.seed;
  return {
    seed_hex: seed,
    ed25519_seed_hex: seed,
    public_key_hex: publicKey,
    public_key: publicKey,
    publicKey,
    secret_key_hex: secret,
    secret_key: secret,
    secretKey: secret,
    secret_key_pkcs8_hex: pkcs8,
    pkcs8_hex: pkcs8,
    length: () => pkcs8().length,
    address,
    address_default: () => addressOf(pair.publicKey),
    address_v0: () => addressOf(pair.publicKey, 0),
    address_temp: () => addressOf(pair.publicKey, 99_999),
  };
}

/** Address of a public key, given itself or through its secret. */
export function addressVector(inputs: Inputs): Computed {
  const publicKey = has(inputs, 'public_key_hex') ? hexOf(inputs, 'public_key_hex') : requiredKeyOf(inputs).publicKey;
  const version = has(inputs, 'js_address_version') ? 'js_address_version' : 'address_version';
  const isClientVersion1 = version === 'js_address_version' && inputs[version] === 1;
  const address = () =>
    isClientVersion1 ? clientVersion1Address(publicKey) : addressOf(publicKey, versionOf(inputs, version));
  return {
    whole: address,
    members: {
      address,
      address_default: () => addressOf(publicKey),
      address_v0: () => addressOf(publicKey, 0),
      address_temp: () => addressOf(publicKey, 99_999),
    },
  };
}

/**
 * A secret key in one form, expected in the others. A bare text is told by its length: a public key, the 64 bytes of
 * clients, or the network's PKCS#8 document.
 */
export function keyVector(inputs: Inputs, expected: unknown): Computed {
  const pair = requiredKeyOf(inputs);
  const members = keyMembers(pair, () => addressOf(pair.publicKey, versionOf(inputs)));
  const whole = () => {
    if (typeof expected !== 'string') return encodePkcs8(pair);
    const bytes = expected.length / 2;
    if (bytes === pair.publicKey.length) return pair.publicKey;
    return bytes === SECRET_KEY_LENGTH ? encodeSecretKey64(pair) : encodePkcs8(pair);
  };
  return { whole, members };
}

export function mnemonicVector(inputs: Inputs): Computed {
  const passphrase = inputs.passphrase ?? '';
  if (typeof passphrase !== 'string') throw new UnknownShapeError('passphrase must be a string');
  const master = has(inputs, 'mnemonic')
    ? masterKeyFromMnemonic(textOf(inputs, 'mnemonic'), passphrase)
    : textOf(inputs, 'xprivkey');
  if (!has(inputs, 'depth')) return { whole: () => master, members: { xprivkey: () => master } };
  const depth = Number(integerOf(inputs, 'depth'));
  const pair = deriveKeyPair(master, depth);
  const address = () => addressOf(pair.publicKey, versionOf(inputs));
  const members = { ...keyMembers(pair, address), xprivkey: () => master, child_xprv: () => childKey(master, depth) };
  return { whole: address, members };
}

export function keystoreVector(inputs: Inputs): Computed {
  const encrypted = recordOf(inputs, 'encrypted');
  const record = { nonce: textOf(encrypted, 'nonce'), save: textOf(encrypted, 'save') };
  const passphrase = textOf(inputs, 'passphrase');
  const pair = () => openClientKeyPair(record, passphrase);
  const master = () => openClientMasterKey(record, passphrase);
  return {
    whole: master,
    members: {
      publicKey: () => pair().publicKey,
      secretKey: () => encodeSecretKey64(pair()),
      address: () => addressOf(pair().publicKey, versionOf(encrypted, 'version')),
      version: () => encrypted.version,
      xprivkey: master,
    },
  };
}

/** The signed text in any of the members that vectors use. */
export function messageOf(inputs: Inputs): Uint8Array | string {
  for (const name of ['message_utf8', 'message_ascii', 'message']) if (has(inputs, name)) return textOf(inputs, name);
  if (has(inputs, 'message_hex')) return fromHex(textOf(inputs, 'message_hex'));
  throw new UnknownShapeError('no message');
}

/** A signature to be made, when a secret key is given, or one to be verified. */
export function signatureVector(inputs: Inputs): Computed {
  const message = messageOf(inputs);
  const pair = keyOf(inputs);
  if (pair !== undefined && !has(inputs, 'signature_hex')) {
    const signature = () => sign(pair.seed, message);
    const verifies = () => verifySignature(pair.publicKey, message, signature());
    return { whole: signature, members: { ...keyMembers(pair), signature_hex: signature, signature, verifies } };
  }
  const publicKey = pair?.publicKey ?? hexOf(inputs, 'public_key_hex');
  const verifies = () => verifySignature(publicKey, message, hexOf(inputs, 'signature_hex'));
  return { whole: verifies, members: { verifies, valid: verifies, is_valid: verifies, result: verifies } };
}

/** Headers of the message relay sign the address text; the older body, told by its `publicKey`, the address bytes. */
export function relayVector(inputs: Inputs, expected: unknown): Computed {
  const pair = requiredKeyOf(inputs);
  const address = textOf(inputs, 'address');
  const isBody = typeof expected === 'object' && expected !== null && 'publicKey' in expected;
  const signature = () => sign(pair.seed, isBody ? fromHex(address) : address);
  const publicKey = () => pair.publicKey;
  return { whole: signature, members: { public_key: publicKey, publicKey, signature, address: () => address } };
}

/** The body of an item creation, as clients send it. */
export function itemPayloadVector(inputs: Inputs): Computed {
  const pair = requiredKeyOf(inputs);
  const amount = integerOf(inputs, 'amount');
  const isDefault = inputs.default_genesis_hash_spec;
  if (typeof isDefault !== 'boolean') throw new UnknownShapeError('default_genesis_hash_spec must be a boolean');
  const spec = () => (isDefault ? 'Default' : 'Create');
  return {
    members: {
      item_amount: () => amount,
      public_key: () => pair.publicKey,
      script_public_key: () => addressOf(pair.publicKey, versionOf(inputs)),
      signature: () => sign(pair.seed, assetSignable(itemAsset(amount, null))),
      version: () => inputs.address_version ?? null,
      genesis_hash_spec: spec,
      drs_tx_hash_spec: spec,
      metadata: () => inputs.metadata ?? null,
    },
  };
}
