/** Settlement of own transactions: sent, sent again, confirmed or rejected. Methods resolve when that is durable, then announce it. */

import type { OpenBlock, Transaction } from '../../chain/types.js';
import { type Signal, SignalSource } from '../../lib/signal.js';
import type { CounterHandle } from '../../observability/metrics.js';
import type { CoinTotals } from '../coins/coin-index.js';
import type { BlockOutcome, CoinStore } from '../coins/coin-store.js';
import { type Displaced, displacedIn } from '../coins/taken.js';
import type { Concern } from '../concern.js';
import type { BlockPlace, History } from '../history/history.js';
import type { OwnOutputs } from '../keys/own-outputs.js';
import type { WalletParts } from '../modules.js';
import type { WriteBuffer } from '../write-buffer.js';
import type { Outgoing, OwnTransaction } from './outgoing.js';
import { isSamePayment } from './payment-builder.js';

export type SettlementModules = Pick<
  WalletParts,
  'coins' | 'history' | 'logger' | 'metrics' | 'outgoing' | 'ownOutputs' | 'writes'
>;

interface InKnownBlock {
  readonly displaced: readonly Displaced[];
  /** Hashes of own transactions by the hashes of their copies. */
  readonly copies: ReadonlyMap<string, string>;
  readonly place: BlockPlace;
}

export class Settlement {
  readonly #coins: CoinStore;
  readonly #outgoing: Outgoing;
  readonly #ownOutputs: OwnOutputs;
  readonly #history: History;
  readonly #writes: WriteBuffer;
  readonly #outcomes: { readonly confirmed: CounterHandle; readonly rejected: CounterHandle };
  readonly #queued: SignalSource<OwnTransaction>;
  readonly #settled: SignalSource<OwnTransaction>;
  readonly #changed: SignalSource<CoinTotals>;

  constructor({ coins, outgoing, ownOutputs, history, writes, metrics, logger }: SettlementModules) {
    this.#coins = coins;
    this.#outgoing = outgoing;
    this.#ownOutputs = ownOutputs;
    this.#history = history;
    this.#writes = writes;
    this.#outcomes = {
      confirmed: metrics.counter('tessera_wallet_payments_total', 'confirmed'),
      rejected: metrics.counter('tessera_wallet_payments_total', 'rejected'),
    };
    // Each counter exists from the start, at 0.
    for (const outcome of Object.values(this.#outcomes)) outcome.inc(0);
    metrics.beforeScrape(() => metrics.gauge('tessera_wallet_queue').set(outgoing.size));
    this.#queued = new SignalSource(logger);
    this.#settled = new SignalSource(logger);
    this.#changed = new SignalSource(logger);
  }

  get queued(): Signal<OwnTransaction> {
    return this.#queued;
  }

  get settled(): Signal<OwnTransaction> {
    return this.#settled;
  }

  get changed(): Signal<CoinTotals> {
    return this.#changed;
  }

  /** Announces a new transaction that is durable. */
  announce(made: OwnTransaction): void {
    this.#queued.emit(made);
    this.#changed.emit(this.#coins.totals());
  }

  /** Transactions that end together with an own one: itself, first, and all in flight that spend from it; none if it is not in flight. */
  familyOf(hash: string): readonly OwnTransaction[] {
    const found = new Map<string, OwnTransaction>();
    const open = [hash];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const made = found.has(next) ? undefined : this.#outgoing.get(next);
      if (made === undefined) continue;
      found.set(next, made);
      open.push(...this.#coins.spendersOf(made));
    }
    return [...found.values()];
  }

  async markSent(hash: string): Promise<void> {
    if (this.#outgoing.mark(hash, 'sent')) await this.#writes.flush();
  }

  async requeue(hash: string): Promise<void> {
    const entry = this.#outgoing.mark(hash, 'queued');
    if (entry === undefined) return;
    await this.#writes.flush();
    this.#queued.emit(entry);
  }

  /** Rejects a transaction that a rule refuses for good: inputs, also of its dependents, come back (decision V13). Gives their addresses. */
  async markRejected(hash: string, reason: string): Promise<readonly string[]> {
    const ended = this.familyOf(hash);
    if (ended.length === 0) return [];
    const addresses = this.#coins.release(ended);
    await this.commit([...this.#end(hash, 'rejected', reason), ...this.#endDescendants(hash, ended)]);
    return addresses;
  }

  /** Stages the end of a transaction whose inputs another one takes in the same step; a block may still have it. Then `commit`, once durable. */
  withdraw(own: OwnTransaction, reason: string): void {
    const before = { ...own };
    const movement = this.#history.find(own.hash);
    this.#end(own.hash, 'rejected', reason);
    this.#coins.release([own]);
    this.#writes.onFailure(() => {
      this.#coins.spendBy(before.hash, before.transaction);
      this.#outgoing.restore(before);
      if (movement !== undefined) this.#history.restore(movement);
    });
  }

  /** Marks a transaction confirmed in a block that this wallet has not seen, perhaps as a copy under another hash. Refresh first. */
  async markConfirmed(hash: string, { asCopy = false } = {}): Promise<void> {
    const entry = this.#outgoing.get(hash);
    if (entry === undefined) return;
    const copyHash = asCopy ? this.#coins.copyOf(entry) : undefined;
    if (copyHash !== undefined) await this.#history.prepare([copyHash]);
    if (this.#outgoing.get(hash) !== entry) return;
    const ended = asCopy ? this.familyOf(hash).slice(1) : [];
    this.#coins.release(ended);
    const dropped = asCopy ? this.#coins.dropExpected(entry) : [];
    if (copyHash === undefined) this.#history.takeVanished(dropped);
    else this.#history.joinCopy(hash, copyHash);
    this.#history.takeVanished(this.#coins.settle(entry));
    await this.commit([...this.#end(hash, 'confirmed'), ...this.#endDescendants(hash, ended)]);
  }

  /** Takes in a block, without making it durable; settles only what the block proves. `concern`: transactions that concern the wallet. */
  takeBlock(
    block: OpenBlock,
    concern?: Pick<Concern, 'places' | 'hasKeys'>,
  ): { readonly outcome: BlockOutcome; readonly done: readonly OwnTransaction[] } {
    const isForeign = (place: number, hash: string): boolean =>
      concern?.hasKeys === true && !concern.places.has(place) && this.#history.find(hash) === undefined;
    const displaced = displacedIn(block, (by) => this.#coins.inputsOf(by), isForeign);
    const copies = this.#copiesAmong(displaced);
    const { bNum, timestamp } = block.block.header;
    const place = { height: Number(bNum), time: Number(timestamp) };
    const outcome = this.#coins.applyBlock(
      block,
      (taken) => this.#history.take(taken, place, copies.get(taken.hash)),
      (outPoint) => this.#history.hasCounted(outPoint),
      isForeign,
    );
    if (outcome === 'gap') return { outcome, done: [] };
    const named = block.block.transactions.flatMap((hash) => this.#outgoing.get(hash) ?? []);
    if (outcome === 'known') this.#settleKnown(block, named, { displaced, copies, place });
    const confirmed = named.flatMap(({ hash }) => this.#end(hash, 'confirmed'));
    return { outcome, done: [...confirmed, ...displaced.flatMap((one) => this.#settleDisplaced(one))] };
  }

  async commit(done: readonly OwnTransaction[] = []): Promise<void> {
    await this.#writes.flush();
    for (const transaction of done) {
      if (transaction.state === 'confirmed' || transaction.state === 'rejected')
        this.#outcomes[transaction.state].inc();
      this.#settled.emit(transaction);
    }
    this.#changed.emit(this.#coins.totals());
  }

  /**
   * Settles an own transaction one of whose inputs a block has spent in another one. With the same outputs that is the same payment under
   * another hash, and confirmed; else the own one can never be in the chain, and its other inputs come back.
   */
  #settleDisplaced({ hash, byHash, by }: Displaced): readonly OwnTransaction[] {
    const ended = this.familyOf(hash);
    const entry = ended[0];
    if (entry === undefined) return [];
    this.#coins.release(ended);
    const done = this.#isCopy(entry, by, byHash)
      ? this.#end(hash, 'confirmed')
      : this.#end(hash, 'rejected', `an input was spent by another transaction: ${byHash}`);
    return [...done, ...this.#endDescendants(hash, ended)];
  }

  /** Ends transactions that spend from another one: without its outputs, they can never be in the chain. */
  #endDescendants(hash: string, ended: readonly OwnTransaction[]): readonly OwnTransaction[] {
    const reason = `it spends an output of ${hash}, which will never exist`;
    return ended.flatMap((one) => (one.hash === hash ? [] : this.#end(one.hash, 'rejected', reason)));
  }

  /** Hashes of own payments by those of their copies, among the transactions that displace them. */
  #copiesAmong(displaced: readonly Displaced[]): ReadonlyMap<string, string> {
    return new Map(
      displaced.flatMap(({ hash, byHash, by }) => {
        const entry = this.#outgoing.get(hash);
        return entry !== undefined && this.#isCopy(entry, by, byHash) ? [[byHash, hash] as const] : [];
      }),
    );
  }

  /** True for a copy of an own payment; another payment of this wallet that was rejected before is none, though it pays the same. */
  #isCopy({ transaction }: OwnTransaction, by: Transaction, byHash: string): boolean {
    const known = this.#history.find(byHash);
    const isOtherOwn = known?.isOwn === true && known.hash === byHash;
    return !isOtherOwn && isSamePayment(transaction, by);
  }

  /** Settles own transactions in a block that a refresh was ahead of, and whose funds it has brought. */
  #settleKnown(block: OpenBlock, named: readonly OwnTransaction[], { displaced, copies, place }: InKnownBlock): void {
    for (const made of named) this.#history.takeVanished(this.#coins.settle(made));
    for (const { by, byHash } of displaced) {
      const taken = { hash: byHash, transaction: by, isReward: false, spent: this.#coins.takeSpent(by), arrived: [] };
      this.#history.take(taken, place, copies.get(byHash));
    }
    this.#history.locate(block, place);
  }

  #end(hash: string, state: 'confirmed' | 'rejected', reason = ''): readonly OwnTransaction[] {
    const entry = this.#outgoing.mark(hash, state, reason);
    if (entry === undefined) return [];
    this.#history.settle(hash, state, reason);
    this.#ownOutputs[state](entry.transaction);
    return [entry];
  }
}
