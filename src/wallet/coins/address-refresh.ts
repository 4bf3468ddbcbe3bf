/**
 * Brings what the wallet knows about some addresses to the state of the chain, page by page (decision V13): outputs are
 * taken in as their pages come, and when the last has come, what no page had is spent. Every page is durable before the next
 * is asked for, and no page holds the event loop for long, so that an address with any number of outputs can be refreshed.
 */

import { outPointKey } from '../../chain/transaction.js';
import type { Utxo } from '../../chain/types.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import type { History } from '../history/history.js';
import type { WriteBuffer } from '../write-buffer.js';
import type { CoinStore } from './coin-store.js';

/** Coins that change between two flushes. */
const COINS_PER_STEP = 500;

export interface AddressRefreshModules {
  readonly coins: CoinStore;
  readonly history: History;
  readonly writes: WriteBuffer;
  readonly slices: TimeSlices;
}

export class AddressRefresh {
  readonly #modules: AddressRefreshModules;
  readonly #addresses: ReadonlySet<string>;
  /** The block that the answers are of. */
  readonly #height: number;
  readonly #present = new Set<string>();
  readonly #arrival: () => number;

  constructor(addresses: ReadonlySet<string>, height: number, modules: AddressRefreshModules) {
    this.#addresses = addresses;
    this.#height = height;
    this.#modules = modules;
    this.#arrival = modules.coins.beginArrival();
  }

  /** Takes in one page. */
  async add(utxos: readonly Utxo[]): Promise<void> {
    const { coins, history, writes, slices } = this.#modules;
    for (let at = 0; at < utxos.length; at += COINS_PER_STEP) {
      await slices.turn();
      const some = utxos.slice(at, at + COINS_PER_STEP);
      for (const [outPoint] of some) this.#present.add(outPointKey(outPoint));
      const unknown = some.flatMap(([outPoint]) => (coins.has(outPoint) ? [] : outPoint.tHash));
      await history.prepare([...new Set(unknown)]);
      history.takeArrivals(coins.takeUnspent(some, this.#addresses, this.#arrival));
      await writes.flush();
    }
  }

  /** All pages have come: coins that were in none of them are spent. */
  async finish(): Promise<void> {
    // Before block 0 the chain holds nothing, so a coin that is missing there has not been spent.
    if (this.#height < 0) return;
    const { coins, history, writes, slices } = this.#modules;
    await slices.turn();
    const missing = coins.countedAt(this.#addresses).filter(({ key }) => !this.#present.has(key));
    for (let at = 0; at < missing.length; at += COINS_PER_STEP) {
      await slices.turn();
      history.takeVanished(coins.takeMissing(missing.slice(at, at + COINS_PER_STEP)));
      await writes.flush();
    }
    history.endImport(this.#addresses);
  }
}
