/** Finds a block's transactions that concern the wallet, in pieces; tells when coins or keys have changed since. */

import { namesOf, outPointKey, transactionAt } from '../chain/transaction.js';
import type { OpenBlock, Transaction } from '../chain/types.js';
import type { Pieces } from '../lib/pieces.js';
import type { CoinStore } from './coins/coin-store.js';
import type { KeyRing } from './keys/key-ring.js';

export interface ConcernModules {
  readonly coins: Pick<CoinStore, 'has' | 'arrived'>;
  readonly keys: Pick<KeyRing, 'owns' | 'changes'>;
}

export class Concern {
  /** Numbers of the transactions that concern the wallet, as of `transactionAt`. */
  readonly places: ReadonlySet<number>;
  readonly #modules: ConcernModules;
  readonly #coins: number;
  readonly #keys: number;

  private constructor(places: ReadonlySet<number>, modules: ConcernModules) {
    this.places = places;
    this.#modules = modules;
    this.#coins = modules.coins.arrived;
    this.#keys = modules.keys.changes;
  }

  /** Searches a block, and begins anew when coins or keys come meanwhile; after some attempts without pauses. */
  static *of(full: OpenBlock, modules: ConcernModules): Pieces<Concern> {
    for (let attempt = 0; ; attempt++) {
      const { coins, keys } = modules;
      const [before, keysBefore] = [coins.arrived, keys.changes];
      const places = yield* concerning(full, modules, attempt < 3);
      if (coins.arrived === before && keys.changes === keysBefore) return new Concern(places, modules);
    }
  }

  /** False when coins or keys have come since: other transactions may concern the wallet now. */
  get isCurrent(): boolean {
    return this.#modules.coins.arrived === this.#coins && this.hasKeys;
  }

  /** False when keys have come since the search. */
  get hasKeys(): boolean {
    return this.#modules.keys.changes === this.#keys;
  }
}

function* concerning(full: OpenBlock, { coins, keys }: ConcernModules, canPause: boolean): Pieces<Set<number>> {
  const places = new Set<number>();
  /** Outputs that the block itself pays to the wallet: a later transaction of it may spend them. */
  const own = new Set<string>();
  const isPaid = ({ outputs, fees }: Transaction): boolean =>
    [outputs, fees].some((list) => list.some(({ scriptPublicKey: to }) => to !== null && keys.owns(to)));
  const isSpent = ({ inputs }: Transaction): boolean =>
    inputs.some(
      ({ previousOut: from }) => from !== null && (coins.has(from) || (own.size > 0 && own.has(outPointKey(from)))),
    );
  for (const [place, name] of namesOf(full.block).entries()) {
    if (canPause) yield;
    const tx = transactionAt(full, place);
    const paid = tx !== undefined && isPaid(tx);
    if (tx === undefined || (!paid && !isSpent(tx))) continue;
    places.add(place);
    if (paid) for (let n = 0; n < tx.outputs.length + tx.fees.length; n++) own.add(outPointKey({ tHash: name, n }));
  }
  return places;
}
