/** Brings addresses to the state of the chain, page by page (decision V13), each durable. After the last, coins on no page are spent. */

import { outPointKey } from '../../chain/transaction.js';
import type { Utxo } from '../../chain/types.js';
import type { Arrival } from '../meta.js';
import type { WalletParts } from '../modules.js';
import type { Coin } from './coin.js';

/** Coins that change between two writes. */
const COINS_PER_STEP = 500;

export type AddressRefreshModules = Pick<WalletParts, 'coins' | 'history' | 'meta' | 'slices' | 'writes'>;

export interface AddressRefreshOptions {
  readonly addresses: ReadonlySet<string>;
  readonly height: number;
  /** True when the wallet has read this block itself: unknown outputs must be proven, and a known one is not spent just because no page has it. */
  readonly isChecked: boolean;
}

export class AddressRefresh {
  readonly #modules: AddressRefreshModules;
  readonly #addresses: ReadonlySet<string>;
  readonly #height: number;
  readonly #isChecked: boolean;
  readonly #unproven: Utxo[] = [];
  readonly #present = new Set<string>();
  readonly #arrival: Arrival;

  constructor({ addresses, height, isChecked }: AddressRefreshOptions, modules: AddressRefreshModules) {
    this.#addresses = addresses;
    this.#height = height;
    this.#isChecked = isChecked;
    this.#modules = modules;
    this.#arrival = modules.meta.beginArrival();
  }

  /** Outputs at these addresses that are to be proven; they are not taken in yet. */
  get unproven(): readonly Utxo[] {
    return this.#unproven;
  }

  async add(utxos: readonly Utxo[]): Promise<void> {
    const { coins, history, writes, slices } = this.#modules;
    for (let at = 0; at < utxos.length; at += COINS_PER_STEP) {
      await slices.turn();
      const some = utxos.slice(at, at + COINS_PER_STEP);
      for (const [outPoint] of some) this.#present.add(outPointKey(outPoint));
      const unknown = some.filter(([outPoint]) => !coins.has(outPoint));
      if (this.#isChecked) this.#unproven.push(...unknown.filter((utxo) => this.#isAsked(utxo)));
      else await history.prepare([...new Set(unknown.map(([{ tHash }]) => tHash))]);
      const taken = this.#isChecked ? some.filter(([outPoint]) => coins.has(outPoint)) : some;
      history.takeArrivals(coins.takeUnspent(taken, this.#addresses, this.#arrival));
      await writes.flush();
    }
  }

  async finish(): Promise<void> {
    // Before block 0 the chain holds nothing, so a coin that is missing there has not been spent.
    if (this.#height < 0) return;
    const { coins, history, writes, slices } = this.#modules;
    await slices.turn();
    const missing = coins.countedAt(this.#addresses).filter(({ key }) => !this.#present.has(key));
    for (let at = 0; at < missing.length; at += COINS_PER_STEP) {
      await slices.turn();
      const some = missing.slice(at, at + COINS_PER_STEP);
      if (this.#isChecked) await history.prepare([...new Set(some.map(({ outPoint }) => outPoint.tHash))]);
      history.takeVanished(coins.takeMissing(some.filter((coin) => !this.#isKnownBetter(coin))));
      await writes.flush();
    }
    const waiting = new Set(this.#unproven.map(([, { scriptPublicKey }]) => scriptPublicKey));
    history.endImport([...this.#addresses].filter((address) => !waiting.has(address)));
    await writes.flush();
  }

  #isAsked([, { scriptPublicKey: address }]: Utxo): boolean {
    return address !== null && this.#addresses.has(address);
  }

  /** True when the wallet has seen the block that made the coin: it would have seen a block that spends it, too. */
  #isKnownBetter({ outPoint }: Coin): boolean {
    return this.#isChecked && typeof this.#modules.history.find(outPoint.tHash)?.height === 'number';
  }
}
