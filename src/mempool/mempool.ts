/** The mempool of a node: opens and starts its parts (`parts.ts`), and offers `MempoolService`. */

import { createItemFromSignature } from '../chain/builders.js';
import { TOTAL_TOKENS } from '../chain/constants.js';
import { transactionHash } from '../chain/hash.js';
import type { Transaction } from '../chain/types.js';
import { soleLeader } from '../journal/journal.js';
import type { Clock } from '../lib/clock.js';
import { createDeferred } from '../lib/deferred.js';
import { TesseraError } from '../lib/errors.js';
import { Failure, type Service } from '../lib/service.js';
import { SignalSource } from '../lib/signal.js';
import { followTotal, type Metrics } from '../observability/metrics.js';
import { balancesOf, countOutputs } from './balances.js';
import type { MempoolModules, MempoolOptions } from './options.js';
import { type EarlyParts, openParts, type Parts } from './parts.js';
import type {
  Balances,
  CreatedItem,
  ItemCreation,
  MempoolService,
  SubmittedTransaction,
  TxStatus,
  WaitingPlace,
} from './service.js';
import type { AdoptedBlock } from './state/adoption.js';
import type { Applier } from './state/applier.js';
import { blocksAhead, placeAhead } from './state/forecast.js';
import { closedHash, type Round } from './state/round.js';
import type { RejectedTx } from './state/state.js';

/** A block that storage has confirmed. */
export interface ConfirmedBlock {
  readonly height: number;
  readonly hash: string;
  /** Hashes of the block's transactions, the coinbase left out. */
  readonly transactions: readonly string[];
}

type Figures = ReturnType<Mempool['figures']>;

/** Metrics whose values are read from the figures. */
const GAUGES = {
  tessera_journal_applied: ({ seq }: Figures) => seq,
  tessera_mempool_transactions: ({ waitingCount }: Figures) => waitingCount,
  tessera_mempool_bytes: ({ waitingBytes }: Figures) => waitingBytes,
  tessera_mempool_druid_sets: ({ druidSets }: Figures) => druidSets,
  tessera_mempool_tokenless: ({ tokenless }: Figures) => tokenless,
  tessera_mempool_unspent_outputs: ({ utxos }: Figures) => utxos,
  tessera_mempool_miners: ({ miners }: Figures) => miners,
  tessera_block_height: ({ height }: Figures) => height,
};

export class Mempool implements MempoolService, Service {
  readonly blockConfirmed = new SignalSource<ConfirmedBlock>();
  readonly transactionsAdmitted = new SignalSource<readonly string[]>();
  /** A transaction that a rule refuses, at once or after it has waited for others. */
  readonly transactionRejected = new SignalSource<RejectedTx>();
  readonly #options: MempoolOptions;
  readonly #modules: MempoolModules;
  readonly #failure = new Failure();
  readonly failed = this.#failure.promise;
  readonly #stopMetrics: () => void;
  #starting: Promise<Parts> | undefined;
  readonly #early: EarlyParts = {};
  #parts: Parts | undefined;
  #stopped = false;

  constructor(options: MempoolOptions, modules: MempoolModules) {
    this.#options = options;
    this.#modules = modules;
    this.#stopMetrics = this.#serveMetrics(modules.metrics);
  }

  /** Loads, replays the journal, and starts making blocks. */
  async start(): Promise<void> {
    this.#starting = openParts(this.#options, this.#modules, {
      early: this.#early,
      failure: this.#failure,
      assertRunning: () => this.#assertRunning(),
      onReplayed: (applier) => this.#relay(applier),
      onRefused: (rejected) => this.transactionRejected.emit(rejected),
    });
    const parts = await this.#starting;
    if (this.#stopped) return;
    parts.gateway.start();
    parts.tips.start();
    parts.sync.start();
    parts.sender.start();
    parts.teller?.start();
    parts.snapshots?.start();
    parts.maker.start();
    parts.resignation.start();
    parts.carried.start();
    this.#parts = parts;
  }

  async stop(): Promise<void> {
    await this.#stopParts();
    await this.#early.image?.stop();
  }

  async #stopParts(): Promise<void> {
    const isUp = this.#parts !== undefined;
    this.#stopped = true;
    this.#parts = undefined;
    this.#stopMetrics();
    if (!isUp) await Promise.all([this.#early.applier?.stop(), this.#early.verifier?.close()]);
    const parts = await this.#starting?.catch(() => undefined);
    this.#starting = undefined;
    if (parts === undefined) return;
    await parts.carried.stop();
    parts.resignation.stop();
    parts.maker.stop();
    parts.sender.stop();
    parts.teller?.stop();
    await parts.snapshots?.stop();
    parts.tips.stop();
    await parts.sync.stop();
    parts.gateway.stop();
    await parts.applier.stop();
    await parts.statuses.stop();
    await parts.verifier.close();
  }

  async submit(transactions: readonly Transaction[], sender?: string): Promise<readonly SubmittedTransaction[]> {
    return this.#up().admission.submit(transactions, sender);
  }

  async createItem(request: ItemCreation, sender?: string): Promise<CreatedItem> {
    const { admission, state } = this.#up();
    const { amount, spec, metadata, scriptPublicKey, publicKey, signature } = request;
    const tx = createItemFromSignature(
      { bNum: BigInt(Math.max(0, state.head.height)), amount, spec, metadata },
      { address: scriptPublicKey, publicKey, signature },
    );
    const txHash = transactionHash(tx);
    await admission.submit([tx], sender);
    const value = tx.outputs[0]?.value;
    if (value?.kind !== 'item') throw new Error('broken invariant: an item creation without an item');
    return { asset: { ...value, genesisHash: value.genesisHash ?? txHash }, toAddress: scriptPublicKey, txHash };
  }

  balances(addresses: readonly string[]): Balances {
    return balancesOf(this.#up().state.utxos, addresses);
  }

  countOutputs(addresses: readonly string[], limit: number): number {
    return countOutputs(this.#up().state.utxos, addresses, limit);
  }

  supply(): { readonly total: bigint; readonly issued: bigint } {
    return { total: TOTAL_TOKENS, issued: this.#up().state.head.issued };
  }

  waiting(): ReturnType<MempoolService['waiting']> {
    const { state } = this.#up();
    return { ...state.waiting, blocks: blocksAhead(state) };
  }

  waitingPlace(hash: string): WaitingPlace | undefined {
    return placeAhead(this.#up().state, hash);
  }

  async statuses(hashes: readonly string[]): Promise<ReadonlyMap<string, TxStatus>> {
    return this.#up().statuses.get(hashes);
  }

  /** Numbers for metrics and health; each problem is a reason in words, or null. */
  figures() {
    const { state, maker, verifier, sender, sync, tips, isFollowed } = this.#up();
    return {
      height: state.head.height,
      waitingCount: state.waiting.count,
      waitingBytes: state.waiting.bytes,
      utxos: state.utxos.size,
      miners: maker.miners.length,
      /** True while original nodes make the blocks of the chain. */
      isFollowed: isFollowed(),
      druidSets: state.waitingDruids.sets,
      tokenless: state.tokenless.count,
      /** Numbers of signature and script checks run so far, by the place where they run. */
      checks: verifier.ran,
      seq: state.seq,
      /** Why mempool and storage are not at the same block. */
      apart: sync.problem,
      /** Why storage does not keep the closed block, or could keep none. */
      notStored: sender.problem ?? tips.problem,
      /** Why no script can be verified now. */
      notVerified: verifier.problem,
      /** Why the clock of this node may set the time of no block. */
      clockOff: sync.clocks.problem,
    };
  }

  /** Makes blocks again for waiting transactions, after mining was held. */
  resumeMining(): void {
    this.#up().maker.resume();
  }

  /** Makes `count` blocks at once (dev networks). Resolves with their heights once stored; the signal cancels the rest. */
  async makeBlocks(count: number, signal: AbortSignal): Promise<readonly number[]> {
    const { state, maker } = this.#up();
    const { heights, cancel } = maker.makeNow(count);
    const given = createDeferred<never>();
    given.promise.catch(() => undefined);
    const give = (): void => given.reject(signal.reason);
    signal.addEventListener('abort', give);
    let off = (): void => undefined;
    try {
      const cut = await Promise.race([heights, given.promise]);
      const last = cut.at(-1) ?? 0;
      const stored = createDeferred<void>();
      off = this.blockConfirmed.on(({ height }) => height >= last && stored.resolve());
      if (state.head.height < last) await Promise.race([stored.promise, given.promise]);
      return cut;
    } finally {
      signal.removeEventListener('abort', give);
      cancel();
      off();
    }
  }

  /** Digest of the whole state, equal on replicas that have applied the same commands. */
  digest(): string {
    return this.#up().state.digest();
  }

  #assertRunning(): void {
    if (this.#stopped) throw new TesseraError('shutting_down', 'the node is stopping');
  }

  #relay(applier: Applier): void {
    applier.admitted.on((value) => this.transactionsAdmitted.emit(value));
    applier.rejected.on((value) => this.transactionRejected.emit(value));
    applier.confirmed.on((round) => this.#onConfirmed(round));
    applier.adopted.on((block) => this.#onAdopted(block));
  }

  #onConfirmed(round: Round): void {
    const { height, transactions } = round;
    const hash = closedHash(round);
    this.#modules.logger.info({ height, hash }, `block ${height} stored`);
    this.blockConfirmed.emit({ height, hash, transactions: transactions.map((tx) => tx.hash) });
  }

  #onAdopted({ height, hash, transactions }: AdoptedBlock): void {
    this.blockConfirmed.emit({ height, hash, transactions: transactions.map((tx) => tx.hash) });
  }

  #up(): Parts {
    if (this.#parts !== undefined) return this.#parts;
    throw new TesseraError('mempool_unreachable', 'the mempool is not up yet; try again');
  }

  /** Sets the gauges before each scrape: their values are read, not counted. */
  #serveMetrics(metrics: Metrics): () => void {
    const gauges = Object.entries(GAUGES).map(
      ([name, of]) => [metrics.gauge(name as keyof typeof GAUGES), of] as const,
    );
    const leads = metrics.gauge('tessera_mempool_leads');
    const lagSeconds = metrics.gauge('tessera_journal_lag_seconds');
    const onWorkers = followTotal(metrics.counter('tessera_mempool_signature_checks_total', 'worker'));
    const onMain = followTotal(metrics.counter('tessera_mempool_signature_checks_total', 'main'));
    const { journal, clock, leadership = soleLeader } = this.#modules;
    const lag = new JournalLag(clock);
    return metrics.beforeScrape(() => {
      leads.set(leadership.leads ? 1 : 0);
      if (this.#parts === undefined) return;
      const figures = this.figures();
      for (const [gauge, of] of gauges) gauge.set(of(figures));
      lagSeconds.set(lag.seconds(journal.head, figures.seq));
      onWorkers(figures.checks.worker);
      onMain(figures.checks.main);
    });
  }
}

const MAX_LOOKS = 1_000;

interface Look {
  readonly head: number;
  /** Time by the monotonic clock, in ms. */
  readonly at: number;
}

/** Time that entries of the journal wait until the state has applied them, as far as one look at each scrape can tell. */
export class JournalLag {
  readonly #clock: Clock;
  /** Looks at which the journal had entries that are still not applied, the oldest first. */
  #looks: Look[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds since a look that saw an entry which is not applied yet; 0 when all are, or none was seen before. */
  seconds(head: number, applied: number): number {
    const at = this.#clock.monotonic();
    this.#looks = this.#looks.filter((look) => look.head > applied);
    if (head > applied && this.#looks.length < MAX_LOOKS) this.#looks.push({ head, at });
    return (at - (this.#looks[0]?.at ?? at)) / 1_000;
  }
}
