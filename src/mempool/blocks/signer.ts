/** Signs the blocks and the key of this mempool node, so that others can check them wherever they come from (docs/chain.md#certificates). */

import { LRUCache } from 'lru-cache';
import { type BlockPlace, type Certificate, certifyBlock, certifyNode } from '../../chain/certificate.js';
import type { KeyPair } from '../../crypto/ed25519.js';

/** Certificates kept in memory: every wallet asks for those of the latest blocks. */
const KEPT = 16;

export class Signer {
  readonly #keyPair: KeyPair;
  readonly #chain: string;
  #node: { readonly key: string; readonly certificate: Certificate } | undefined;
  readonly #blocks = new LRUCache<string, Certificate>({ max: KEPT });

  /** `chain`: see `chainName`. */
  constructor(keyPair: KeyPair, chain: string) {
    this.#keyPair = keyPair;
    this.#chain = chain;
  }

  /** The certificate of a block; signing it again gives the same bytes, so none needs to be stored. */
  block(place: BlockPlace): Certificate {
    const known = this.#blocks.get(place.hash);
    if (known !== undefined) return known;
    const certificate = certifyBlock(this.#keyPair, this.#chain, place);
    this.#blocks.set(place.hash, certificate);
    return certificate;
  }

  /** The certificate that the node with this key (hex) speaks for the producer. */
  node(nodeKey: string): Certificate {
    if (this.#node?.key !== nodeKey) {
      this.#node = { key: nodeKey, certificate: certifyNode(this.#keyPair, this.#chain, nodeKey) };
    }
    return this.#node.certificate;
  }
}
