/** Signatures under keys that libraries disagree about (decision B3): the same verdict on every version of Node. */

import { createHash, verify as opensslVerify } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { keyPairFromSeed, sign, verifySignature } from '../../src/crypto/ed25519.js';
import { hasSmallOrderR, isUnusualKey, verifyByEquation } from '../../src/crypto/unusual-keys.js';
import { fc } from '../support/property.js';

const { Point } = ed25519;
const PRIME = Point.Fp.ORDER;
const MESSAGE = new TextEncoder().encode('lineage-test-message');

/** The encoding of a y with a sign bit, not reduced where y is beyond the prime. */
function encoding(y: bigint, sign: 0 | 1): Uint8Array {
  const bytes = Uint8Array.from(Buffer.from(y.toString(16).padStart(64, '0'), 'hex').reverse());
  bytes[31] = (bytes[31] ?? 0) | (sign << 7);
  return bytes;
}

function isOnCurve(bytes: Uint8Array): boolean {
  try {
    Point.fromBytes(bytes, true);
    return true;
  } catch {
    return false;
  }
}

/** A point of order 8. */
const GENERATOR = Point.fromHex('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', true);
const TORSION = [Point.ZERO, ...Array.from({ length: 7 }, (_, i) => GENERATOR.multiplyUnsafe(BigInt(i + 1)))];

const smallOrder = [...new Set(TORSION.map((point) => point.toAffine().y))];
const beyond = Array.from({ length: 19 }, (_, i) => PRIME + BigInt(i));
const unusual = [...smallOrder, ...beyond]
  .flatMap((y) => [encoding(y, 0), encoding(y, 1)])
  .filter((bytes) => isOnCurve(bytes));

/** Signatures that hold for keys of small order: R is S·B with a point of small order added. */
const candidates = [0n, 1n, 5n].flatMap((s) =>
  TORSION.map((torsion) => {
    const r = (s === 0n ? Point.ZERO : Point.BASE.multiply(s)).add(torsion).toBytes();
    return Buffer.concat([r, encoding(s, 0)]);
  }),
);

const jwkOf = (key: Uint8Array) => ({
  key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(key).toString('base64url') },
  format: 'jwk' as const,
});

describe('keys of small order, and encodings that are not reduced', () => {
  it('are all recognized, and keys that people make are not', () => {
    expect(unusual.length).toBeGreaterThanOrEqual(14);
    for (const key of unusual) expect(isUnusualKey(key)).toBe(true);
    for (let i = 0; i < 256; i++) {
      expect(isUnusualKey(keyPairFromSeed(new Uint8Array(32).fill(i)).publicKey)).toBe(false);
    }
  });

  it('sign what the equation says', () => {
    let accepted = 0;
    for (const key of unusual) {
      for (const signature of candidates) {
        const valid = verifyByEquation(key, MESSAGE, signature);
        expect(verifySignature(key, MESSAGE, signature)).toBe(valid);
        if (valid) accepted++;
      }
    }
    expect(accepted).toBeGreaterThan(20);
  });

  // OpenSSL 3.5 came with Node 24; what older ones say is what the network does.
  it.runIf(/^3\.[0-4]\./.test(process.versions.openssl))('sign what OpenSSL said before 3.5', () => {
    for (const key of unusual) {
      for (const signature of candidates) {
        expect(verifyByEquation(key, MESSAGE, signature)).toBe(opensslVerify(null, MESSAGE, jwkOf(key), signature));
      }
    }
  });

  it('sign what the equation says for any S and R, without what is kept of a key', async () => {
    const scalar = fc.bigInt({ min: 0n, max: Point.Fn.ORDER - 1n });
    const sameVerdict = fc.property(fc.constantFrom(...unusual), scalar, fc.nat(7), (key, s, torsion) => {
      const r = Point.BASE.multiplyUnsafe(s)
        .add(TORSION[torsion] ?? Point.ZERO)
        .toBytes();
      const signature = Buffer.concat([r, encoding(s, 0)]);
      const digest = createHash('sha512').update(r).update(key).update(MESSAGE).digest();
      const k = BigInt(`0x${digest.reverse().toString('hex')}`) % Point.Fn.ORDER;
      const product = Point.fromBytes(key, true).multiplyUnsafe(k);
      const isRight = Buffer.from(Point.BASE.multiplyUnsafe(s).subtract(product).toBytes()).equals(r);
      expect(verifyByEquation(key, MESSAGE, signature)).toBe(isRight);
    });
    await fc.assert(sameVerdict);
  });

  it('are refused an S beyond the order', () => {
    const identity = encoding(1n, 0);
    const tooLarge = Buffer.concat([identity, encoding(Point.Fn.ORDER, 0)]);
    expect(verifyByEquation(identity, MESSAGE, Buffer.concat([identity, new Uint8Array(32)]))).toBe(true);
    expect(verifyByEquation(identity, MESSAGE, tooLarge)).toBe(false);
  });
});

it('the equation agrees with node:crypto on ordinary signatures', () => {
  const pair = keyPairFromSeed(new Uint8Array(32).fill(7));
  const signature = sign(pair.seed, MESSAGE);
  expect(verifyByEquation(pair.publicKey, MESSAGE, signature)).toBe(true);
  signature[3] = (signature[3] ?? 0) ^ 1;
  expect(verifyByEquation(pair.publicKey, MESSAGE, signature)).toBe(false);
});

describe('the look at a key or signature', () => {
  it.each([0x00, 0x05, 0x7a, 0x7f, 0x80, 0x85, 0xfa, 0xff])('changes nothing of it, when its byte 31 is %i', (last) => {
    // A Buffer, as hex from a request becomes: its `slice` is no copy.
    const bytes = Buffer.alloc(64, 0x11).fill(last, 31, 32);
    const before = Buffer.from(bytes);
    hasSmallOrderR(bytes);
    isUnusualKey(bytes.subarray(0, 32));
    expect(bytes).toEqual(before);
  });
});
