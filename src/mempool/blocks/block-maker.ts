/**
 * Drives the rounds of block making: when to cut, which miners work, which proofs count, when to close. It decides nothing
 * about the state itself; it appends commands and reacts to what comes of them, so after a restart it goes on from
 * whatever round the state holds.
 */

import { decodeTransaction, encodeHeader } from '../../chain/codec.js';
import { coinbaseFault } from '../../chain/coinbase.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import { proofOfWorkFault } from '../../chain/pow.js';
import { drawSelection, USAGE_PARTICIPANTS } from '../../chain/unicorn.js';
import { fromHex } from '../../lib/bytes.js';
import { type Clock, type Timer, unixSeconds } from '../../lib/clock.js';
import { errorMessage } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { Link, Message, PeerNetwork, Reply } from '../../peers/network.js';
import type { MempoolObserver } from '../observer.js';
import type { Applier } from '../state/applier.js';
import type { Round } from '../state/round.js';
import type { MempoolState } from '../state/state.js';

export interface BlockMakerOptions {
  /** Cut as soon as there is something to put into a block, and never an empty one. */
  readonly instant: boolean;
  /** Milliseconds between two cuts when not instant. */
  readonly blockInterval: number;
  /** Milliseconds after the first proof in which others still count. */
  readonly proofWindow: number;
  /** Miners that must be linked before block 0 is cut. */
  readonly minMiners: number;
  readonly partitionSize: number;
}

export interface BlockMaker {
  /** Handles messages of miners from now on and starts cutting. */
  start(): void;
  /** Node keys of the miners that have joined. */
  readonly miners: readonly string[];
  stop(): void;
}

const MS_PER_SECOND = 1_000;
/** Milliseconds until what failed is tried again: a command, or a template that a full send queue did not take. */
const RETRY_MS = 2_000;
/** Milliseconds that the drawn miners have for a first proof; then everybody gets the template, and every time again. */
const PATIENCE_MS = 60_000;

const REFUSED = {
  round: 'Not block currently mined',
  coinbase: 'Coinbase transaction invalid',
  proof: 'Invalid PoW for block',
  miner: 'Not a selected participant of this block',
} as const;

export function createBlockMaker(
  options: BlockMakerOptions,
  modules: {
    readonly state: MempoolState;
    readonly applier: Applier;
    readonly network: PeerNetwork;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly observer?: MempoolObserver | undefined;
  },
): BlockMaker {
  const { state, applier, network, clock, logger, observer } = modules;
  /** Linked miners that asked to take part, by node key, in the order they came. */
  const joined = new Map<string, Link>();
  /** Who has got the template of the round under way. */
  let told = new Set<string>();
  let toldHeight = -1;
  let lastCut = Number.NEGATIVE_INFINITY;
  let intervalTimer: Timer | undefined;
  let windowTimer: Timer | undefined;
  let windowOver = false;
  let patience: Timer | undefined;
  /** The drawn miners prove nothing: whoever has joined may. */
  let openToAll = false;
  let retryTimer: Timer | undefined;
  let busy = false;
  let running = false;
  const listeners: (() => void)[] = [];

  /** Does the next thing that can be done; called after everything that may have changed something. */
  function proceed(): void {
    if (!running || busy) return;
    const { round } = state;
    if (round === null) {
      if (mayCut()) command('cut-block', cut);
      return;
    }
    if (round.winner !== null) return;
    tellMiners(round);
    if (round.proofs.length > 0 && mayClose(round)) command('close-block', () => close(round));
  }

  /** One command at a time: the next decision needs the outcome of the last. */
  function command(name: string, run: () => Promise<unknown>): void {
    const next = (): void => {
      busy = false;
      proceed();
    };
    busy = true;
    run().then(next, (error: unknown) => {
      if (!running) return;
      logger.error({ command: name, err: error }, `${name} failed: ${errorMessage(error)}`);
      retryTimer?.cancel();
      retryTimer = clock.after(RETRY_MS, next);
    });
  }

  function mayCut(): boolean {
    if (joined.size === 0) return false;
    if (state.head.height < 0) return joined.size >= options.minMiners;
    if (options.instant) return state.ready > 0;
    const wait = lastCut + options.blockInterval - clock.monotonic();
    if (wait <= 0) return true;
    intervalTimer?.cancel();
    intervalTimer = clock.after(wait, proceed);
    return false;
  }

  async function cut(): Promise<void> {
    const started = clock.monotonic();
    lastCut = started;
    const round = await applier.submit<'cut-block'>({
      kind: 'cut-block',
      time: unixSeconds(clock),
      miners: [...joined.keys()],
    });
    if (round === null) return;
    observer?.templateCut(round.transactions.length, (clock.monotonic() - started) / MS_PER_SECOND);
    logger.info(
      { height: round.height, transactions: round.transactions.length, ms: Math.round(clock.monotonic() - started) },
      `block ${round.height} cut with ${round.transactions.length} transactions`,
    );
  }

  /** The miners that work on a round: those drawn for it, a new draw when none of them is left, or all. */
  function selected(round: Round): string[] {
    if (openToAll && toldHeight === round.height) return [...joined.keys()];
    const present = round.participants.filter((miner) => joined.has(miner));
    if (present.length > 0) return present;
    return drawSelection([...joined.keys()], options.partitionSize, round.draw, USAGE_PARTICIPANTS);
  }

  function tellMiners(round: Round): void {
    if (toldHeight !== round.height) {
      told = new Set();
      toldHeight = round.height;
      observer?.templateSent(round.height);
      windowOver = false;
      windowTimer?.cancel();
      windowTimer = undefined;
      openToAll = false;
      bePatient(round.height);
    }
    const proven = new Set(round.proofs.map((proof) => proof.miner));
    for (const miner of selected(round)) {
      if (told.has(miner) || proven.has(miner)) continue;
      const body = { block_num: round.height, reward: round.reward.toString() };
      if (joined.get(miner)?.send('mining.template', body, encodeHeader(round.header))) told.add(miner);
      else sendAgain(miner, round.height);
    }
  }

  function sendAgain(miner: string, height: number): void {
    logger.warn({ miner, height }, 'a miner was not sent its template: its send queue is full, or its link is closing');
    retryTimer?.cancel();
    retryTimer = clock.after(RETRY_MS, proceed);
  }

  /** A miner that is silent, or whose template or proof was lost, must not stop the chain. */
  function bePatient(height: number): void {
    patience?.cancel();
    patience = clock.after(PATIENCE_MS, () => {
      const { round } = state;
      if (!running || round === null || round.height !== height || round.proofs.length > 0) return;
      openToAll = true;
      told = new Set();
      if (joined.size > 0) {
        logger.warn(
          { height, miners: joined.size },
          `nobody has proven block ${height} yet: its template goes to all ${joined.size} miners`,
        );
      }
      bePatient(height);
      proceed();
    });
  }

  function mayClose(round: Round): boolean {
    const proven = new Set(round.proofs.map((proof) => proof.miner));
    if (windowOver || selected(round).every((miner) => proven.has(miner))) return true;
    windowTimer ??= clock.after(options.proofWindow, () => {
      windowOver = true;
      proceed();
    });
    return false;
  }

  async function close(round: Round): Promise<void> {
    const closed = await applier.submit<'close-block'>({ kind: 'close-block', height: round.height });
    if (closed === null) return;
    for (const miner of told) joined.get(miner)?.send('mining.stop', { block_num: round.height });
    observer?.blockClosed(round.height);
    logger.info({ height: round.height, proofs: closed.proofs.length }, `block ${round.height} closed`);
  }

  async function onProof(link: Link, message: Message<'mining.proof'>): Promise<Reply> {
    const reason = await takeProof(link, message);
    observer?.proofJudged(message.body.block_num, reason === '');
    if (reason !== '') logger.warn({ miner: link.nodeKey, reason }, 'proof refused');
    return { type: 'mining.verdict', body: { accepted: reason === '', reason } };
  }

  /** The reason of the refusal, '' when the proof counts. */
  async function takeProof(link: Link, { body, attachment }: Message<'mining.proof'>): Promise<string> {
    const { round } = state;
    if (round === null || round.winner !== null || round.height !== body.block_num) return REFUSED.round;
    const wasTold = toldHeight === round.height && told.has(link.nodeKey);
    if (!wasTold && !selected(round).includes(link.nodeKey)) return REFUSED.miner;
    const nonce = fromHex(body.nonce);
    const fault = coinbaseFault(decodeTransaction(attachment), BigInt(round.height), round.reward);
    if (fault !== null) return `${REFUSED.coinbase}: ${fault.message}`;
    const header = { ...round.header, nonce, miningTxHash: transactionHashOfBytes(attachment) };
    const weak = proofOfWorkFault(header);
    if (weak !== null) return `${REFUSED.proof}: ${weak.message}`;
    const counted = await applier.submit<'proof'>({
      kind: 'proof',
      height: round.height,
      miner: link.nodeKey,
      nonce,
      coinbase: attachment,
    });
    return counted ? '' : REFUSED.round;
  }

  return {
    get miners() {
      return [...joined.keys()];
    },
    start() {
      running = true;
      network.handle('mining.join', (link) => {
        joined.set(link.nodeKey, link);
        told.delete(link.nodeKey);
        logger.info({ miner: link.nodeKey, address: link.address }, 'miner joined');
        // The answer goes out first, then the template.
        setImmediate(proceed);
        return { type: 'mining.joined', body: {} };
      });
      network.handle('mining.proof', onProof);
      listeners.push(
        network.linkDown.on(({ link }) => {
          if (joined.get(link.nodeKey) !== link) return;
          joined.delete(link.nodeKey);
          told.delete(link.nodeKey);
          logger.info({ miner: link.nodeKey }, 'miner left');
          proceed();
        }),
        applier.applied.on(proceed),
      );
      proceed();
    },
    stop() {
      running = false;
      intervalTimer?.cancel();
      windowTimer?.cancel();
      patience?.cancel();
      retryTimer?.cancel();
      for (const remove of listeners) remove();
    },
  };
}
