/**
 * Hands closed blocks to storage until one storage node has confirmed them, and only then lets the chain go on
 * (architecture §3.5). The block is part of the state, so after a restart the delivery goes on by itself. Every linked
 * storage node gets the block; the first that has it on disk counts, the others may be catching up.
 */

import type { Clock, Timer } from '../../lib/clock.js';
import { errorMessage } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import type { Link, Message, PeerNetwork } from '../../peers/network.js';
import type { Applier } from '../state/applier.js';
import { closedBlockBytes, closedHash, type Round } from '../state/round.js';
import type { MempoolState } from '../state/state.js';

/** Milliseconds until a block that nobody confirmed is sent again. */
const RETRY_MS = 2_000;
/** Milliseconds that a storage node has for its answer: a full block may take seconds to check on a slow disk. */
const ANSWER_MS = 60_000;

export interface BlockSender {
  start(): void;
  stop(): void;
  /** Why the closed block is not stored though a storage node was asked; empty while there is nothing to say. */
  readonly problem: string;
}

export function createBlockSender(modules: {
  readonly state: MempoolState;
  readonly applier: Applier;
  readonly network: PeerNetwork;
  readonly clock: Clock;
  readonly logger: Logger;
}): BlockSender {
  const { state, applier, network, clock, logger } = modules;
  /** Links that have been sent the block under way and have not answered yet. */
  const asked = new Set<Link>();
  let running = false;
  let retry: Timer | undefined;
  let confirming = false;
  let problem: { readonly height: number; readonly text: string } | undefined;
  const listeners: (() => void)[] = [];

  function proceed(): void {
    const { round } = state;
    if (!running || round === null || round.winner === null || confirming) return;
    const links = [...network.links].filter((link) => link.role === 'storage' && link.trusted && !asked.has(link));
    if (links.length === 0) return;
    const hash = closedHash(round);
    const bytes = closedBlockBytes(round);
    for (const link of links) void deliver(link, round, hash, bytes);
  }

  async function deliver(link: Link, round: Round, hash: string, bytes: Uint8Array): Promise<void> {
    asked.add(link);
    try {
      const answer = await link.request(
        'block.deliver',
        { block_num: round.height, hash },
        { attachment: bytes, timeoutMs: ANSWER_MS },
      );
      if (answer.type === 'block.stored') await confirm(round, hash);
      else tryAgain(round, link, refusalOf(answer));
    } catch (error) {
      tryAgain(round, link, errorMessage(error));
    } finally {
      asked.delete(link);
      // It was left out of the delivery of the next block while it was busy with this one.
      if (!isCurrent(round)) proceed();
    }
  }

  async function confirm(round: Round, hash: string): Promise<void> {
    if (!isCurrent(round) || confirming) return;
    confirming = true;
    try {
      await applier.submit<'block-stored'>({ kind: 'block-stored', height: round.height, hash });
    } finally {
      confirming = false;
      proceed();
    }
  }

  function tryAgain(round: Round, link: Link, reason: string): void {
    if (!running || !isCurrent(round)) return;
    logger.warn({ height: round.height, storage: link.address, reason }, `block ${round.height} is not stored yet`);
    problem = { height: round.height, text: `block ${round.height} is not stored: ${link.address}: ${reason}` };
    retry?.cancel();
    retry = clock.after(RETRY_MS, proceed);
  }

  function isCurrent(round: Round): boolean {
    return state.round !== null && state.round.height === round.height;
  }

  return {
    get problem() {
      return problem !== undefined && problem.height === state.round?.height ? problem.text : '';
    },
    start() {
      running = true;
      listeners.push(applier.applied.on(proceed), network.linkUp.on(proceed));
      proceed();
    },
    stop() {
      running = false;
      retry?.cancel();
      for (const remove of listeners) remove();
    },
  };
}

function refusalOf(answer: Message): string {
  if (answer.type === 'block.refused') return (answer as Message<'block.refused'>).body.reason;
  return `it answered ${answer.type}`;
}
