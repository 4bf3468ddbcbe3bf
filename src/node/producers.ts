/** The producers, who sign the blocks of this network, from configuration and genesis file. */

import { chainName, type Producers } from '../chain/certificate.js';
import type { Genesis } from '../chain/genesis.js';
import type { Config } from '../config/schema.js';
import { type KeyPair, keyPairFromSeed } from '../crypto/ed25519.js';
import { fromHex, toHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { Signer } from '../mempool/blocks/signer.js';
import { genesisFingerprint } from './network-rules.js';

/** The producers; undefined in a network that names none, where blocks are trusted by the link that they come from. */
export function producersOf({ network }: Config, genesis: Genesis): Producers | undefined {
  if (network.producerKeys.length === 0) return undefined;
  return { chain: chainName(network.name, genesisFingerprint(genesis)), keys: network.producerKeys };
}

/** The signer for a mempool node's blocks, if the network names producers. Throws `invalid_config` for a key of no producer. */
export function signerOf(config: Config, genesis: Genesis, nodeKey: KeyPair): Signer | undefined {
  const producers = producersOf(config, genesis);
  if (producers === undefined) return undefined;
  const { producerKey } = config.mempool;
  const pair = signingKey(config, nodeKey);
  const key = toHex(pair.publicKey);
  if (producers.keys.includes(key)) return new Signer(pair, producers.chain);
  const whose = producerKey === undefined ? 'the key of this mempool node' : 'the key in mempool.producer_key';
  throw new TesseraError(
    'invalid_config',
    `network.producer_keys does not name ${whose}, so no node would accept its blocks: add on every node ` +
      `${lineToAdd([...producers.keys, key])}; or give the node the key of a producer (mempool.producer_key_file)`,
  );
}

/** The warning of a mempool node in a network that names no producers. */
export function unsignedWarning(config: Config, nodeKey: KeyPair): string {
  const key = toHex(signingKey(config, nodeKey).publicKey);
  return `network.producer_keys is empty: blocks are not signed, and are trusted because of the link they come from; to let this node sign them, add on every node ${lineToAdd([key])}`;
}

function signingKey({ mempool: { producerKey } }: Config, nodeKey: KeyPair): KeyPair {
  return producerKey === undefined ? nodeKey : keyPairFromSeed(fromHex(producerKey));
}

function lineToAdd(keys: readonly string[]): string {
  return `[network] producer_keys = ${JSON.stringify(keys)}`;
}
