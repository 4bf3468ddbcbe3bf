/** Who signs the blocks of this network, out of configuration and genesis file. */

import { chainName, type Producers } from '../chain/certificate.js';
import type { Genesis } from '../chain/genesis.js';
import type { Config } from '../config/schema.js';
import { type KeyPair, keyPairFromSeed } from '../crypto/ed25519.js';
import { fromHex, toHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';
import { Signer } from '../mempool/blocks/signer.js';
import { genesisFingerprint } from './network-rules.js';

/** Undefined in a network that names none: there blocks are believed for the link that brings them. */
export function producersOf({ network }: Config, genesis: Genesis): Producers | undefined {
  if (network.producerKeys.length === 0) return undefined;
  return { chain: chainName(network.name, genesisFingerprint(genesis)), keys: network.producerKeys };
}

/**
 * What the blocks of a mempool node are signed with; undefined in a network that names no producers. Throws
 * `invalid_config` when the key is not one of theirs: nobody would believe such blocks.
 */
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
    `network.producer_keys does not name ${whose}, so nobody would believe its blocks: add on every node ` +
      `${lineToAdd([...producers.keys, key])}; or give the node the key of a producer (mempool.producer_key_file)`,
  );
}

/** What a mempool node tells its operator when nobody is named to sign blocks. */
export function unsignedWarning(config: Config, nodeKey: KeyPair): string {
  const key = toHex(signingKey(config, nodeKey).publicKey);
  return `network.producer_keys is empty: blocks are not signed, and are believed for the link that brings them; to have them signed by this node, add on every node ${lineToAdd([key])}`;
}

function signingKey({ mempool: { producerKey } }: Config, nodeKey: KeyPair): KeyPair {
  return producerKey === undefined ? nodeKey : keyPairFromSeed(fromHex(producerKey));
}

function lineToAdd(keys: readonly string[]): string {
  return `[network] producer_keys = ${JSON.stringify(keys)}`;
}
