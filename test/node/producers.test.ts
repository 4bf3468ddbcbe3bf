/** Who signs the blocks of a network, out of configuration, genesis file and node key. */

import { describe, expect, it } from 'vitest';
import { blockCertificateFault } from '../../src/chain/certificate.js';
import { createConfig } from '../../src/config/load.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import { toHex } from '../../src/lib/bytes.js';
import { readGenesis } from '../../src/node/genesis-file.js';
import { producersOf, signerOf } from '../../src/node/producers.js';

const nodeKey = keyPairFromSeed(sha3Bytes('a node key'));
const other = keyPairFromSeed(sha3Bytes('another key'));
const place = { height: 3, hash: `b${'3'.repeat(64)}` };

const configOf = (values: Readonly<Record<string, unknown>>) =>
  createConfig('mempool', { 'network.secret': 'a secret of this test', ...values });
const genesis = await readGenesis('config/genesis-dev.json');

describe('the key that signs blocks', () => {
  it('is the node key, where that is one of the producers', () => {
    const config = configOf({ 'network.producer_keys': [toHex(other.publicKey), toHex(nodeKey.publicKey)] });
    const producers = producersOf(config, genesis);
    const certificate = signerOf(config, genesis, nodeKey)?.block(place);
    expect(certificate?.key).toBe(toHex(nodeKey.publicKey));
    expect(producers && blockCertificateFault(producers, place, certificate)).toBeNull();
  });

  it('is the configured one, where there is one', () => {
    const keys = { 'network.producer_keys': [toHex(other.publicKey)], 'mempool.producer_key': toHex(other.seed) };
    expect(signerOf(configOf(keys), genesis, nodeKey)?.block(place).key).toBe(toHex(other.publicKey));
  });

  it('is none in a network that names no producers', () => {
    expect(producersOf(configOf({}), genesis)).toBeUndefined();
    expect(signerOf(configOf({}), genesis, nodeKey)).toBeUndefined();
  });

  it.each([
    ['the node key', {}, nodeKey],
    ['a configured key', { 'mempool.producer_key': toHex(nodeKey.seed) }, nodeKey],
  ])(
    'keeps the node from starting when it is %s and not named, and the error has the line to add',
    (_, values, pair) => {
      const config = configOf({ 'network.producer_keys': [toHex(other.publicKey)], ...values });
      const line = `producer_keys = ["${toHex(other.publicKey)}","${toHex(pair.publicKey)}"]`;
      expect(() => signerOf(config, genesis, nodeKey)).toThrow(expect.objectContaining({ code: 'invalid_config' }));
      expect(() => signerOf(config, genesis, nodeKey)).toThrow(line);
    },
  );

  it('binds certificates to the network and to its genesis', async () => {
    const keys = { 'network.producer_keys': [toHex(nodeKey.publicKey)] };
    const certificate = signerOf(configOf(keys), genesis, nodeKey)?.block(place);
    const elsewhere = producersOf(configOf({ ...keys, 'network.name': 'another' }), genesis);
    const otherGenesis = producersOf(configOf(keys), await readGenesis('config/genesis.json'));
    for (const producers of [elsewhere, otherGenesis]) {
      expect(producers && blockCertificateFault(producers, place, certificate)?.message).toMatch(/not one for block 3/);
    }
  });
});
