/**
 * All services of a storage node, put together: the archive, its answers to other nodes, catching up, and telling other
 * storage nodes about each block.
 */

import type { Producers } from '../chain/certificate.js';
import { endlessRoom, type Room } from '../db/disk-room.js';
import { TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { Failure, type Service } from '../lib/service.js';
import type { Signal } from '../lib/signal.js';
import { DoubleSigning } from '../observability/double-signing.js';
import { noMetrics } from '../observability/metrics.js';
import type { HasClock, HasLogger, HasMetrics } from '../observability/modules.js';
import type { Link, PeerNetwork } from '../peers/network.js';
import type { Archive, StoredBlockName } from './archive/archive.js';
import { parseEntryKey } from './archive/layout.js';
import { BlockReceiver, tipBody } from './blocks/block-receiver.js';
import { CatchUp, type CatchUpOptions, type CatchUpProgress } from './blocks/catch-up.js';
import { MempoolTips } from './blocks/mempool-tips.js';
import type { StorageService } from './service.js';

/** Number of missing blocks from which a node counts as far behind; with fewer it is only a little late. */
const FAR_BEHIND = 16;

export interface StorageServiceOptions {
  readonly catchUp?: Omit<CatchUpOptions, 'producers'>;
  /** Signers of blocks; undefined in a network that names none. */
  readonly producers?: Producers | undefined;
}

export interface StorageServiceModules extends HasClock, HasLogger, Partial<HasMetrics> {
  readonly archive: Archive;
  /** Network that is not started yet: the service sets its handlers when it is made. */
  readonly network: Pick<PeerNetwork, 'handle' | 'links' | 'linkUp' | 'linkDown'>;
  /** Room on the disk; unlimited when left out. */
  readonly room?: Room;
}

export class RunningStorageService implements StorageService, Service {
  readonly #archive: Archive;
  readonly #room: Room;
  readonly #network: StorageServiceModules['network'];
  readonly #logger: Logger;
  readonly #catchUp: CatchUp;
  /** True once all blocks that could be fetched were here. */
  #hadAll = false;
  readonly #mempoolTips: MempoolTips;
  readonly #failure = new Failure();
  readonly #subscriptions: (() => void)[] = [];

  constructor(options: StorageServiceOptions, modules: StorageServiceModules) {
    const { archive, network, clock, logger, metrics = noMetrics, room = endlessRoom } = modules;
    const doubleSigning = new DoubleSigning({ logger, metrics });
    this.#archive = archive;
    this.#room = room;
    this.#network = network;
    this.#logger = logger;
    const { producers } = options;
    this.#catchUp = new CatchUp({ ...options.catchUp, producers }, { ...modules, doubleSigning });
    const onBehind = (): void => this.#catchUp.lookAround();
    this.#mempoolTips = new MempoolTips({ archive, network, clock, logger, onBehind });
    archive.failed.on(this.#failure.report);
    new BlockReceiver({
      archive,
      room,
      producers,
      network,
      clock,
      logger,
      metrics,
      doubleSigning,
      onBehind(height) {
        logger.warn({ height, next: archive.nextHeight }, 'the mempool is ahead of this archive');
        onBehind();
      },
      onFailed: () => this.tellMempools(),
      onDelivered: (link, height) => this.#mempoolTips.delivered(link, height),
      onTip: (link, tip) => {
        if (link.role === 'storage') this.#catchUp.hear(link, tip);
        else this.#mempoolTips.hear(link, tip);
      },
    });
  }

  /** Begins to catch up with linked storage nodes and to tell them of blocks. */
  async start(): Promise<void> {
    this.#subscriptions.push(
      this.#archive.blockStored.on(({ height, hash, transactions }) => {
        // While this node catches up, others know these blocks, and progress is logged; others are told once it is done.
        if (this.catchingUp !== undefined) return;
        this.#logger.info({ height, hash, transactions }, `block ${height} stored`);
        this.#announce();
      }),
      this.#catchUp.idle.on(() => {
        this.#hadAll = true;
        this.#announce();
        // The mempool does not know that a fetched block is stored, since none of its nodes delivered it.
        this.tellMempools();
      }),
      this.#room.ranLow.on(() => this.tellMempools()),
      this.#room.isBack.on(() => this.tellMempools()),
    );
    this.#catchUp.start();
    this.#mempoolTips.start();
  }

  /** Ends work under way; the archive's database stays open. */
  async stop(): Promise<void> {
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe();
    this.#mempoolTips.stop();
    await this.#catchUp.stop();
  }

  /** Rejects when stored data fails its checks, or a block could not be written: the node must stop and show the error (rule P3). */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Number of blocks stored. */
  get nextHeight(): number {
    return this.#archive.nextHeight;
  }

  get blockStored(): Signal<StoredBlockName> {
    return this.#archive.blockStored;
  }

  /**
   * Progress; undefined when no blocks are being fetched, and for a mirror: a node that had all blocks and gets each new one from
   * another storage node, a moment after it was made there.
   */
  get catchingUp(): CatchUpProgress | undefined {
    const { current } = this.#catchUp;
    return this.#hadAll && current !== undefined && current.target - current.height < FAR_BEHIND ? undefined : current;
  }

  get catchUpProgress(): Signal<CatchUpProgress> {
    return this.#catchUp.progress;
  }

  /** Fires when there is nothing more to fetch for now. */
  get caughtUp(): Signal<CatchUpProgress> {
    return this.#catchUp.idle;
  }

  /** Why the archive is not what the mempool node expects; null when it is. */
  get problem(): string | null {
    return this.#archive.problem ?? this.#mempoolTips.problem;
  }

  /**
   * Reads an entry. While the archive is healed or loaded, an absent entry is no answer, because other nodes may have it. This
   * and the next three methods throw `archive_incomplete` then.
   */
  async entry(key: string): ReturnType<StorageService['entry']> {
    const parsed = parseEntryKey(key);
    if (parsed.kind === 'last') this.#refuseWhileHealing();
    const entry = await this.#archive.entry(key);
    if (entry === undefined) this.#refuseIfIncomplete('height' in parsed ? parsed.height : undefined);
    return entry;
  }

  async blockAt(height: number): ReturnType<StorageService['blockAt']> {
    const block = await this.#archive.blockAt(height);
    if (block === undefined) this.#refuseIfIncomplete(height);
    return block;
  }

  async latest(): ReturnType<StorageService['latest']> {
    this.#refuseWhileHealing();
    return this.#archive.latest();
  }

  async item(genesisHash: string): ReturnType<StorageService['item']> {
    // The total of an item grows with blocks that are not here yet.
    this.#refuseWhileHealing();
    const item = await this.#archive.item(genesisHash);
    if (item === undefined) this.#refuseIfIncomplete();
    return item;
  }

  verify(...args: Parameters<Archive['verify']>): ReturnType<Archive['verify']> {
    return this.#archive.verify(...args);
  }

  /** Throws when the block at a height is known to be missing here; without a height, when any block is: it may hold the answer. */
  #refuseIfIncomplete(height = this.#archive.nextHeight): void {
    const { catchingUp } = this;
    const isFar = catchingUp !== undefined && catchingUp.target - catchingUp.height >= FAR_BEHIND;
    const target = Math.max(this.#archive.nextHeight + this.#archive.ahead, isFar ? catchingUp.target : 0);
    if (height >= this.#archive.nextHeight && height < target) throw this.#incomplete(target);
  }

  #refuseWhileHealing(): void {
    const { nextHeight, ahead } = this.#archive;
    if (ahead > 0) throw this.#incomplete(nextHeight + ahead);
  }

  #incomplete(target: number): TesseraError {
    const has = `it has ${this.#archive.nextHeight} of ${target} blocks`;
    return new TesseraError('archive_incomplete', `The archive is being made whole: ${has}. Try again later.`);
  }

  /** Tells mempool nodes the last block of this archive, when a block has come from elsewhere. */
  tellMempools(): void {
    for (const link of this.#network.links) if (link.role === 'mempool' && link.trusted) this.#tell(link);
  }

  #tell(link: Link): void {
    link.send('chain.tip', tipBody(link, { archive: this.#archive, room: this.#room }));
  }

  #announce(): void {
    for (const link of this.#network.links) {
      // A tip without proof is of use only to nodes of this operator.
      const isOfUse = link.trusted || this.#archive.tipCertificate !== undefined;
      if (link.role === 'storage' && isOfUse) this.#tell(link);
    }
  }
}
