/**
 * Keeps the wallet in step with the chain through one mempool node. With each new link, and when blocks are missing, it asks for statuses,
 * refreshes all addresses, and only then allows payments; afterwards it applies blocks as they are mined.
 */

import { setMaxListeners } from 'node:events';
import { openFullBlock } from '../chain/decode-in-pieces.js';
import type { Timer } from '../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { Mutex } from '../lib/mutex.js';
import { SignalSource } from '../lib/signal.js';
import { TimeSlices } from '../lib/time-slices.js';
import type { MessageBody } from '../peers/messages.js';
import type { Link } from '../peers/network.js';
import type { ToldBlock } from '../wallet/block-check.js';
import type { ChainPoint } from '../wallet/block-intake.js';
import type { OwnTransaction } from '../wallet/payments/outgoing.js';
import type { MissedBlocks } from './block-source.js';
import { Evidence, type Finding, fetchStatuses, findPaid, type TransactionStatus } from './evidence.js';
import { MempoolChoice, type MempoolChoiceOptions } from './mempool-choice.js';
import type { UserModules } from './modules.js';
import type { OutputProofs } from './output-proofs.js';
import { refreshAddresses } from './utxo-pages.js';

/** Milliseconds that an answer about statuses may take. */
const REQUEST_TIMEOUT = 30_000;
/** Milliseconds until a failed synchronization is tried again on the same link. */
const RETRY_AFTER = 2_000;
/** Rounds in which answers may make the wallet watch more addresses (20 of each account): a lying node could go on for ever. */
const MAX_FOUND_ROUNDS = 50;
/** Maximum number of blocks kept during a synchronization; the next one fetches the others. */
const MAX_WAITING_BLOCKS = 32;

export interface ChainFollowerModules extends UserModules {
  readonly missed: MissedBlocks;
  /** Proves outputs that the wallet does not know; without it they are believed. */
  readonly proofs?: OutputProofs | undefined;
  /** Called with the number of refreshed addresses. */
  readonly onRefresh?: ((done: number, total: number) => void) | undefined;
}

/** A block that the followed mempool node reports as mined. */
export interface MinedBlock {
  readonly height: number;
  readonly hash: string;
  readonly transactions: number;
}

export class ChainFollower {
  readonly #modules: ChainFollowerModules;
  readonly #choice: MempoolChoice;
  readonly #stopping = new AbortController();
  readonly #steps = new Mutex();
  readonly #reading = new Mutex();
  readonly #slices: TimeSlices;
  readonly #waitingBlocks: ToldBlock[] = [];
  /** Transactions of the wallet whose inputs the mempool node does not find. */
  readonly #contested = new Set<string>();
  readonly #refusals = new Map<string, string>();
  #stopFollowing = (): void => undefined;
  #current: Link | undefined;
  #inStep = false;
  #problem: string | null = null;
  /** True when blocks came faster than a synchronization could apply them. */
  #blocksDropped = false;
  #retry: Timer | undefined;
  readonly ready: SignalSource<Link>;
  readonly blockMined: SignalSource<MinedBlock>;

  constructor(options: MempoolChoiceOptions, modules: ChainFollowerModules) {
    this.#modules = modules;
    this.#choice = new MempoolChoice(options, modules);
    this.#slices = new TimeSlices(modules.clock);
    this.ready = new SignalSource(modules.logger);
    this.blockMined = new SignalSource(modules.logger);
    // Every pending request listens to this signal.
    setMaxListeners(0, this.#stopping.signal);
    modules.network.handle('block.mined', async (link, { attachment, body }) => {
      await this.#onBlock(link, attachment, body);
      return undefined;
    });
  }

  start(): void {
    this.#stopFollowing = this.#choice.changed.on((link) => this.#follow(link));
    this.#choice.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#retry?.cancel();
    this.#stopFollowing();
    this.#choice.stop();
    await this.#steps.run(() => undefined);
  }

  /** The link over which payments can be sent; undefined until the wallet is in step with the chain. */
  get link(): Link | undefined {
    return this.#inStep ? this.#current : undefined;
  }

  /** Why the last attempt to get into step failed; null when it succeeded, or the wallet has come further since. */
  get problem(): string | null {
    return this.#problem ?? this.#choice.problem;
  }

  /** Asks the mempool node again whether it takes transactions: it has answered that it does not, and another may. */
  doubt(link: Link): void {
    this.#choice.doubt(link);
  }

  /** Asks for the outputs of addresses without waiting for the answer. Throws `mempool_unreachable`. */
  requestRefresh(addresses: readonly string[]): void {
    const link = this.#current;
    if (link === undefined) throw new TesseraError('mempool_unreachable', 'no mempool node is linked');
    this.#afterwards(link, 'a refresh failed', async () => {
      await this.#refresh(link, addresses, new Evidence([]));
      await this.#refreshFound(link);
    });
  }

  /** Refreshes addresses that are watched only since the last refresh, because what it found shows them to be in use. */
  findMore(): void {
    const link = this.#current;
    if (link !== undefined) this.#afterwards(link, 'a refresh failed', () => this.#refreshFound(link));
  }

  /** Looks up a transaction with unknown inputs, or refused for good: then it is rejected, unless it is in a block. */
  investigate(hash: string, refusal?: string): void {
    const link = this.#current;
    if (refusal !== undefined) this.#refusals.set(hash, refusal);
    this.#contested.add(hash);
    if (link === undefined || this.#contested.size > 1) return;
    this.#afterwards(link, 'a payment could not be looked up', async () => {
      const { coins, outgoing } = this.#modules.wallet;
      // Parents of contested transactions are reviewed too: one of them may be missing.
      const entries = outgoing.lineageOf(this.#contested);
      this.#contested.clear();
      await this.#review(link, entries, coins.addressesOf(entries));
    });
  }

  /** Status of these transactions at the mempool node and in the chain. Throws `mempool_unreachable`. */
  async look(hashes: Iterable<string>): Promise<ReadonlyMap<string, Finding>> {
    const link = this.link;
    if (link === undefined) throw new TesseraError('mempool_unreachable', 'the wallet is not in step with the chain');
    return this.#steps.run(async () => {
      const { coins, outgoing } = this.#modules.wallet;
      const entries = outgoing.lineageOf(hashes);
      return (await this.#examine(link, entries, coins.addressesOf(entries))).findings;
    });
  }

  /** Runs a step that is not part of a synchronization. If it fails, everything is fetched later; payments go on meanwhile. */
  #afterwards(link: Link, failure: string, step: () => Promise<unknown>): void {
    void this.#steps.run(async () => {
      try {
        if (link === this.#current) await step();
      } catch (error) {
        if (this.#stopping.signal.aborted || link !== this.#current) return;
        const { clock, logger } = this.#modules;
        logger.warn({ error: errorMessage(error) }, `${failure}: refreshing everything`);
        if (isTesseraError(error, 'protocol_violation')) return link.close(errorMessage(error));
        // While the wallet is out of step, a synchronization is on its way, which fetches everything and lets payments go out.
        if (!this.#inStep) return;
        this.#retry?.cancel();
        this.#retry = clock.after(RETRY_AFTER, () =>
          this.#afterwards(link, failure, async () => (this.#inStep ? this.#catchUp(link) : undefined)),
        );
      }
    });
  }

  #follow(link: Link | undefined): void {
    this.#current = link;
    this.#inStep = false;
    this.#contested.clear();
    this.#refusals.clear();
    this.#retry?.cancel();
    if (link) this.#synchronize(link);
  }

  #synchronize(link: Link): void {
    const { wallet, clock, logger } = this.#modules;
    this.#inStep = false;
    this.#retry?.cancel();
    void this.#steps.run(async () => {
      if (link !== this.#current || this.#inStep || this.#stopping.signal.aborted) return;
      try {
        await this.#catchUp(link);
        logger.info({ link: link.id, block: wallet.chain.height }, 'the wallet is in step with the chain');
        this.ready.emit(link);
      } catch (error) {
        if (this.#stopping.signal.aborted || link !== this.#current) return;
        this.#problem = errorMessage(error);
        logger.warn({ link: link.id, error: this.#problem }, 'the wallet could not be refreshed; trying again');
        // Another configured node may be honest.
        if (isTesseraError(error, 'protocol_violation')) return link.close(this.#problem);
        this.#retry = clock.after(RETRY_AFTER, () => this.#synchronize(link));
      }
    });
  }

  async #catchUp(link: Link): Promise<void> {
    const { wallet } = this.#modules;
    do {
      this.#blocksDropped = false;
      // The refresh below asks for all watched addresses.
      wallet.keys.takeNewlyWatched();
      const first = await this.#review(link, wallet.outgoing.inFlight(), wallet.keys.watched());
      const point = await this.#refreshFound(link, first);
      if (point !== undefined) await wallet.chain.advanceTo(point);
      while (this.#waitingBlocks.length > 0) {
        for (let next = this.#waitingBlocks.shift(); next; next = this.#waitingBlocks.shift()) {
          await wallet.chain.apply(next);
        }
        await this.#refreshFound(link);
      }
      // A dropped block may have held transactions of the wallet: only another refresh tells what is left of their change.
    } while (this.#blocksDropped);
    // Set in the same turn as the check of waiting blocks, so that none is left waiting.
    this.#inStep = true;
    this.#problem = null;
  }

  /** Refreshes addresses that a refresh or a block showed to be in use. Returns the oldest block of the answers and `point`. */
  async #refreshFound(link: Link, point?: ChainPoint): Promise<ChainPoint | undefined> {
    const { wallet, logger } = this.#modules;
    let oldest = point;
    for (let round = 0; ; round++) {
      const more = wallet.keys.takeNewlyWatched();
      if (more.length === 0) return oldest;
      if (round === MAX_FOUND_ROUNDS) {
        logger.warn(
          { link: link.id, addresses: wallet.keys.addresses.size },
          'the mempool node names outputs at ever more addresses: the search ends here until the next synchronization',
        );
        return oldest;
      }
      const next = await this.#refresh(link, more, new Evidence([]));
      if (next !== undefined && (oldest === undefined || next.height < oldest.height)) oldest = next;
    }
  }

  async #review(
    link: Link,
    inFlight: readonly OwnTransaction[],
    addresses: readonly string[],
  ): Promise<ChainPoint | undefined> {
    const entries = inFlight.map((entry) => ({ ...entry }));
    const { point, findings } = await this.#examine(link, entries, addresses);
    for (const entry of entries) await this.#settle(entry, findings.get(entry.hash));
    return point;
  }

  async #examine(link: Link, entries: readonly OwnTransaction[], addresses: readonly string[]) {
    const evidence = new Evidence(entries);
    // Statuses are asked for first: each later answer includes what is confirmed now.
    const own = await this.#statusesOf(
      link,
      entries.map(({ hash }) => hash),
    );
    const statuses = new Map([...own, ...(await this.#statusesOf(link, evidence.creators(own)))]);
    const point = await this.#refresh(link, addresses, evidence);
    const findings = evidence.findings(statuses);
    const open = entries.filter(({ hash }) => findings.get(hash) === 'open');
    const paid = await findPaid(link, open, { timeoutMs: REQUEST_TIMEOUT, signal: this.#stopping.signal });
    return { point, findings: paid.size === 0 ? findings : evidence.findings(new Map([...statuses, ...paid])) };
  }

  async #settle({ hash, state }: OwnTransaction, finding: Finding | undefined): Promise<void> {
    const { wallet } = this.#modules;
    // A state that has changed meanwhile is newer.
    if (wallet.outgoing.get(hash)?.state !== state) return;
    switch (finding) {
      case 'admitted':
        return wallet.settlement.markSent(hash);
      case 'confirmed':
        return wallet.settlement.markConfirmed(hash);
      case 'copied':
        return wallet.settlement.markConfirmed(hash, { asCopy: true });
      case 'missing':
        return wallet.settlement.requeue(hash);
      case 'absent':
        return this.#rejectRefused(hash);
      case 'open':
    }
  }

  async #rejectRefused(hash: string): Promise<void> {
    const refusal = this.#refusals.get(hash);
    if (refusal === undefined) return;
    this.#refusals.delete(hash);
    await this.#modules.wallet.settlement.markRejected(hash, refusal);
  }

  #statusesOf(link: Link, hashes: readonly string[]): Promise<ReadonlyMap<string, TransactionStatus>> {
    return fetchStatuses(link, hashes, { timeoutMs: REQUEST_TIMEOUT, signal: this.#stopping.signal });
  }

  #refresh(link: Link, addresses: readonly string[], evidence: Evidence): Promise<ChainPoint | undefined> {
    const { wallet, clock, onRefresh, missed, proofs } = this.#modules;
    const { signal } = this.#stopping;
    return refreshAddresses(link, addresses, {
      wallet,
      clock,
      signal,
      reach: async (point) => this.#cameFurther(await missed.reach(point, signal)),
      onProgress: (done, total) => {
        this.#cameFurther(done > 0);
        onRefresh?.(done, total);
      },
      onPage: (utxos) => evidence.note(utxos),
      onUnproven: proofs && ((utxos, height) => proofs.note(link, utxos, height)),
    });
  }

  #cameFurther(isFurther: boolean): boolean {
    if (isFurther) this.#problem = null;
    return isFurther;
  }

  async #onBlock(link: Link, attachment: Uint8Array, body: MessageBody<'block.mined'>): Promise<void> {
    if (link !== this.#current) return;
    const { hash, certificate } = body;
    const told = await this.#reading.run(() => this.#read(link, attachment, { hash, certificate }));
    if (told === undefined || link !== this.#current || this.#stopping.signal.aborted) return;
    const { header, transactions } = told.full.block;
    this.blockMined.emit({ height: Number(header.bNum), hash, transactions: transactions.length });
    if (!this.#inStep) {
      this.#waitingBlocks.push(told);
      if (this.#waitingBlocks.length <= MAX_WAITING_BLOCKS) return;
      this.#waitingBlocks.shift();
      this.#blocksDropped = true;
      return;
    }
    const { wallet, logger } = this.#modules;
    const outcome = await this.#steps.run(() => wallet.chain.apply(told));
    if (link !== this.#current) return;
    if (outcome === 'applied')
      this.#afterwards(link, 'a refresh failed', async () => void (await this.#refreshFound(link)));
    if (outcome !== 'gap') return;
    logger.info({ block: Number(header.bNum), known: wallet.chain.height }, 'blocks are missing: refreshing');
    this.#synchronize(link);
  }

  /** Blocks are decoded and checked one after the other; undefined when the link is not followed any more. */
  async #read(link: Link, bytes: Uint8Array, name: Omit<ToldBlock, 'full'>): Promise<ToldBlock | undefined> {
    const full = await openFullBlock(bytes, () => this.#slices.turn());
    if (link !== this.#current || this.#stopping.signal.aborted) return undefined;
    const told = { full, ...name };
    await this.#modules.wallet.chain.check(told);
    return told;
  }
}
