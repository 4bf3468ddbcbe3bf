/** The wallet's own transactions: making them, which are in flight, and the next one to send. */

import { errorMessage } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { Mutex } from '../lib/mutex.js';
import type { CoinStore } from './coins/coin-store.js';
import { withDescendants } from './payments/descendants.js';
import type { DonationLimits, DonationQuota } from './payments/donation-quota.js';
import type { Outgoing, OwnTransaction } from './payments/outgoing.js';
import type { ItemOrder, PaymentOrder, Payments } from './payments/payments.js';
import type { Settlement } from './payments/settlement.js';
import type { WriteBuffer } from './write-buffer.js';

export interface TransfersModules {
  readonly coins: CoinStore;
  readonly outgoing: Outgoing;
  readonly donations: DonationQuota;
  readonly payments: Payments;
  readonly settlement: Settlement;
  readonly writes: WriteBuffer;
  readonly logger: Logger;
}

export class Transfers {
  readonly #modules: TransfersModules;
  readonly #merging = new Mutex();

  constructor(modules: TransfersModules) {
    this.#modules = modules;
  }

  /** See `Payments.checkFunds`. */
  checkFunds(amount: bigint, genesisHash?: string): void {
    this.#modules.payments.checkFunds(amount, genesisHash);
  }

  /** Throws `payment_refused`, `insufficient_funds`, `overloaded` or `wallet_write_failed`. */
  async pay(order: PaymentOrder): Promise<OwnTransaction> {
    this.#modules.writes.checkRoom();
    return this.#announce(await this.#modules.payments.pay(order));
  }

  /** As `pay`, counted as a donation to the peer; undefined when a limit is reached. */
  async donate(order: PaymentOrder, nodeKey: string, limits: DonationLimits): Promise<OwnTransaction | undefined> {
    const { donations, payments, writes } = this.#modules;
    writes.checkRoom();
    if (!donations.take(nodeKey, limits)) return undefined;
    try {
      return this.#announce(await payments.pay({ ...order, kind: 'donation' }));
    } catch (error) {
      donations.giveBack(nodeKey);
      throw error;
    }
  }

  async createItem(order: ItemOrder): Promise<OwnTransaction> {
    this.#modules.writes.checkRoom();
    return this.#announce(await this.#modules.payments.createItem(order));
  }

  /** Pays what the words do not cover to addresses that they do. Throws `wallet_write_failed`. */
  async sweep(): Promise<readonly OwnTransaction[]> {
    const { payments, settlement, writes } = this.#modules;
    writes.checkRoom();
    const made = await payments.sweep();
    for (const one of made) settlement.announceMerge(one);
    return made;
  }

  /** Own transactions that are queued or sent. */
  inFlight(): readonly OwnTransaction[] {
    return [...this.#modules.outgoing.inFlight()];
  }

  inFlightByHash(hash: string): OwnTransaction | undefined {
    return this.#modules.outgoing.get(hash);
  }

  /** Those of the transactions that are in flight, and all in flight that they depend on, in the order in which they were made. */
  lineageOf(hashes: Iterable<string>): readonly OwnTransaction[] {
    const { outgoing } = this.#modules;
    const found = new Set<OwnTransaction>();
    const open = [...hashes].flatMap((hash) => outgoing.get(hash) ?? []);
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (found.has(next)) continue;
      found.add(next);
      open.push(...outgoing.parentsOf(next));
    }
    return this.inFlight().filter((entry) => found.has(entry));
  }

  /** A transaction in flight and all that spend from it, itself first; empty when it is not in flight. */
  familyOf(hash: string): readonly OwnTransaction[] {
    return withDescendants(hash, this.#modules);
  }

  /** Own addresses that a transaction in flight spends from and pays to, and is paid at where it is half of a trade. */
  addressesOf(hash: string): readonly string[] {
    const entry = this.#modules.outgoing.get(hash);
    if (entry === undefined) return [];
    const { druidInfo } = entry.transaction;
    // What the half of a trade brings is in the block that has the half.
    const expected = druidInfo?.expectations.map(({ to }) => to) ?? [];
    return [...this.#modules.coins.addressesOf(hash, entry.transaction), ...expected];
  }

  /** Own transactions with their states, oldest first; the most recent 10,000, or `limit`. */
  history(limit?: number): Promise<readonly OwnTransaction[]> {
    return this.#modules.outgoing.history(limit);
  }

  /** The next transaction to send; it is not given again until `putBack`. */
  takeQueued(): OwnTransaction | undefined {
    return this.#modules.outgoing.takeQueued();
  }

  putBack(hash: string): void {
    this.#modules.outgoing.putBack(hash);
  }

  /** Joins small coins in the background, one merge after the other. */
  mergeLater(): void {
    const { payments, settlement, writes, logger } = this.#modules;
    void this.#merging.run(async () => {
      if (writes.isClosed) return;
      try {
        for (const made of await payments.merge()) settlement.announceMerge(made);
      } catch (error) {
        logger.warn({ error: errorMessage(error) }, 'small outputs could not be merged; the next block tries again');
      }
    });
  }

  /** Resolves when no merge is under way. */
  settled(): Promise<void> {
    return this.#merging.run(() => undefined);
  }

  #announce(made: OwnTransaction): OwnTransaction {
    this.#modules.settlement.announce(made);
    return made;
  }
}
