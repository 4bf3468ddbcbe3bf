import { describe, expect, it } from 'vitest';
import { DEFAULT_SCRYPT_COST, deriveKey, isScryptCost } from '../../src/crypto/scrypt.js';
import { BOX_OVERHEAD, open, seal } from '../../src/crypto/sealed-box.js';
import { toHex, utf8 } from '../../src/lib/bytes.js';
import { systemRandom } from '../../src/lib/random.js';

const key = Buffer.alloc(32, 7);
const secret = utf8('a seed of thirty-two bytes......');

describe('sealed box', () => {
  it('opens with the key and context it was sealed with', () => {
    const box = seal(key, secret, 'address a', systemRandom);
    expect(box).toHaveLength(secret.length + BOX_OVERHEAD);
    expect(open(key, box, 'address a')).toEqual(Buffer.from(secret));
  });

  it('seals the same content differently each time', () => {
    expect(seal(key, secret, 'a', systemRandom)).not.toEqual(seal(key, secret, 'a', systemRandom));
  });

  it('does not open with another key or in another context', () => {
    const box = seal(key, secret, 'address a', systemRandom);
    expect(open(Buffer.alloc(32, 8), box, 'address a')).toBeUndefined();
    expect(open(key, box, 'address b')).toBeUndefined();
  });

  it('does not open when any byte was changed, or when it is cut', () => {
    const box = seal(key, secret, 'a', systemRandom);
    for (let i = 0; i < box.length; i++) {
      const damaged = Uint8Array.from(box);
      damaged[i] = (damaged[i] ?? 0) ^ 1;
      expect(open(key, damaged, 'a')).toBeUndefined();
      expect(open(key, box.subarray(0, i), 'a')).toBeUndefined();
    }
  });
});

describe('scrypt', () => {
  it('gives the key of RFC 7914 §12 for its parameters (first 32 bytes of the vector)', async () => {
    const derived = await deriveKey('pleaseletmein', utf8('SodiumChloride'), { n: 16384, r: 8, p: 1 });
    expect(toHex(derived)).toBe('7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2');
  });

  it('derives with the default cost, N=2^17, within what Node lets it have', async () => {
    expect(DEFAULT_SCRYPT_COST).toEqual({ n: 131_072, r: 8, p: 1 });
    expect(await deriveKey('x', utf8('salt'), DEFAULT_SCRYPT_COST)).toHaveLength(32);
  });

  it('takes a passphrase typed in composed or decomposed form as the same', async () => {
    const cost = { n: 16, r: 1, p: 1 };
    expect(await deriveKey('caf\u00e9', utf8('s'), cost)).toEqual(await deriveKey('cafe\u0301', utf8('s'), cost));
  });

  it.each([
    { n: 2 ** 21, r: 8, p: 1 },
    { n: 1_000, r: 8, p: 1 },
    { n: 16, r: 0, p: 1 },
    { n: 16, r: 1, p: 1_000 },
    { n: Number.NaN, r: 1, p: 1 },
  ])('refuses the cost %j', (cost) => {
    expect(isScryptCost(cost)).toBe(false);
    expect(() => deriveKey('x', utf8('s'), cost)).toThrow(/bounds/);
  });
});
