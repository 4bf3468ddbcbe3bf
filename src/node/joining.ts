/**
 * How a mempool node comes to a state with which it can read a journal that others have written before it: it takes the state
 * of another mempool node when its own is missing, is half of one, or ends before the journal begins
 * (docs/adr/0042-snapshots-and-trimming.md).
 */

import type { Kv } from '../db/kv.js';
import type { Clock } from '../lib/clock.js';
import { createDeferred } from '../lib/deferred.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { beginTaking, endTaking, isBeingTaken } from '../mempool/replicas/copied-records.js';
import { takeSnapshot } from '../mempool/replicas/take-snapshot.js';
import { keys } from '../mempool/state/layout.js';
import { decodeHead } from '../mempool/state/records.js';
import type { Link, PeerNetwork } from '../peers/network.js';

/** Milliseconds that another node has to open a link. */
const DIAL_MS = 10_000;
/** Milliseconds until the others are asked again. */
const PAUSE_MS = 2_000;
const MIB = 1024 * 1024;

export interface JoiningModules {
  readonly kv: Kv;
  /** Asks where the journal begins and ends. What is there is kept until the state of this node has it. */
  readonly join: () => Promise<number>;
  readonly network: Pick<PeerNetwork, 'dial'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class Joining {
  readonly #peers: readonly string[];
  readonly #modules: JoiningModules;
  readonly #stopping = new AbortController();
  #isTaking = false;
  #problem: string | null = null;

  /** `peers`: where the other mempool nodes are. */
  constructor(peers: readonly string[], modules: JoiningModules) {
    this.#peers = peers;
    this.#modules = modules;
  }

  /** What the node waits for; null when it is nothing. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Resolves when the database has a state that the journal goes on from, or will say by itself why not. */
  async run(): Promise<void> {
    const { kv, join } = this.#modules;
    const base = await join();
    const isHalf = await isBeingTaken(kv);
    const seq = isHalf ? 0 : await this.#seq();
    if (seq + 1 >= base) {
      // The journal still has everything from the first command on.
      if (isHalf) await beginTaking(kv);
      this.#isTaking = isHalf;
      return;
    }
    if (this.#peers.length === 0) {
      if (!isHalf) return;
      throw new TesseraError(
        'data_corrupt',
        'the state of this node was being taken from another mempool node, and peers.mempool names none any more; name one, or run tessera rebuild',
      );
    }
    this.#isTaking = true;
    await this.#take(base);
  }

  /** The state was read and found whole. */
  async done(): Promise<void> {
    if (this.#isTaking) await endTaking(this.#modules.kv);
    this.#isTaking = false;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #seq(): Promise<number> {
    const head = await this.#modules.kv.get(keys.head);
    return head === undefined ? 0 : decodeHead(head).seq;
  }

  /** Asks one mempool node after the other until one has given its state. */
  async #take(base: number): Promise<void> {
    const { kv, clock, logger } = this.#modules;
    const { signal } = this.#stopping;
    this.#problem = 'this node has no state that the journal goes on from, and asks another mempool node for its own';
    logger.warn({ base, peers: this.#peers }, this.#problem);
    for (let at = 0; ; at++) {
      const peer = this.#peers[at % this.#peers.length] ?? '';
      try {
        await takeSnapshot(kv, {
          link: () => this.#link(peer),
          signal,
          onProgress: (bytes) => this.#show(peer, bytes),
        });
        const seq = await this.#seq();
        if (seq + 1 < base)
          throw new TesseraError('peer_unreachable', `its state ends at command ${seq}, before ${base}`);
        await this.#modules.join();
        logger.info({ peer, seq }, 'the state of another mempool node is here');
        this.#problem = null;
        return;
      } catch (error) {
        if (signal.aborted) throw new TesseraError('shutting_down', 'the node is stopping');
        if (!isTesseraError(error) || isTesseraError(error, 'database_failed')) throw error;
        this.#problem = `no mempool node has given its state yet; ${peer}: ${errorMessage(error)}`;
        logger.warn({ peer, err: error }, 'a mempool node does not give its state');
      }
      if ((at + 1) % this.#peers.length === 0) await this.#pause(clock);
    }
  }

  async #link(peer: string): Promise<Link> {
    const link = await this.#modules.network.dial(peer, { timeoutMs: DIAL_MS, signal: this.#stopping.signal });
    if (link.role === 'mempool' && link.trusted) return link;
    throw new TesseraError('link_refused', `${peer} is no mempool node with the same network.secret`);
  }

  #show(peer: string, bytes: number): void {
    this.#problem = `the state of the mempool node ${peer} is being taken: ${Math.floor(bytes / MIB)} MiB so far`;
  }

  async #pause(clock: Clock): Promise<void> {
    const { signal } = this.#stopping;
    const over = createDeferred<void>();
    const timer = clock.after(PAUSE_MS, over.resolve);
    const wake = (): void => over.resolve();
    signal.addEventListener('abort', wake);
    await over.promise;
    signal.removeEventListener('abort', wake);
    timer.cancel();
  }
}
