/** The trades of a wallet, in memory and on disk: all open ones, and the latest that have ended; received offers are bounded. */

import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { inTheWay } from '../../lib/budget.js';
import { TesseraError } from '../../lib/errors.js';
import { PREFIX, tradeKey } from '../layout.js';
import type { WriteBuffer } from '../write-buffer.js';
import { decodeTrade, encodeTrade, hasEnded, type Trade } from './trade.js';

/** The most trades that have not ended. */
const MAX_OPEN = 1_000;
/** The most offers that came over links: of all senders, and of one, whose oldest makes room for its next. */
const MAX_RECEIVED = 100;
const MAX_RECEIVED_OF_ONE = 10;
/** The most trades that have ended; their movements stay in the history for ever. */
const MAX_ENDED = 1_000;

export class TradeBook {
  readonly #writes: WriteBuffer;
  readonly #all = new Map<string, Trade>();

  private constructor(writes: WriteBuffer) {
    this.#writes = writes;
  }

  static async open(kv: Kv, writes: WriteBuffer): Promise<TradeBook> {
    const book = new TradeBook(writes);
    for await (const [, record] of kv.entries(prefixRange(PREFIX.trade))) {
      const trade = decodeTrade(record);
      book.#all.set(trade.id, trade);
    }
    return book;
  }

  list(): readonly Trade[] {
    return [...this.#all.values()].sort((a, b) => b.createdAt - a.createdAt);
  }

  find(id: string): Trade | undefined {
    return this.#all.get(id);
  }

  get(id: string): Trade {
    const trade = this.#all.get(id);
    if (trade !== undefined) return trade;
    throw new TesseraError('trade_not_found', `this wallet has no trade ${id.slice(0, 64)}`);
  }

  checkRoom(): void {
    const open = this.list().filter((trade) => !hasEnded(trade) && trade.state !== 'received');
    if (open.length >= MAX_OPEN)
      throw new TesseraError('overloaded', `this wallet has ${MAX_OPEN} open trades already`);
  }

  /** Makes room for one more offer of a sender. When there is none, the oldest offer of the sender with most goes. Staged. */
  makeRoomFor(sender: string): void {
    const received = this.list().filter(({ state }) => state === 'received');
    const limits = { total: MAX_RECEIVED, share: MAX_RECEIVED_OF_ONE };
    const oldest = inTheWay(received, (trade) => trade.sender ?? '', sender, limits).at(-1);
    if (oldest !== undefined) this.drop(oldest);
  }

  /** Stages a trade, and returns it; a failed write restores the old one. A trade that has ended may drop the oldest other one. */
  put(trade: Trade): Trade {
    const before = this.#all.get(trade.id);
    this.#set(trade);
    this.#writes.onFailure(() => {
      if (before === undefined) this.drop(trade);
      else this.#set(before);
    });
    if (!hasEnded(trade)) return trade;
    // The trade that has just ended stays, however old it is: its caller reports it.
    const others = this.list().filter((one) => hasEnded(one) && one.id !== trade.id);
    for (const old of others.slice(MAX_ENDED - 1)) this.drop(old);
    return trade;
  }

  drop({ id }: Trade): void {
    this.#all.delete(id);
    this.#writes.del(tradeKey(id));
  }

  #set(trade: Trade): void {
    this.#all.set(trade.id, trade);
    this.#writes.put(tradeKey(trade.id), encodeTrade(trade));
  }
}
