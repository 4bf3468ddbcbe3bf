/** Certificates of producers (docs/chain.md#certificates), and what a forger can put together. */

import { createHash, createPublicKey, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  blockCertificateFault,
  certifyBlock,
  certifyNode,
  chainName,
  nodeCertificateFault,
  type Producers,
} from '../../src/chain/certificate.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';

const producer = keyPairFromSeed(sha3Bytes('a producer of this test'));
const forger = keyPairFromSeed(sha3Bytes('a forger of this test'));
const chain = chainName('test', 'facts of a genesis file');
const producers: Producers = { chain, keys: ['0'.repeat(64), toHex(producer.publicKey)] };
const place = { height: 7, hash: `b${'7'.repeat(64)}` };
const nodeKey = toHex(sha3Bytes('a node'));

describe('the certificate of a block', () => {
  it('is good for its block, and the same at every call', () => {
    const certificate = certifyBlock(producer, chain, place);
    expect(blockCertificateFault(producers, place, certificate)).toBeNull();
    expect(certifyBlock(producer, chain, place)).toEqual(certificate);
  });

  it('has the bytes that docs/chain.md#certificates gives', () => {
    const name = createHash('sha3-256').update('["test","facts of a genesis file"]').digest('hex');
    const x = Buffer.from(producer.publicKey).toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    const text = Buffer.from(`tessera/block/1\n${name}\n7\n${place.hash}`);
    const { signature } = certifyBlock(producer, chain, place);
    expect(verify(null, text, key, Buffer.from(signature, 'hex'))).toBe(true);
  });

  it.each([
    ['no certificate', undefined],
    ['the key of a forger', certifyBlock(forger, chain, place)],
    [
      'the name of the producer on the signature of a forger',
      { ...certifyBlock(forger, chain, place), key: toHex(producer.publicKey) },
    ],
    ['a certificate of another height', certifyBlock(producer, chain, { ...place, height: 8 })],
    ['a certificate of another block', certifyBlock(producer, chain, { ...place, hash: `b${'8'.repeat(64)}` })],
    ['a certificate of another network', certifyBlock(producer, chainName('main', 'facts of a genesis file'), place)],
    ['a certificate of another genesis', certifyBlock(producer, chainName('test', 'other facts'), place)],
    ['a certificate of a node', certifyNode(producer, chain, place.hash)],
    ['a signature that is none', { key: toHex(producer.publicKey), signature: '00'.repeat(64) }],
    ['a signature cut short', { key: toHex(producer.publicKey), signature: '00' }],
  ])('is not %s', (_, certificate) => {
    expect(blockCertificateFault(producers, place, certificate)?.code).toBe('protocol_violation');
  });
});

describe('the certificate of a node', () => {
  it('is good for its key and no other', () => {
    const certificate = certifyNode(producer, chain, nodeKey);
    expect(nodeCertificateFault(producers, nodeKey, certificate)).toBeNull();
    expect(nodeCertificateFault(producers, toHex(forger.publicKey), certificate)?.message).toMatch(/not one for node/);
    expect(nodeCertificateFault(producers, nodeKey, certifyNode(forger, chain, nodeKey))?.message).toMatch(
      /no producer/,
    );
    expect(nodeCertificateFault(producers, nodeKey, undefined)?.message).toMatch(/no producer has signed/);
  });
});
