import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import * as keys from '../../src/crypto/ed25519.js';
import { sha3Bytes, sha3Hex } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { fc, test } from '../support/property.js';
import { encodeSecretKey64 } from '../support/secret-key-64.js';
import { openClientKeyPair, openClientMasterKey, sealClientKeyPair } from '../vectors/client-wallet.js';
import { childKey, deriveKeyPair, masterKeyFromMnemonic } from '../vectors/derivation.js';

const seed = fc.uint8Array({ minLength: 32, maxLength: 32 });
const message = fc.uint8Array({ maxLength: 100 });
const hex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'));
const malformed = expect.objectContaining({ code: 'malformed_key_pair' });

describe('Ed25519 (docs/chain.md#signatures)', () => {
  test.prop([seed, message])('makes the keys and signatures that noble makes, and verifies noble’s', (secret, text) => {
    const pair = keys.keyPairFromSeed(secret);
    expect(toHex(pair.publicKey)).toBe(toHex(ed25519.getPublicKey(secret)));
    const signature = ed25519.sign(text, secret);
    expect(toHex(keys.sign(secret, text))).toBe(toHex(signature));
    expect(keys.verifySignature(pair.publicKey, text, signature)).toBe(true);
  });

  test.prop([seed, message, fc.nat(63), fc.integer({ min: 1, max: 255 })])(
    'refuses a changed signature',
    (secret, text, at, change) => {
      const pair = keys.keyPairFromSeed(secret);
      const signature = keys.sign(secret, text);
      signature[at] = (signature[at] ?? 0) ^ change;
      expect(keys.verifySignature(pair.publicKey, text, signature)).toBe(false);
      expect(ed25519.verify(signature, text, pair.publicKey)).toBe(false);
    },
  );

  test.prop([fc.uint8Array({ maxLength: 70 }), message, fc.uint8Array({ maxLength: 70 })])(
    'never throws on what is no key or signature',
    (key, text, signature) => {
      expect(keys.verifySignature(key, text, signature)).toBe(false);
    },
  );

  const IDENTITY = `01${'00'.repeat(31)}`;
  const ZERO_S = '00'.repeat(32);
  it.each([
    ['the identity as key and R', IDENTITY, IDENTITY + ZERO_S, true],
    ['a key not in canonical form', `ee${'ff'.repeat(30)}7f`, IDENTITY + ZERO_S, true],
    ['a key with the sign of zero', `01${'00'.repeat(30)}80`, IDENTITY + ZERO_S, true],
    ['an R not in canonical form', IDENTITY, `ee${'ff'.repeat(30)}7f${ZERO_S}`, false],
    [
      'an R of order 8, right only with the cofactor',
      IDENTITY,
      `c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a${ZERO_S}`,
      false,
    ],
  ])('decides as the network on %s', (_, key, signature, verdict) => {
    expect(keys.verifySignature(hex(key), 'lineage-test-message', hex(signature))).toBe(verdict);
  });

  it('generates from the randomness it is given', () => {
    const pair = keys.generateKeyPair({ bytes: (length) => new Uint8Array(length).fill(9) });
    expect(pair).toEqual(keys.keyPairFromSeed(new Uint8Array(32).fill(9)));
  });
});

describe('forms of a secret key (docs/chain.md#keys)', () => {
  test.prop([seed])('all three are read back', (secret) => {
    const pair = keys.keyPairFromSeed(secret);
    const document = keys.encodePkcs8(pair);
    expect(document).toHaveLength(85);
    for (const form of [secret, encodeSecretKey64(pair), document]) {
      const parsed = keys.parseSecretKey(form);
      expect([toHex(parsed.seed), toHex(parsed.publicKey)]).toEqual([toHex(pair.seed), toHex(pair.publicKey)]);
    }
  });

  test.prop([seed, fc.nat(84)])('a changed byte of the document is noticed', (secret, at) => {
    const document = new Uint8Array(keys.encodePkcs8(keys.keyPairFromSeed(secret)));
    document[at] = (document[at] ?? 0) ^ 1;
    expect(() => keys.parseSecretKey(document)).toThrow(malformed);
  });

  it.each([0, 31, 33, 63, 65, 84, 86])('refuses %s bytes', (length) => {
    expect(() => keys.parseSecretKey(new Uint8Array(length))).toThrow(malformed);
  });

  it('refuses a public key that is not the seed’s', () => {
    expect(() => keys.parseSecretKey(new Uint8Array(64))).toThrow(malformed);
  });

  it('never shows key material in an error', () => {
    const document = keys.encodePkcs8(keys.keyPairFromSeed(new Uint8Array(32).fill(0xab))).fill(1, 60);
    expect(() => keys.parseSecretKey(document)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('abab') }),
    );
  });
});

describe('keys of client wallets (docs/clients.md#wallets-of-clients)', () => {
  const mnemonic = 'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about';

  it('derives the seed from the text of the extended key', () => {
    const master = masterKeyFromMnemonic(mnemonic);
    expect(toHex(deriveKeyPair(master, 0).seed)).toBe(toHex(Buffer.from(childKey(master, 0).slice(0, 32))));
  });

  it('refuses what is no mnemonic, extended key or child, without quoting it', () => {
    const secret = expect.objectContaining({
      code: 'malformed_key_pair',
      message: expect.not.stringContaining('abandon'),
    });
    expect(() => masterKeyFromMnemonic('abandon abandon')).toThrow(secret);
    expect(() => deriveKeyPair('xprv', 0)).toThrow(malformed);
    expect(() => deriveKeyPair(masterKeyFromMnemonic(mnemonic), -1)).toThrow(malformed);
  });

  it('opens what it sealed, and nothing with another passphrase', () => {
    const pair = keys.keyPairFromSeed(new Uint8Array(32).fill(5));
    const record = sealClientKeyPair(pair, 'pass', '84d45c66-0117-4bb0-9216-');
    expect(openClientKeyPair(record, 'pass')).toEqual(pair);
    expect(() => openClientKeyPair(record, 'other')).toThrow(expect.objectContaining({ code: 'wrong_passphrase' }));
    expect(() => openClientKeyPair({ ...record, save: '!' }, 'pass')).toThrow(malformed);
    expect(() => openClientMasterKey({ ...record, nonce: 'short' }, 'pass')).toThrow(malformed);
  });
});

describe('SHA3-256', () => {
  it('is FIPS-202, not Keccak', () => {
    expect(sha3Hex('')).toBe('a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a');
    expect(toHex(sha3Bytes(Buffer.from('é')))).toBe(sha3Hex('é'));
  });
});
