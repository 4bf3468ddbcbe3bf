/** Finds out what became of trades, from the coins that are kept for them, and from the ends of their transactions. */

import type { Coin } from '../coins/coin.js';
import type { CoinStore } from '../coins/coin-store.js';
import type { Movement } from '../history/movement.js';
import type { WalletParts } from '../modules.js';
import { assetIdOf, exchangeOf, hasEnded, isExpired, ownAddress, type Trade } from './trade.js';

/** Blocks to wait for the payment of a trade whose half was found in a block that the wallet has not seen. */
const PATIENCE = 10;

export type AddressModules = Pick<WalletParts, 'ownOutputs' | 'writes'>;

export interface OutcomeModules extends Pick<WalletParts, 'coins' | 'history' | 'outgoing'> {
  readonly arrivals: Arrivals;
}

/** Trades whose half is in a block that the wallet may not have seen, so that their payment may still come. */
export class Arrivals {
  /** Heights at which the wait ends, by id. In memory: after a start it begins again, and everything is asked for. */
  readonly #ends = new Map<string, number>();
  #judgedAt = -1;

  mayCome(id: string, height: number): boolean {
    const end = this.#ends.get(id) ?? height + PATIENCE;
    this.#ends.set(id, end);
    return height < end;
  }

  forget(id: string): void {
    this.#ends.delete(id);
  }

  /** Trades to judge again, once at each height. */
  due(height: number): readonly string[] {
    if (height === this.#judgedAt) return [];
    this.#judgedAt = height;
    return [...this.#ends.keys()];
  }
}

/** The new state of a trade, with the reason of a failure. */
export type Outcome = Pick<Trade, 'state' | 'reason'>;

/** Outcome of a trade; undefined when nothing has changed. `now` in ms since the Unix epoch. */
export async function outcomeOf(trade: Trade, now: number, modules: OutcomeModules): Promise<Outcome | undefined> {
  switch (trade.state) {
    case 'open':
    case 'accepted':
      return hasCoins(trade, modules.coins)
        ? undefined
        : { state: 'failed', reason: 'what it gives was spent elsewhere' };
    case 'agreed':
      return isInFlight(trade.half, modules) ? undefined : halfOutcome(trade, modules);
    case 'cancelling':
      return isInFlight(trade.takeBack, modules) ? undefined : takeBackOutcome(trade, now, modules);
    default:
      return undefined;
  }
}

/** True while all coins that are kept for the trade are there. */
export function hasCoins({ id, coins: kept }: Trade, coins: CoinStore): boolean {
  return coins.aside.of(kept, id).length === kept.length;
}

function isInFlight(hash: string | null, { outgoing }: OutcomeModules): boolean {
  return hash !== null && outgoing.get(hash) !== undefined;
}

async function halfOutcome(trade: Trade, modules: OutcomeModules): Promise<Outcome | undefined> {
  const { coins, arrivals } = modules;
  const { state, reason, height } = await endOf(trade.half, modules);
  if (state !== 'confirmed') return { state: 'failed', reason };
  // Only a half with its DRUID proves the trade: a mempool node could have made a payment of it.
  const paid = await paymentsOf(trade, coins);
  const [locked] = paid;
  if (locked === undefined && height === null && arrivals.mayCome(trade.id, coins.height)) return undefined;
  if (locked === undefined) return { state: 'failed', reason: 'what it gives was paid, and what it gets has not come' };
  // The expectations of a half say nothing of the locktime.
  if (paid.some(({ locktime }) => locktime === 0n)) return { state: 'done', reason: '' };
  return { state: 'failed', reason: `what it gets is locked until block ${locked.locktime}` };
}

async function takeBackOutcome(trade: Trade, now: number, modules: OutcomeModules): Promise<Outcome | undefined> {
  // The other party was faster and completed the trade.
  if ((await endOf(trade.half, modules)).state === 'confirmed') return halfOutcome(trade, modules);
  const { state, reason } = await endOf(trade.takeBack, modules);
  if (state !== 'confirmed') return { state: 'failed', reason };
  return { state: isExpired(trade.offer.expires_at, now) ? 'expired' : 'cancelled', reason: trade.reason };
}

type End = Pick<Movement, 'state' | 'reason' | 'height'>;

/** End of a transaction that is no longer in flight, by the history. */
async function endOf(hash: string | null, { history }: OutcomeModules): Promise<End> {
  const found = hash === null ? undefined : (await history.byHash([hash])).get(hash);
  return (
    found ?? { state: 'rejected', reason: 'what became of it is not known: the wallet was started over', height: null }
  );
}

async function paymentsOf(trade: Trade, coins: CoinStore): Promise<readonly Coin[]> {
  const { get } = exchangeOf(trade);
  const to = ownAddress(trade) ?? '';
  const isIt = ({ address, assetId, amount }: Coin): boolean =>
    address === to && assetId === assetIdOf(get) && amount === BigInt(get.amount);
  const here = coins.allAt(to).filter(isIt);
  return here.length > 0 ? here : (await coins.spent()).filter(isIt);
}

/** Settles the address of a trade that has ended: it was paid, or is free again. Staged. */
export function settleAddress(trade: Trade, { ownOutputs, writes }: AddressModules): void {
  const address = ownAddress(trade);
  if (!hasEnded(trade) || address === null) return;
  if (trade.state === 'done') {
    ownOutputs.paid(address);
    return;
  }
  ownOutputs.giveBack(address);
  writes.onFailure(() => ownOutputs.withhold(address));
}
