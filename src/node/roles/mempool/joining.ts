/**
 * A mempool node joins a journal with entries: with its own state, another node's, or one from storage
 * (docs/adr/0042-snapshots-and-trimming.md, docs/adr/0048-a-state-from-storage.md).
 */

import type { Kv } from '../../../db/kv.js';
import type { LastEntry } from '../../../journal/journal.js';
import { pauseUntil } from '../../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../../lib/errors.js';
import { beginTaking, endTaking, isBeingTaken } from '../../../mempool/replicas/snapshot-records.js';
import { takeSnapshot } from '../../../mempool/replicas/take-snapshot.js';
import { keys } from '../../../mempool/state/layout.js';
import { decodeHead, encodeHead } from '../../../mempool/state/records.js';
import type { HasClock, HasLogger } from '../../../observability/modules.js';
import type { Link, PeerNetwork } from '../../../peers/network.js';
import type { FromStorage } from './from-storage.js';

const DIAL_MS = 10_000;
/** Milliseconds until the other mempool nodes are asked again. */
const PAUSE_MS = 2_000;
/** Milliseconds of asking other mempool nodes in vain before storage is asked. */
const PATIENCE_MS = 60_000;
const MIB = 1024 * 1024;

export interface JoiningModules extends HasClock, HasLogger {
  readonly kv: Kv;
  /** Begins the journal behind the last entry of a state; resolves with its bounds. Throws `data_corrupt` when that entry is lost. */
  readonly join: (last: LastEntry) => Promise<{ readonly base: number; readonly last: LastEntry }>;
  readonly network: Pick<PeerNetwork, 'dial'>;
  readonly storage: Pick<FromStorage, 'refusal' | 'take'>;
}

export class Joining {
  readonly #peers: readonly string[];
  readonly #modules: JoiningModules;
  readonly #stopping = new AbortController();
  #isTaking = false;
  #problem: string | null = null;

  constructor(peers: readonly string[], modules: JoiningModules) {
    this.#peers = peers;
    this.#modules = modules;
  }

  /** Problem that the node waits for; null without one. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Resolves when the database has a state that the journal goes on from. Throws `data_corrupt` when there is no way to one. */
  async run(): Promise<void> {
    const { kv, join } = this.#modules;
    const isHalf = await isBeingTaken(kv);
    const own = isHalf ? { seq: 0 } : await this.#last();
    const { base, last } = await join(own);
    if (own.id === undefined && last.id !== undefined) await this.#noteLast(last);
    if (own.seq + 1 >= base) {
      // The journal still has everything from the first command on, so half a state is emptied and replayed.
      if (isHalf) await beginTaking(kv);
      this.#isTaking = isHalf;
      return;
    }
    this.#isTaking = true;
    await this.#take(base);
  }

  /** Notes that the state was read and found whole. */
  async done(): Promise<void> {
    if (this.#isTaking) await endTaking(this.#modules.kv);
    this.#isTaking = false;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #last(): Promise<LastEntry> {
    const head = await this.#modules.kv.get(keys.head);
    return head === undefined ? { seq: 0 } : decodeHead(head);
  }

  /** Notes the last entry of a state that an earlier version has written. */
  async #noteLast({ id, cluster }: LastEntry): Promise<void> {
    const { kv } = this.#modules;
    const head = await kv.get(keys.head);
    if (head === undefined) return;
    await kv.write(kv.batch().put(keys.head, encodeHead({ ...decodeHead(head), id, cluster })), { sync: true });
  }

  /** Asks one mempool node after the other until one has given its state; in the end, storage. */
  async #take(base: number): Promise<void> {
    const { clock, logger } = this.#modules;
    const { signal } = this.#stopping;
    this.#problem = 'this node has no state that the journal goes on from, and asks another mempool node for its own';
    logger.warn({ base, peers: this.#peers }, this.#problem);
    const since = clock.monotonic();
    while (!signal.aborted) {
      for (const peer of this.#peers) if (await this.#isTakenFrom(peer, base)) return;
      const isPatient = this.#peers.length > 0 && clock.monotonic() - since < PATIENCE_MS;
      if (!isPatient && (await this.#isTakenFromStorage(base))) return;
      await pauseUntil(clock, PAUSE_MS, this.#stopping.signal);
    }
    throw stopping();
  }

  async #isTakenFrom(peer: string, base: number): Promise<boolean> {
    const { kv, logger } = this.#modules;
    const { signal } = this.#stopping;
    if (signal.aborted) throw stopping();
    try {
      const onProgress = (bytes: number): void => this.#show(peer, bytes);
      await takeSnapshot(kv, { link: () => this.#link(peer), signal, onProgress });
      const last = await this.#last();
      const { seq } = last;
      if (seq + 1 < base)
        throw new TesseraError('peer_unreachable', `its state ends at command ${seq}, before ${base}`);
      await this.#modules.join(last);
      logger.info({ peer, seq }, 'the state of another mempool node is here');
      this.#problem = null;
      return true;
    } catch (error) {
      this.#note(error, `no mempool node has given its state yet; ${peer}`);
      logger.warn({ peer, err: error }, 'a mempool node does not give its state');
      return false;
    }
  }

  async #isTakenFromStorage(base: number): Promise<boolean> {
    const { storage, join, logger } = this.#modules;
    const refusal = await storage.refusal();
    if (refusal !== null) {
      const asked = this.#peers.length === 0 ? 'peers.mempool names none' : 'none of peers.mempool gives its state';
      const text = `this node needs the state of another mempool node, and ${asked}; it makes none from storage: ${refusal.reason}`;
      if (refusal.forGood && this.#peers.length === 0) throw new TesseraError('data_corrupt', text);
      if (this.#problem !== text) logger.warn({}, text);
      this.#problem = text;
      return false;
    }
    try {
      this.#problem = 'the state of this node is made anew from the blocks of a storage node';
      await storage.take(base);
      await join(await this.#last());
      this.#problem = null;
      return true;
    } catch (error) {
      this.#note(error, 'the state of this node could not be made from storage yet');
      return false;
    }
  }

  /** Logs an error of another node, and throws one that no other node can help with. */
  #note(error: unknown, what: string): void {
    if (this.#stopping.signal.aborted) throw stopping();
    if (!isTesseraError(error) || isTesseraError(error, 'database_failed')) throw error;
    this.#problem = `${what}: ${errorMessage(error)}`;
  }

  async #link(peer: string): Promise<Link> {
    const link = await this.#modules.network.dial(peer, { timeoutMs: DIAL_MS, signal: this.#stopping.signal });
    if (link.role === 'mempool' && link.trusted) return link;
    throw new TesseraError('link_refused', `${peer} is no mempool node with the same network.secret`);
  }

  #show(peer: string, bytes: number): void {
    this.#problem = `the state of the mempool node ${peer} is being taken: ${Math.floor(bytes / MIB)} MiB so far`;
  }
}

function stopping(): TesseraError {
  return new TesseraError('shutting_down', 'the node is stopping');
}
