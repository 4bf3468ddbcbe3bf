/**
 * Addresses that other nodes are told of. Anybody may ask, so each address is told to many peers until it is paid: otherwise
 * strangers could make the wallet grow, and end a search by words (docs/wallet.md#restoring-from-words).
 */

import { sha3Bytes } from '../crypto/sha3.js';
import { prefixRange } from '../db/keys.js';
import { fromUtf8, utf8 } from '../lib/bytes.js';
import { keyNumber, offeredKey, PREFIX } from './layout.js';
import type { WalletParts } from './modules.js';

/** Number of unpaid addresses on offer: fewer than a wallet watches behind its last one. */
const OFFERED = 10;

export type PeerAddressesModules = Pick<WalletParts, 'coins' | 'keys' | 'kv' | 'writes'>;

export class PeerAddresses {
  readonly #modules: PeerAddressesModules;
  readonly #offered = new Map<number, Promise<string>>();

  private constructor(modules: PeerAddressesModules) {
    this.#modules = modules;
  }

  static async open(modules: PeerAddressesModules): Promise<PeerAddresses> {
    const addresses = new PeerAddresses(modules);
    for await (const [key, record] of modules.kv.entries(prefixRange(PREFIX.offered))) {
      addresses.#offered.set(keyNumber(key), Promise.resolve(fromUtf8(record)));
    }
    return addresses;
  }

  /** The address for a peer: the same until it is paid. Throws `wallet_write_failed`. */
  async addressFor(nodeKey: string): Promise<string> {
    const slot = (sha3Bytes(nodeKey)[0] ?? 0) % OFFERED;
    for (;;) {
      const offered = this.#offered.get(slot);
      const address = await offered;
      if (address !== undefined && !this.#modules.coins.isUsed(address)) return address;
      // Another peer may have been given a new address in this slot meanwhile.
      if (this.#offered.get(slot) !== offered) continue;
      const made = this.#make(slot);
      this.#offered.set(slot, made);
      made.catch(() => this.#takeBack(slot, made, offered));
      return made;
    }
  }

  async #make(slot: number): Promise<string> {
    const { keys, writes } = this.#modules;
    writes.checkRoom();
    const address = keys.create('receive');
    writes.put(offeredKey(slot), utf8(address));
    writes.onFailure(() => {
      writes.del(offeredKey(slot));
      keys.discard([address]);
    });
    await writes.flush();
    return address;
  }

  #takeBack(slot: number, made: Promise<string>, before: Promise<string> | undefined): void {
    if (this.#offered.get(slot) !== made) return;
    if (before === undefined) this.#offered.delete(slot);
    else this.#offered.set(slot, before);
  }
}
