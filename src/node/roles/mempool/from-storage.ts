/**
 * The last resort of a mempool node when the journal has lost its beginning and no node has a state:
 * it makes one from the blocks of storage (docs/adr/0048-a-state-from-storage.md).
 */

import type { Kv } from '../../../db/kv.js';
import type { EtcdJournal } from '../../../journal/etcd/etcd-journal.js';
import type { Below } from '../../../journal/etcd/marks.js';
import type { Leadership } from '../../../journal/journal.js';
import { TesseraError } from '../../../lib/errors.js';
import type { Service } from '../../../lib/service.js';
import { type TakeBlocksOptions, takeBlocks } from '../../../mempool/replicas/take-blocks.js';
import type { HasLogger } from '../../../observability/modules.js';
import type { Link, PeerNetwork } from '../../../peers/network.js';

const DIAL_MS = 10_000;

export interface FromStorageModules extends HasLogger {
  readonly kv: Kv;
  readonly journal: Pick<EtcdJournal, 'below' | 'isLed'>;
  /** Turn of the one node that makes its state anew; the others take that state. */
  readonly turn: Leadership & Service;
  readonly network: Pick<PeerNetwork, 'dial'>;
  readonly onProgress: (done: number, total: number) => void;
}

export class FromStorage {
  readonly #storage: readonly string[];
  readonly #options: TakeBlocksOptions;
  readonly #modules: FromStorageModules;
  readonly #stopping = new AbortController();
  #below: Below = { blocks: 0 };
  #asked: Promise<void> | undefined;

  constructor(storage: readonly string[], options: TakeBlocksOptions, modules: FromStorageModules) {
    this.#storage = storage;
    this.#options = options;
    this.#modules = modules;
  }

  /** Why the state cannot come from storage; null when it can. `forGood`: waiting does not help. */
  async refusal(): Promise<{ readonly reason: string; readonly forGood: boolean } | null> {
    const { journal, turn } = this.#modules;
    const below = await journal.below();
    if (below === undefined) {
      const reason =
        'blocks and journal need not be all that was taken: what waited for a block may be in the states of mempool nodes alone; where none of them comes back, run tessera rebuild';
      return { reason, forGood: true };
    }
    this.#below = below;
    if (this.#storage.length === 0) return { reason: 'peers.storage names no storage node', forGood: true };
    this.#asked ??= turn.start();
    await this.#asked;
    if (!turn.leads)
      return { reason: 'another mempool node makes its state anew, and this one waits for that', forGood: false };
    if (await journal.isLed())
      return { reason: 'another mempool node makes the blocks, and has a state', forGood: false };
    return null;
  }

  /** Makes the state from one storage node after the other. Throws the error of the last one, or `shutting_down` when none was asked. */
  async take(base: number): Promise<void> {
    const { kv, turn, logger, onProgress } = this.#modules;
    const { signal } = this.#stopping;
    let last: unknown = new TesseraError('shutting_down', 'the node is stopping');
    for (const storage of this.#storage) {
      if (signal.aborted) break;
      try {
        const link = await this.#link(storage);
        const source = { link, ...this.#below, signal, onProgress };
        logger.warn({ storage, base }, 'the state is made anew from the blocks of a storage node and the journal');
        const blocks = await takeBlocks(kv, base - 1, this.#options, source);
        // Questions of the storage node were not answered meanwhile; it asks them again over a new link.
        link.close('the state is made');
        logger.info({ storage, blocks }, 'the state is made from the blocks of a storage node');
        return;
      } catch (error) {
        last = error;
        logger.warn({ storage, err: error }, 'a storage node does not give its blocks');
      }
    }
    // Another mempool node may reach storage nodes that this one does not.
    turn.resign?.();
    throw last;
  }

  /** Ends work under way, and the turn. Other nodes can take the state by now, if it was made. */
  stop(): Promise<void> {
    this.#stopping.abort();
    return this.#modules.turn.stop();
  }

  async #link(address: string): Promise<Link> {
    const link = await this.#modules.network.dial(address, { timeoutMs: DIAL_MS, signal: this.#stopping.signal });
    if (link.role === 'storage' && link.trusted) return link;
    throw new TesseraError('link_refused', `${address} is no storage node with the same network.secret`);
  }
}
