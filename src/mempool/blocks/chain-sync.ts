/**
 * Keeps the mempool at the block that storage is at (docs/adr/0011-two-ages-converge.md): says whether the next block
 * may be cut, adopts blocks that storage has and this node lacks, and ends the node when storage is on another chain.
 * Of several nodes at one journal only the leader adopts: the others get all blocks from the journal.
 */

import { eraAt } from '../../chain/eras.js';
import type { ChainRules } from '../../ledger/block/rules.js';
import type { Timer } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { Failure } from '../../lib/service.js';
import { SignalSource } from '../../lib/signal.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { Link } from '../../peers/network.js';
import type { MempoolParts } from '../modules.js';
import type { AdoptedBlock } from '../state/adoption.js';
import type { MempoolProgress } from '../state/applier.js';
import { closedHash } from '../state/round.js';
import { AdoptionCheck, type AdoptionCheckModules, FetchedBlocks } from './adoption-check.js';
import { PeerClocks } from './peer-clocks.js';
import { type Relation, relationOf } from './storage-tips.js';

/** Milliseconds for which a storage node that did not send blocks is left alone. */
const REST_MS = 2_000;
/** Milliseconds after the start for which storage nodes that are configured but not yet linked are waited for. */
const GATHER_MS = 5_000;
/** Blocks by which storage may be ahead of a node that does not lead: they are on their way through the journal. */
const MAX_LAG_BLOCKS = 1;
/** Milliseconds to wait for a storage node on this chain before one on another chain ends the node. */
const OTHER_CHAIN_MS = 10_000;

export interface ChainSyncOptions {
  /** Rules with the producers who must have signed the blocks that are fetched; without any they are taken unsigned. */
  readonly rules: ChainRules;
  readonly storageNodes: number;
  /** Milliseconds by which the clock of this node may differ from those of others; 5 seconds by default. */
  readonly maxClockSkew?: number;
}

export interface ChainSyncModules
  extends AdoptionCheckModules,
    Pick<MempoolParts, 'applier' | 'leadership' | 'logger' | 'metrics' | 'network' | 'tips'> {
  readonly progress?: MempoolProgress | undefined;
}

export class ChainSync {
  /** Fires when what `mayCut` depends on may have changed. */
  readonly changed = new SignalSource<void>();
  readonly caughtUp = new SignalSource<AdoptedBlock>();
  readonly clocks: PeerClocks;
  readonly #options: ChainSyncOptions;
  readonly #modules: ChainSyncModules;
  readonly #check: AdoptionCheck;
  readonly #fetched: FetchedBlocks;
  readonly #failure = new Failure();
  /** Rejects with `other_chain` when no storage node is on the chain of this node, and one is on another. */
  readonly failed = this.#failure.promise;
  readonly #stopping = new AbortController();
  readonly #listeners: (() => void)[] = [];
  /** Storage nodes that are not asked for blocks for a while. */
  readonly #resting = new Map<Link, Timer>();
  /** Storage nodes whose blocks do not follow the last one of this node, with the number of blocks that each had. */
  readonly #strange = new Map<Link, number>();
  #running: Promise<void> | undefined;
  #gathering: Timer | undefined;
  #suspicion: Timer | undefined;

  constructor(options: ChainSyncOptions, modules: ChainSyncModules) {
    this.#options = options;
    this.#modules = modules;
    const slices = new TimeSlices(modules.clock);
    this.#fetched = new FetchedBlocks(options.rules.producers, this.#stopping.signal, () => slices.turn());
    this.#check = new AdoptionCheck(options.rules, modules);
    this.clocks = new PeerClocks(options.maxClockSkew, modules);
    const behind = modules.metrics.gauge('tessera_mempool_blocks_behind');
    this.#listeners.push(modules.metrics.beforeScrape(() => behind.set(this.#missing)));
  }

  start(): void {
    const { clock, tips, network, leadership } = this.#modules;
    this.clocks.start();
    this.#listeners.push(
      this.clocks.changed.on(() => this.changed.emit()),
      tips.changed.on(() => this.#proceed()),
      leadership.changed.on(() => this.#proceed()),
      network.linkDown.on(({ link }) => this.#forget(link)),
    );
    this.#gathering = clock.after(GATHER_MS, () => {
      this.#gathering = undefined;
      this.changed.emit();
    });
    this.#proceed();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.clocks.stop();
    this.#gathering?.cancel();
    this.#suspicion?.cancel();
    for (const timer of this.#resting.values()) timer.cancel();
    for (const remove of this.#listeners.splice(0)) remove();
    await this.#running;
  }

  /** True when a block that is cut now follows what storage has or gets, and may have the time of this node. */
  get mayCut(): boolean {
    const { tips } = this.#modules;
    const isGathering = this.#gathering !== undefined && tips.all.size < this.#options.storageNodes;
    if (isGathering || tips.isAsking || this.#source() !== undefined) return false;
    return this.#relations().some(([, relation]) => relation === 'even') && this.clocks.mayCut();
  }

  /** Why mempool and storage are not at the same block; null when they are, or no storage node is linked. */
  get problem(): string | null {
    const { state, progress, tips } = this.#modules;
    const relations = this.#relations();
    const here = `the mempool node is at block ${state.head.height}`;
    if (this.#source() !== undefined) {
      const at = Math.max(...relations.map(([link]) => tips.all.get(link)?.next ?? 0)) - 1;
      return `${here} and storage at block ${at}: ${progress?.adoptingNow ?? 'the blocks between are fetched'}`;
    }
    if (!this.#modules.leadership.leads && this.#isLagging)
      return `${here}, and storage is ${this.#missing} blocks ahead of it`;
    const isEven = relations.some(isSame);
    const [first] = relations;
    if (isEven || first === undefined) return null;
    const [link, relation] = first;
    const next = tips.all.get(link)?.next ?? 0;
    if (relation === 'other-chain') return otherChain(link).message;
    // The leader delivers blocks that storage lacks. A single block more in storage is on its way here.
    if (!this.#modules.leadership.leads) return null;
    if (relation === 'ahead') return `${here} and ${link.address} at block ${next - 1}, whose blocks cannot be used`;
    const isKept = state.kept.hashAt(next) !== undefined;
    const what = isKept ? 'they are being delivered' : 'they must come from another storage node or a backup';
    return `${here} and ${link.address} lacks blocks ${next} to ${state.head.height}: ${what}`;
  }

  /** Description of missing blocks, without which unspent outputs are not known; null when none are missing. */
  get lag(): string | null {
    const isBehind = this.#modules.leadership.leads ? this.#source() !== undefined : this.#isLagging;
    return isBehind ? this.problem : null;
  }

  /** Throws `mempool_unreachable` while blocks are missing here. */
  readonly assertNotBehind = (): void => {
    const { lag } = this;
    if (lag !== null) throw new TesseraError('mempool_unreachable', `${lag}; try again`);
  };

  get #missing(): number {
    const { state, tips } = this.#modules;
    const source = this.#ahead();
    return source === undefined ? 0 : Math.max(0, (tips.all.get(source)?.next ?? 0) - 1 - state.head.height);
  }

  /** True if this node is behind storage by more than the journal explains, and no storage node is where this node is. */
  get #isLagging(): boolean {
    const { state } = this.#modules;
    const closed = state.closedHeight - state.head.height;
    return this.#missing > closed + MAX_LAG_BLOCKS && !this.#relations().some(isSame);
  }

  #relations(): (readonly [Link, Relation])[] {
    const { state, tips } = this.#modules;
    return [...tips.all].map(([link, tip]) => {
      const isStrange = this.#strange.get(link) === tip.next;
      return [link, isStrange ? 'other-chain' : relationOf(tip, state)] as const;
    });
  }

  /** The storage node to adopt blocks from; only the leader adopts, for its journal lacks these blocks too. */
  #source(): Link | undefined {
    return this.#modules.leadership.leads ? this.#ahead() : undefined;
  }

  /** The storage node that has the most of the blocks that are missing here. */
  #ahead(): Link | undefined {
    const { tips } = this.#modules;
    const next = (link: Link): number => tips.all.get(link)?.next ?? 0;
    const ahead = this.#relations().flatMap(([link, relation]) => (relation === 'ahead' ? [link] : []));
    return ahead.filter((link) => !this.#resting.has(link)).sort((a, b) => next(b) - next(a))[0];
  }

  #proceed(): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#running === undefined && this.#source() !== undefined) {
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
        this.#proceed();
      });
    }
    this.#suspect();
    this.changed.emit();
  }

  async #run(): Promise<void> {
    const { state, logger, network, progress, tips } = this.#modules;
    const from = state.head.height;
    let last: AdoptedBlock | undefined;
    // While original nodes make the blocks, each block comes from storage: that is no cause for a warning.
    const { isOriginal } = eraAt(this.#options.rules.genesis.eras, from + 1);
    logger[isOriginal && from >= 0 ? 'debug' : 'warn']({ height: from, missing: this.#missing }, `${this.problem}`);
    for (let link = this.#source(); link && !this.#stopping.signal.aborted; link = this.#source()) {
      try {
        last = (await this.#adoptFrom(link, from)) ?? last;
      } catch (error) {
        this.#passOver(link, error);
      }
    }
    progress?.adopted();
    if (this.#stopping.signal.aborted) return;
    const { height, hash } = state.head;
    logger.info({ height, hash }, `the blocks ${from + 1} to ${height} were fetched from storage`);
    for (const link of tips.all.keys()) link.send('chain.tip', { next: height + 1, hash });
    if (network.links.size > 0 && last !== undefined) this.caughtUp.emit(last);
  }

  async #adoptFrom(link: Link, start: number): Promise<AdoptedBlock | undefined> {
    const { state, tips, progress } = this.#modules;
    const { height, hash } = state.head;
    let last: AdoptedBlock | undefined;
    const range = { from: height + 1, to: tips.all.get(link)?.next ?? height + 1, previousHash: hash };
    for await (const block of this.#fetched.from(link, range)) {
      if (this.#stopping.signal.aborted) return last;
      last = await this.#adopt(block);
      const target = (tips.all.get(link)?.next ?? 0) - 1;
      progress?.adopting(state.head.height - start, Math.max(target, state.head.height) - start);
    }
    if (last === undefined && !this.#stopping.signal.aborted) {
      tips.ask(link);
      throw new TesseraError('peer_unreachable', 'it does not have the blocks after all');
    }
    return last;
  }

  async #adopt(block: AdoptedBlock): Promise<AdoptedBlock> {
    const { state, applier } = this.#modules;
    const { height, hash, bytes, facts } = block;
    const { closing } = state;
    if (closing !== null && closing.height === height && closedHash(closing) === hash) {
      await applier.submit<'block-stored'>({ kind: 'block-stored', height, hash });
    } else {
      await this.#check.check(block);
      await applier.submit<'block-adopted'>({ kind: 'block-adopted', block: bytes, facts });
    }
    if (state.head.hash !== hash) throw new TesseraError('peer_unreachable', `block ${height} came too late`);
    return block;
  }

  #passOver(link: Link, error: unknown): void {
    const { logger, clock, tips } = this.#modules;
    if (this.#stopping.signal.aborted) return;
    const facts = { storage: link.address, reason: errorMessage(error) };
    if (isTesseraError(error) && error.details.rule === 'link') {
      logger.error(facts, 'a storage node is on another chain');
      this.#strange.set(link, tips.all.get(link)?.next ?? 0);
      return;
    }
    if (isTesseraError(error, 'block_refused'))
      logger.error(facts, 'a storage node has a block that is not valid here');
    else logger.warn(facts, 'a storage node does not give its blocks');
    const timer = clock.after(REST_MS, () => {
      this.#resting.delete(link);
      this.#proceed();
    });
    this.#resting.set(link, timer);
  }

  /** Ends the node when all storage nodes are on another chain; not while one is on this chain, or may still be heard from. */
  #suspect(): void {
    const { clock, tips } = this.#modules;
    const relations = this.#relations();
    const isAlone = relations.length > 0 && relations.every(([, relation]) => relation === 'other-chain');
    if (!isAlone || tips.isAsking) {
      this.#suspicion?.cancel();
      this.#suspicion = undefined;
      return;
    }
    const [link] = relations[0] ?? [];
    this.#suspicion ??= clock.after(OTHER_CHAIN_MS, () => {
      if (link !== undefined) this.#failure.report(otherChain(link));
    });
  }

  #forget(link: Link): void {
    this.#resting.get(link)?.cancel();
    this.#resting.delete(link);
    this.#strange.delete(link);
    this.#proceed();
  }
}

function isSame([, relation]: readonly [Link, Relation]): boolean {
  return relation === 'even' || relation === 'confirming';
}

function otherChain(link: Link): TesseraError {
  return new TesseraError(
    'other_chain',
    `the storage node ${link.address} has other blocks than this mempool node: when storage is right, make this node's state anew from its blocks (tessera rebuild --role mempool); otherwise restore the storage node's folder`,
  );
}
