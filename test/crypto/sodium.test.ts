/** libsodium is asked first and never has the last word (decision B3). */

import { Worker } from 'node:worker_threads';
import { ed25519 } from '@noble/curves/ed25519.js';
import { describe, expect, it } from 'vitest';
import { sign, verifySignature } from '../../src/crypto/ed25519.js';
import { opensslSigner, verifyByOpenssl, whyNoSodium } from '../../src/crypto/ed25519-backend.js';
import {
  checkedSodium,
  EDGE_MESSAGE,
  EDGE_SIGNATURES,
  openSodium,
  type Signer,
  type Verify,
} from '../../src/crypto/sodium.js';
import { verifyByEquation } from '../../src/crypto/unusual-keys.js';
import { utf8 } from '../../src/lib/bytes.js';
import { account } from '../support/mempool.js';
import { fc, test } from '../support/property.js';
import { compareSignatures } from './compare-signatures.js';

const message = utf8(EDGE_MESSAGE);
const edges = EDGE_SIGNATURES.map((text) => Buffer.from(text, 'base64')).map(
  (bytes) => [bytes.subarray(0, 32), bytes.subarray(32)] as const,
);
/** A verifier with cofactor, as many libraries have it. */
const withCofactor: Verify = (publicKey, text, signature) =>
  ed25519.verify(signature, text, publicKey, { zip215: true });

describe('the edge cases', () => {
  it('are 64 sums with points of small order, which a verifier with cofactor accepts, and five others', () => {
    expect(edges).toHaveLength(69);
    expect(edges.slice(0, 64).every(([key, signature]) => withCofactor(key, message, signature))).toBe(true);
  });

  const verdicts = edges.map(([key, signature]) => verifyByEquation(key, message, signature));

  // Node 24 failed here: its OpenSSL refuses edge case 65, an R of small order.
  it('have the verdict of the equation on every version of Node', () => {
    expect(edges.map(([key, signature]) => verifySignature(key, message, signature))).toEqual(verdicts);
    expect(verdicts[65]).toBe(true);
    expect(new Set(verdicts).size).toBe(2);
  });

  it('are accepted by node:crypto only where the equation holds', () => {
    const accepted = edges.map(([key, signature]) => verifyByOpenssl(key, message, signature));
    expect(accepted.filter((is, i) => is && verdicts[i] === false)).toEqual([]);
  });
});

describe('libsodium', () => {
  it('is here, and accepts nothing that node:crypto refuses', () => {
    expect(whyNoSodium()).toBeNull();
    expect(compareSignatures({ count: 3_000, seed: 'short' })).toMatchObject({ wrong: [], slow: 0 });
  });

  it('is not used when it accepts an edge case that node:crypto refuses', () => {
    expect(checkedSodium(withCofactor, opensslSigner, verifyByOpenssl)).toMatchObject({
      verify: null,
      reason: expect.stringContaining('which node:crypto refuses'),
    });
    expect(compareSignatures({ count: 300, seed: 'short', verify: withCofactor }).wrong).not.toEqual([]);
  });

  it('is not used when it accepts nothing', () => {
    expect(checkedSodium(() => false, opensslSigner, verifyByOpenssl).verify).toBeNull();
  });

  it('is not used when what it signs does not hold', () => {
    const { verify } = openSodium(verifyByOpenssl);
    const wrong: Signer = { ...opensslSigner, sign: (seed, text) => opensslSigner.sign(seed, text).fill(0, 63) };
    expect(checkedSodium(verify ?? withCofactor, wrong, verifyByOpenssl)).toMatchObject({
      signer: null,
      reason: expect.stringContaining('makes a signature that node:crypto refuses'),
    });
  });

  test.prop([fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array({ maxLength: 300 })])(
    'signs as node:crypto does, byte for byte, and keeps neither seed nor message changed',
    (seed, text) => {
      const { signer } = openSodium(verifyByOpenssl);
      const [seedBefore, textBefore] = [seed.slice(), text.slice()];
      expect(signer?.sign(seed, text)).toEqual(opensslSigner.sign(seed, text));
      expect(signer?.publicKeyOf(seed)).toEqual(opensslSigner.publicKeyOf(seed));
      expect([seed, text]).toEqual([seedBefore, textBefore]);
    },
  );

  it('takes messages of any length, and parts of buffers', () => {
    const { key } = account('alice');
    const { verify } = openSodium(verifyByOpenssl);
    for (const length of [0, 1, 32, 100_000]) {
      const text = new Uint8Array(length + 8).fill(7).subarray(8);
      const signature = sign(key.seed, text);
      expect(verify?.(key.publicKey, text, signature)).toBe(true);
      expect(verifySignature(key.publicKey, text, signature)).toBe(true);
      expect(verifySignature(key.publicKey, text, signature.fill(0, 0, 1))).toBe(false);
    }
  });

  it('works in worker threads', async () => {
    const backend = new URL('../../dist/crypto/ed25519-backend.js', import.meta.url).href;
    const code = `import('${backend}').then((m) => require('node:worker_threads').parentPort.postMessage(m.whyNoSodium()))`;
    const reasons = await Promise.all(
      [1, 2].map(
        () =>
          new Promise((resolve, reject) =>
            new Worker(code, { eval: true }).once('message', resolve).once('error', reject),
          ),
      ),
    );
    expect(reasons).toEqual([null, null]);
  });
});
