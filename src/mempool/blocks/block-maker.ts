/** Drives the rounds of block making by appending commands, and judges proofs. Of several nodes at one journal only the leader does. */

import { decodeTransaction, encodeHeader } from '../../chain/codec.js';
import { coinbaseFault } from '../../chain/coinbase.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { proofOfWorkFault } from '../../chain/pow.js';
import { drawSelection, USAGE_PARTICIPANTS } from '../../chain/unicorn.js';
import { fromHex } from '../../lib/bytes.js';
import { type Timer, unixSeconds } from '../../lib/clock.js';
import { errorMessage } from '../../lib/errors.js';
import { fault, type Verdict } from '../../lib/fault.js';
import type { Metrics } from '../../observability/metrics.js';
import type { MessageBody } from '../../peers/messages.js';
import type { Link, Message, Reply } from '../../peers/network.js';
import type { MempoolParts } from '../modules.js';
import type { Round } from '../state/round.js';
import { AskedBlocks } from './asked-blocks.js';
import type { ChainSync } from './chain-sync.js';
import type { Signer } from './signer.js';

export interface BlockMakerOptions {
  /** True when a block is cut as soon as there is something to put into it, and never an empty one. */
  readonly instant: boolean;
  /** Milliseconds that must pass between two cuts, when not instant. */
  readonly blockInterval: number;
  /** Milliseconds after the first proof during which further proofs still count. */
  readonly proofWindow: number;
  /** Miners that must be linked before block 0 is cut. */
  readonly minMiners: number;
  readonly partitionSize: number;
}

export interface BlockMakerModules
  extends Pick<MempoolParts, 'applier' | 'clock' | 'leadership' | 'logger' | 'metrics' | 'network' | 'room' | 'state'> {
  readonly sync: Pick<ChainSync, 'mayCut' | 'changed'>;
  /** Signer of blocks; undefined in a network that names no producers. */
  readonly signer?: Signer | undefined;
  /** True while original nodes make the blocks of the chain. */
  readonly isFollowed: () => boolean;
  /** True while blocks are made only when somebody asks for them (dev networks). */
  readonly isMiningHeld?: (() => boolean) | undefined;
}

const MS_PER_SECOND = 1_000;
/** Milliseconds before a failed command, or a template that a full send queue did not take, is retried. */
const RETRY_MS = 2_000;
/** Milliseconds the drawn miners have for a first proof; after each such time everybody gets the template. */
const PATIENCE_MS = 60_000;

interface RoundWork {
  readonly height: number;
  /** Time when the template of the round was first sent, in milliseconds of the monotonic clock. */
  readonly startedAt: number;
  readonly sentTo: Set<string>;
  proven: boolean;
  /** True when the drawn miners have proven nothing in time: any miner that has joined may. */
  openToAll: boolean;
  windowOver: boolean;
  window: Timer | undefined;
  patience: Timer | undefined;
}

export class BlockMaker {
  readonly #options: BlockMakerOptions;
  readonly #modules: BlockMakerModules;
  readonly #isMiningHeld: () => boolean;
  readonly #metrics: ReturnType<typeof makerMetrics>;
  /** Linked miners that asked to take part, by node key, in the order of joining. */
  readonly #joined = new Map<string, Link>();
  readonly #listeners: (() => void)[] = [];
  readonly #asked = new AskedBlocks();
  /** Heights and node keys of miners whose proof is on its way through the journal. */
  readonly #proving = new Set<string>();
  #work: RoundWork | undefined;
  /** Time when this node, or another at the height `#cutElsewhere`, has cut the last block. */
  #lastCut = Number.NEGATIVE_INFINITY;
  #cutElsewhere = -1;
  #intervalTimer: Timer | undefined;
  #retryTimer: Timer | undefined;
  /** True while a command of the maker is in progress: the next decision needs its outcome. */
  #busy = false;
  #running = false;

  constructor(options: BlockMakerOptions, modules: BlockMakerModules) {
    this.#options = options;
    this.#modules = modules;
    this.#isMiningHeld = modules.isMiningHeld ?? (() => false);
    this.#metrics = makerMetrics(modules.metrics);
  }

  get miners(): readonly string[] {
    return [...this.#joined.keys()];
  }

  /** Handles messages of miners from now on and starts cutting. */
  start(): void {
    this.#running = true;
    this.#modules.network.handle('mining.join', (link) => this.#onJoin(link));
    this.#modules.network.handle('mining.proof', (link, message) => this.#onProof(link, message));
    this.#listeners.push(
      this.#modules.network.linkDown.on(({ link }) => this.#onLinkDown(link)),
      this.#modules.applier.applied.on(() => this.#proceed()),
      this.#modules.applier.adopted.on(() => this.#giveUp()),
      this.#modules.sync.changed.on(() => this.#proceed()),
      this.#modules.leadership.changed.on(() => this.#onLeadership()),
      this.#modules.room.isBack.on(() => this.#proceed()),
    );
    this.#proceed();
  }

  stop(): void {
    this.#running = false;
    this.#intervalTimer?.cancel();
    this.#retryTimer?.cancel();
    this.#endWork();
    this.#asked.end();
    for (const remove of this.#listeners.splice(0)) remove();
  }

  /** Makes `count` blocks at once, empty or not; resolves with their heights when they are cut. For dev networks. */
  makeNow(count: number): ReturnType<AskedBlocks['order']> {
    const order = this.#asked.order(count);
    this.#proceed();
    return order;
  }

  resume(): void {
    this.#proceed();
  }

  #onJoin(link: Link): Reply {
    this.#joined.set(link.nodeKey, link);
    this.#work?.sentTo.delete(link.nodeKey);
    this.#modules.logger.info({ miner: link.nodeKey, address: link.address }, 'miner joined');
    // The answer goes out first, then the template.
    setImmediate(() => this.#proceed());
    return { type: 'mining.joined', body: {} };
  }

  #onLinkDown(link: Link): void {
    if (this.#joined.get(link.nodeKey) !== link) return;
    this.#joined.delete(link.nodeKey);
    this.#work?.sentTo.delete(link.nodeKey);
    this.#modules.logger.info({ miner: link.nodeKey }, 'miner left');
    this.#proceed();
  }

  /** Takes the next step that is possible; called after every change that may allow one. */
  #proceed(): void {
    if (!this.#running || this.#busy || this.#modules.applier.problem !== null) return;
    if (!this.#modules.leadership.leads) {
      this.#watch();
      return;
    }
    const { round } = this.#modules.state;
    if (round === null) {
      if (this.#mayCut()) this.#run('cut-block', () => this.#cut());
      return;
    }
    if (round.winner !== null) return;
    this.#sendTemplates(round);
    if (round.proofs.length > 0 && this.#mayClose(round)) this.#run('close-block', () => this.#close(round));
  }

  /** Follows a change of the leader: miners get the templates of the node that leads now. */
  #onLeadership(): void {
    if (!this.#modules.leadership.leads) this.#endWork();
    this.#intervalTimer?.cancel();
    this.#proceed();
  }

  /** Notes when another node cuts a block, so that the next one is due no earlier if this node has to cut it. */
  #watch(): void {
    const height = this.#modules.state.round?.height ?? this.#modules.state.closedHeight;
    if (height <= this.#cutElsewhere) return;
    this.#cutElsewhere = height;
    this.#lastCut = this.#modules.clock.monotonic();
  }

  #isOpenElsewhere(height: number): boolean {
    const isCutElsewhere = !this.#modules.leadership.leads && this.#cutElsewhere === height;
    return isCutElsewhere && this.#modules.clock.monotonic() - this.#lastCut >= PATIENCE_MS;
  }

  /** Runs one command at a time: the next decision needs the outcome of the last. */
  #run(name: string, command: () => Promise<unknown>): void {
    const next = (): void => {
      this.#busy = false;
      this.#proceed();
    };
    this.#busy = true;
    command().then(next, (error: unknown) => {
      if (!this.#running) return;
      this.#modules.logger.error({ command: name, err: error }, `${name} failed: ${errorMessage(error)}`);
      this.#retryTimer?.cancel();
      this.#retryTimer = this.#modules.clock.after(RETRY_MS, next);
    });
  }

  #mayCut(): boolean {
    // A round that has begun is carried to its end, so a low disk only stops new ones.
    if (this.#modules.isFollowed() || this.#joined.size === 0 || !this.#modules.sync.mayCut || this.#modules.room.isLow)
      return false;
    // No transaction can be admitted before block 0 is stored.
    if (this.#modules.state.head.height < 0)
      return this.#modules.state.closing === null && this.#joined.size >= this.#options.minMiners;
    if (this.#asked.isDue) return true;
    if (this.#isMiningHeld()) return false;
    if (this.#options.instant) return this.#modules.state.ready > 0;
    const wait = this.#lastCut + this.#options.blockInterval - this.#modules.clock.monotonic();
    if (wait <= 0 || this.#modules.state.beginsRound) return true;
    this.#intervalTimer?.cancel();
    this.#intervalTimer = this.#modules.clock.after(wait, () => this.#proceed());
    return false;
  }

  async #cut(): Promise<void> {
    const started = this.#modules.clock.monotonic();
    this.#lastCut = started;
    const round = await this.#modules.applier.submit<'cut-block'>({
      kind: 'cut-block',
      height: this.#modules.state.closedHeight + 1,
      time: unixSeconds(this.#modules.clock),
      miners: this.miners,
    });
    if (round === null) return;
    this.#asked.cut(round.height);
    const ms = this.#modules.clock.monotonic() - started;
    const { height, transactions } = round;
    this.#metrics.templateSeconds.observe(ms / MS_PER_SECOND);
    this.#metrics.templateTransactions.set(transactions.length);
    this.#modules.logger.info(
      { height, transactions: transactions.length, ms: Math.round(ms) },
      `block ${height} cut with ${transactions.length} transactions`,
    );
  }

  /** The miners that work on a round: those drawn for it, a new draw when none of them is linked, or all. */
  #selected(round: Round): readonly string[] {
    if (this.#work?.openToAll && this.#work.height === round.height) return this.miners;
    const present = round.participants.filter((miner) => this.#joined.has(miner));
    if (present.length > 0) return present;
    return drawSelection([...this.miners], this.#options.partitionSize, round.draw, USAGE_PARTICIPANTS);
  }

  #sendTemplates(round: Round): void {
    const work = this.#work?.height === round.height ? this.#work : this.#beginWork(round.height);
    const proven = new Set(round.proofs.map((proof) => proof.miner));
    const body = this.#templateBody(round);
    for (const miner of this.#selected(round)) {
      if (work.sentTo.has(miner) || proven.has(miner)) continue;
      const sent = this.#joined.get(miner)?.send('mining.template', body, encodeHeader(round.header)) ?? false;
      if (sent) work.sentTo.add(miner);
      else this.#sendAgain(miner, round.height);
    }
  }

  /** Body of a template, with the certificate of the block before, so that a miner knows that it works on top of the chain. */
  #templateBody({ height, reward, header: { previousHash } }: Round): MessageBody<'mining.template'> {
    const body = { block_num: height, reward: reward.toString() };
    if (previousHash === null || this.#modules.signer === undefined) return body;
    return { ...body, previous: this.#modules.signer.block({ height: height - 1, hash: previousHash }) };
  }

  #beginWork(height: number): RoundWork {
    this.#endWork();
    this.#work = {
      height,
      startedAt: this.#modules.clock.monotonic(),
      sentTo: new Set(),
      proven: false,
      openToAll: false,
      windowOver: false,
      window: undefined,
      patience: undefined,
    };
    this.#waitForProofs(this.#work);
    return this.#work;
  }

  /** Ends the work on a block because storage has another one at its height. */
  #giveUp(): void {
    if (this.#work === undefined) return;
    const { height, sentTo } = this.#work;
    for (const miner of sentTo) this.#joined.get(miner)?.send('mining.stop', { block_num: height });
    this.#endWork();
  }

  #endWork(): void {
    this.#work?.window?.cancel();
    this.#work?.patience?.cancel();
    this.#work = undefined;
  }

  #sendAgain(miner: string, height: number): void {
    this.#modules.logger.warn(
      { miner, height },
      'a miner was not sent its template: its send queue is full, or its link is closing',
    );
    this.#retryTimer?.cancel();
    this.#retryTimer = this.#modules.clock.after(RETRY_MS, () => this.#proceed());
  }

  /** Opens the round to all miners after a while: silent miners, lost templates and lost proofs must not stop the chain. */
  #waitForProofs(work: RoundWork): void {
    work.patience = this.#modules.clock.after(PATIENCE_MS, () => {
      const { round } = this.#modules.state;
      if (!this.#running || round === null || round.height !== work.height || round.proofs.length > 0) return;
      work.openToAll = true;
      work.sentTo.clear();
      const miners = this.#joined.size;
      if (miners > 0) {
        this.#modules.logger.warn(
          { height: work.height, miners },
          `nobody has proven block ${work.height} yet: its template goes to all ${miners} miners`,
        );
      }
      this.#waitForProofs(work);
      this.#proceed();
    });
  }

  #mayClose(round: Round): boolean {
    const work = this.#work;
    if (work === undefined) return false;
    const proven = new Set(round.proofs.map((proof) => proof.miner));
    if (work.windowOver || this.#selected(round).every((miner) => proven.has(miner))) return true;
    work.window ??= this.#modules.clock.after(this.#options.proofWindow, () => {
      work.windowOver = true;
      this.#proceed();
    });
    return false;
  }

  async #close(round: Round): Promise<void> {
    const { height } = round;
    const closed = await this.#modules.applier.submit<'close-block'>({ kind: 'close-block', height });
    if (closed === null) return;
    for (const miner of this.#work?.sentTo ?? []) this.#joined.get(miner)?.send('mining.stop', { block_num: height });
    this.#modules.logger.info({ height, proofs: closed.proofs.length }, `block ${height} closed`);
  }

  async #onProof(link: Link, { body, attachment }: Message<'mining.proof'>): Promise<Reply> {
    const refusal = await this.#takeProof(link.nodeKey, body.block_num, fromHex(body.nonce), attachment);
    this.#measureProof(body.block_num, refusal === null);
    const reason = refusal?.message ?? '';
    const level = isUsual(refusal, this.#modules.leadership.leads) ? 'debug' : 'warn';
    if (refusal !== null) this.#modules.logger[level]({ miner: link.nodeKey, reason }, 'proof refused');
    return { type: 'mining.verdict', body: { accepted: refusal === null, reason } };
  }

  /** Counts a proof, or says why not. A miner may send one proof per round: further ones never reach the journal. */
  async #takeProof(miner: string, height: number, nonce: Uint8Array, coinbase: Uint8Array): Promise<Verdict> {
    const { round } = this.#modules.state;
    if (round === null || round.winner !== null || round.height !== height) return NOT_MINED_NOW;
    const work = this.#work?.height === height ? this.#work : undefined;
    const isSelected = work?.sentTo.has(miner) || this.#selected(round).includes(miner);
    if (!isSelected && !this.#isOpenElsewhere(height)) return NOT_SELECTED;
    const proving = `${height} ${miner}`;
    if (this.#proving.has(proving) || round.proofs.some((proof) => proof.miner === miner)) return NOT_MINED_NOW;
    const wrong = proofFault(round, nonce, coinbase);
    if (wrong !== null) return wrong;
    this.#proving.add(proving);
    try {
      const counts = await this.#modules.applier.submit<'proof'>({ kind: 'proof', height, miner, nonce, coinbase });
      return counts ? null : NOT_MINED_NOW;
    } finally {
      this.#proving.delete(proving);
    }
  }

  #measureProof(height: number, accepted: boolean): void {
    (accepted ? this.#metrics.accepted : this.#metrics.refused).inc();
    const work = this.#work;
    if (!accepted || work?.height !== height || work.proven) return;
    work.proven = true;
    this.#metrics.proofWaitSeconds.observe((this.#modules.clock.monotonic() - work.startedAt) / MS_PER_SECOND);
  }
}

function makerMetrics(metrics: Metrics) {
  return {
    templateSeconds: metrics.histogram('tessera_mempool_template_duration_seconds'),
    templateTransactions: metrics.gauge('tessera_mempool_template_transactions'),
    proofWaitSeconds: metrics.histogram('tessera_mempool_proof_wait_seconds'),
    accepted: metrics.counter('tessera_mempool_proofs_total', 'accepted'),
    refused: metrics.counter('tessera_mempool_proofs_total', 'refused'),
  };
}

const NOT_MINED_NOW = fault('block_refused', 'Not block currently mined');
const NOT_SELECTED = fault('block_refused', 'Not a selected participant of this block');

/** True for usual refusals: in each round some proofs come late or twice, and followers get proofs that all may send. */
function isUsual(refusal: Verdict, leads: boolean): boolean {
  return refusal === NOT_MINED_NOW || (refusal === NOT_SELECTED && !leads);
}

/** Judges nonce and coinbase (encoded) of a proof for the round. Throws when the coinbase cannot be decoded. */
function proofFault(round: Round, nonce: Uint8Array, coinbase: Uint8Array): Verdict {
  const unpaid = coinbaseFault(decodeTransaction(coinbase), BigInt(round.height), round.reward);
  if (unpaid !== null) return fault('block_refused', `Coinbase transaction invalid: ${unpaid.message}`);
  const weak = proofOfWorkFault({ ...round.header, nonce, miningTxHash: transactionHashOfBytes(coinbase) });
  return weak === null ? null : fault('block_refused', `Invalid PoW for block: ${weak.message}`);
}
