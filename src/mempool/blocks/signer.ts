/** Signs what this mempool node produces, for those who get it from others (docs/chain.md#certificates). */

import { LRUCache } from 'lru-cache';
import { type BlockPlace, type Certificate, certifyBlock, certifyNode } from '../../chain/certificate.js';
import type { KeyPair } from '../../crypto/ed25519.js';

/** Certificates kept in memory: the last blocks are asked for by every wallet. */
const KEPT = 16;

export class Signer {
  readonly #keyPair: KeyPair;
  readonly #chain: string;
  readonly #blocks = new LRUCache<string, Certificate>({ max: KEPT });

  /** `chain`: see `chainName`. */
  constructor(keyPair: KeyPair, chain: string) {
    this.#keyPair = keyPair;
    this.#chain = chain;
  }

  /** The certificate of a block, the same at every call: none needs to be stored. */
  block(place: BlockPlace): Certificate {
    const known = this.#blocks.get(place.hash);
    if (known !== undefined) return known;
    const certificate = certifyBlock(this.#keyPair, this.#chain, place);
    this.#blocks.set(place.hash, certificate);
    return certificate;
  }

  /** Says that the node with this key (hex) speaks for the producer. */
  node(nodeKey: string): Certificate {
    return certifyNode(this.#keyPair, this.#chain, nodeKey);
  }
}
