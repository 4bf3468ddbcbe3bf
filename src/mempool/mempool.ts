/**
 * The mempool of a node: builds its parts bottom-up, starts them, and offers `MempoolService`. While it starts, or when it
 * cannot go on, every method answers `mempool_unreachable` (decision V24).
 */

import { createItemFromSignature } from '../chain/builders.js';
import { TOTAL_TOKENS } from '../chain/constants.js';
import { transactionHash } from '../chain/hash.js';
import type { Transaction } from '../chain/types.js';
import type { Unicorn } from '../chain/unicorn.js';
import { endlessRoom, type Room } from '../db/disk-room.js';
import type { Kv } from '../db/kv.js';
import type { Journal } from '../journal/journal.js';
import { type Leadership, soleLeader } from '../journal/leadership.js';
import { HASH_KEY_BYTES } from '../ledger/utxo/keyed-hash.js';
import { Verifier } from '../ledger/verifier/verifier.js';
import type { Clock } from '../lib/clock.js';
import { createDeferred } from '../lib/deferred.js';
import { TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import type { Random } from '../lib/random.js';
import { Failure, type Service } from '../lib/service.js';
import { SignalSource } from '../lib/signal.js';
import { together } from '../lib/together.js';
import { followTotal, type Metrics } from '../observability/metrics.js';
import type { PeerNetwork } from '../peers/network.js';
import { Admission, type AdmissionOptions } from './admission/admission.js';
import { balancesOf, countOutputs } from './balances.js';
import { BlockMaker, type BlockMakerOptions } from './blocks/block-maker.js';
import { BlockSender } from './blocks/block-sender.js';
import { ChainSync, type ChainSyncOptions } from './blocks/chain-sync.js';
import { DigestTeller } from './blocks/digest-teller.js';
import { Resignation } from './blocks/resignation.js';
import type { Signer } from './blocks/signer.js';
import { StorageTips } from './blocks/storage-tips.js';
import { CarriedOver } from './carried-over.js';
import { Gateway } from './gateway.js';
import { OutputImage, type OutputImageOptions } from './image/output-image.js';
import { JournalLag } from './journal-lag.js';
import type { MempoolProgress } from './progress.js';
import { SnapshotServer } from './replicas/snapshot-server.js';
import type { Balances, CreatedItem, ItemCreation, MempoolService, SubmittedTransaction, TxStatus } from './service.js';
import type { AdoptedBlock } from './state/adopted-block.js';
import { Applier } from './state/applier.js';
import { CatchUp } from './state/catch-up.js';
import { keys } from './state/layout.js';
import { loadMempoolState } from './state/load.js';
import { closedHash, type Round } from './state/round.js';
import { SharedDigests } from './state/shared-digests.js';
import type { MempoolState, RejectedTx, StateRules } from './state/state.js';
import { StateStore } from './state/state-store.js';
import { Statuses, type StatusesOptions } from './state/statuses.js';

export interface MempoolOptions {
  readonly rules: StateRules;
  readonly pool: AdmissionOptions;
  readonly blocks: BlockMakerOptions;
  readonly chain: ChainSyncOptions;
  readonly statuses: StatusesOptions;
  /** Threads that verify signatures beside the main one. */
  readonly verifyThreads: number;
}

export interface MempoolModules {
  readonly kv: Kv;
  readonly journal: Journal;
  /** Whether this node makes the blocks; it does when left out. */
  readonly leadership?: Leadership;
  /** The name of this node among those that share the journal; undefined when nobody else does. */
  readonly replica?: string | undefined;
  readonly network: PeerNetwork;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly unicorn: (seed: bigint) => Promise<Unicorn> | Unicorn;
  readonly progress?: MempoolProgress | undefined;
  /** Signs the blocks; undefined in a network that names no producers. */
  readonly signer?: Signer | undefined;
  /** Room on the disk; unlimited when left out. */
  readonly room?: Room;
  /** Where the image of the unspent outputs is; none is kept when it is left out. */
  readonly image?: OutputImageOptions | undefined;
  /** True while blocks are made only for who asks for them (dev networks). */
  readonly isMiningHeld?: (() => boolean) | undefined;
}

/** A block that storage has confirmed. */
export interface ConfirmedBlock {
  readonly height: number;
  readonly hash: string;
  /** Hashes of its transactions, the coinbase left out. */
  readonly transactions: readonly string[];
}

/** Numbers for metrics and health. */
export interface MempoolFigures {
  readonly height: number;
  readonly waitingCount: number;
  readonly waitingBytes: number;
  readonly utxos: number;
  readonly miners: number;
  readonly druidSets: number;
  /** Transactions without tokens that wait for a block. */
  readonly tokenless: number;
  /** Signature and script checks run so far, by where. */
  readonly checks: { readonly worker: number; readonly main: number };
  /** Number of the last command applied. */
  readonly seq: number;
  /** Why mempool and storage are not at the same block; null when nothing is wrong. */
  readonly apart: string | null;
  /** Why storage does not keep the closed block; null when nothing is wrong. */
  readonly notStored: string | null;
  /** Why no script can be verified now; null when nothing is wrong. */
  readonly notVerified: string | null;
  /** Why the clock of this node may set the time of no block; null when it may. */
  readonly clockOff: string | null;
}

/** What is there once the state is loaded. */
interface Parts {
  readonly state: MempoolState;
  readonly applier: Applier;
  readonly statuses: Statuses;
  readonly verifier: Verifier;
  readonly admission: Admission;
  readonly maker: BlockMaker;
  readonly sender: BlockSender;
  readonly teller: DigestTeller | undefined;
  readonly resignation: Resignation;
  readonly snapshots: SnapshotServer | undefined;
  readonly tips: StorageTips;
  readonly sync: ChainSync;
  readonly carried: CarriedOver;
  readonly gateway: Gateway;
}

export class Mempool implements MempoolService, Service {
  readonly blockConfirmed = new SignalSource<ConfirmedBlock>();
  /** Hashes of transactions that entered the pool. */
  readonly transactionsAdmitted = new SignalSource<readonly string[]>();
  /** A transaction that a rule refuses, at once or after it has waited for others. */
  readonly transactionRejected = new SignalSource<RejectedTx>();
  readonly #options: MempoolOptions;
  readonly #modules: MempoolModules;
  readonly #failure = new Failure();
  readonly #stopMetrics: () => void;
  #starting: Promise<Parts> | undefined;
  /** Made before the other parts, so that a stop need not wait for the replay. */
  #applier: Applier | undefined;
  #image: OutputImage | undefined;
  #verifier: Verifier | undefined;
  #parts: Parts | undefined;
  #stopped = false;

  constructor(options: MempoolOptions, modules: MempoolModules) {
    this.#options = options;
    this.#modules = modules;
    this.#stopMetrics = this.#serveMetrics(modules.metrics);
  }

  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Loads, replays the journal, and starts making blocks. */
  async start(): Promise<void> {
    this.#starting = this.#build();
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
    await this.#image?.stop();
  }

  async #stopParts(): Promise<void> {
    const isUp = this.#parts !== undefined;
    this.#stopped = true;
    this.#parts = undefined;
    this.#stopMetrics();
    if (!isUp) await Promise.all([this.#applier?.stop(), this.#verifier?.close()]);
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

  async statuses(hashes: readonly string[]): Promise<ReadonlyMap<string, TxStatus>> {
    return this.#up().statuses.get(hashes);
  }

  figures(): MempoolFigures {
    const { state, maker, verifier, sender, sync } = this.#up();
    return {
      height: state.head.height,
      waitingCount: state.waiting.count,
      waitingBytes: state.waiting.bytes,
      utxos: state.utxos.size,
      miners: maker.miners.length,
      druidSets: state.waitingDruids.sets,
      tokenless: state.tokenless.count,
      checks: verifier.ran,
      seq: state.seq,
      apart: sync.problem,
      notStored: sender.problem,
      notVerified: verifier.problem,
      clockOff: sync.clocks.problem,
    };
  }

  /** Makes blocks again for what waits, after mining was held. */
  resumeMining(): void {
    this.#up().maker.resume();
  }

  /**
   * Makes `count` blocks at once, empty or not (dev networks only). Resolves with their heights when storage has them; a
   * signal that aborts takes back the order for those that are not cut.
   */
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

  async #build(): Promise<Parts> {
    const { kv, random, progress, logger, room = endlessRoom, leadership = soleLeader, replica } = this.#modules;
    const hashKey = random.bytes(HASH_KEY_BYTES);
    const onProgress = (outputs: number): void => {
      this.#assertRunning();
      progress?.loading(outputs);
    };
    const image = this.#modules.image && (await OutputImage.open(this.#modules.image, this.#modules));
    this.#image = image;
    const verifier = new Verifier({ threads: this.#options.verifyThreads }, this.#modules);
    this.#verifier = verifier;
    const loading = loadMempoolState(kv, this.#options.rules, { hashKey, onProgress, image });
    const [state] = await together(loading, verifier.start());
    const store = new StateStore(kv, this.#modules.clock);
    const digests = replica === undefined ? undefined : new SharedDigests(replica, await store.get(keys.digests));
    const modules = { ...this.#modules, logger, state, store, room, leadership, digests, image };
    const applier = new Applier(modules);
    this.#applier = applier;
    this.#failure.follow(applier);
    this.#assertRunning();
    await applier.start();
    image?.start({ state, store, applier });
    if (image !== undefined) this.#failure.follow(image);
    this.#relay(applier);
    const statuses = new Statuses(this.#options.statuses, modules);
    const tips = new StorageTips(modules);
    const sync = new ChainSync(this.#options.chain, { ...modules, applier, verifier, tips });
    this.#failure.follow(sync);
    const admission = new Admission(this.#options.pool, {
      ...modules,
      applier,
      catchUp: modules.journal.isShared ? new CatchUp({ ...modules, applied: applier.applied }) : undefined,
      statuses,
      verifier,
      assertNotBehind: sync.assertNotBehind,
      onRefused: (rejected) => this.transactionRejected.emit(rejected),
    });
    const maker = new BlockMaker(this.#options.blocks, { ...modules, applier, sync });
    const sender = new BlockSender({ ...modules, applier, tips });
    const resignation = new Resignation({ ...modules, applier, maker, tips, sync, sender });
    const teller = digests && new DigestTeller({ ...modules, applier, digests });
    const snapshots = replica === undefined ? undefined : new SnapshotServer(modules);
    const carried = new CarriedOver({ state, applier, store, admission, sync, room, logger });
    const unready = (): string | null =>
      this.#modules.journal.problem ?? leadership.problem ?? applier.problem ?? sync.lag;
    const gateway = new Gateway({ ...modules, applier, sync, statuses, admission, unready });
    return {
      state,
      applier,
      statuses,
      verifier,
      admission,
      maker,
      resignation,
      sender,
      teller,
      snapshots,
      tips,
      sync,
      carried,
      gateway,
    };
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

  /** Values that are read rather than counted are set before each scrape. */
  #serveMetrics(metrics: Metrics): () => void {
    const gauges = {
      transactions: metrics.gauge('tessera_mempool_transactions'),
      bytes: metrics.gauge('tessera_mempool_bytes'),
      druidSets: metrics.gauge('tessera_mempool_druid_sets'),
      tokenless: metrics.gauge('tessera_mempool_tokenless'),
      unspentOutputs: metrics.gauge('tessera_mempool_unspent_outputs'),
      miners: metrics.gauge('tessera_mempool_miners'),
      height: metrics.gauge('tessera_block_height'),
      leads: metrics.gauge('tessera_mempool_leads'),
      applied: metrics.gauge('tessera_journal_applied'),
      lag: metrics.gauge('tessera_journal_lag_seconds'),
    };
    const onWorkers = followTotal(metrics.counter('tessera_mempool_signature_checks_total', 'worker'));
    const onMain = followTotal(metrics.counter('tessera_mempool_signature_checks_total', 'main'));
    const { journal, clock, leadership = soleLeader } = this.#modules;
    const lag = new JournalLag(clock);
    return metrics.beforeScrape(() => {
      gauges.leads.set(leadership.leads ? 1 : 0);
      if (this.#parts === undefined) return;
      const figures = this.figures();
      gauges.applied.set(figures.seq);
      gauges.lag.set(lag.seconds(journal.head, figures.seq));
      gauges.transactions.set(figures.waitingCount);
      gauges.bytes.set(figures.waitingBytes);
      gauges.druidSets.set(figures.druidSets);
      gauges.tokenless.set(figures.tokenless);
      gauges.unspentOutputs.set(figures.utxos);
      gauges.miners.set(figures.miners);
      gauges.height.set(figures.height);
      onWorkers(figures.checks.worker);
      onMain(figures.checks.main);
    });
  }
}
