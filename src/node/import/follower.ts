/**
 * `storage.follow`: a storage node that keeps up with a network of original nodes. It asks one of them after the other for new blocks,
 * one question at a time and a few a second, and holds each block to the rules of its height, as an import does.
 */

import type { Genesis } from '../../chain/genesis.js';
import type { Verifier } from '../../ledger/verifier/verifier.js';
import { errorMessage } from '../../lib/errors.js';
import { pause } from '../../lib/pause.js';
import type { HasLogger } from '../../observability/modules.js';
import type { Progress } from '../../observability/progress.js';
import type { Archive } from '../../storage/archive/archive.js';
import { httpAnswers } from './http-answers.js';
import { asIn, holdBeginning, storeAll } from './import-chain.js';
import { ChainSource } from './source.js';

/** Milliseconds between two questions. */
const PACE_MS = 100;
/** Milliseconds until the source is asked for new blocks; after a first fault; and after many faults at most. */
const ASK_MS = 2_000;
const REST_MS = 1_000;
const MOST_REST_MS = 60_000;
/** Number of missing blocks from which a node counts as far behind; with fewer it is only a little late. */
const FAR_BEHIND = 16;

export interface FollowerModules extends HasLogger {
  readonly archive: Archive;
  readonly genesis: Pick<Genesis, 'eras'>;
  readonly scripts: Verifier;
  readonly progress: Progress;
  /** Called when all blocks of the source are stored, if there were new ones. */
  readonly onCaughtUp: () => void;
}

export class Follower {
  readonly #urls: readonly string[];
  readonly #askMs: number;
  readonly #modules: FollowerModules;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #problem: string | null = null;
  /** True until the node has had every block once, and while it is far behind. */
  #isFar = true;

  /** `askMs`: see `ASK_MS`. */
  constructor(urls: readonly string[], modules: FollowerModules, { askMs = ASK_MS }: { readonly askMs?: number } = {}) {
    this.#urls = urls;
    this.#modules = modules;
    this.#askMs = askMs;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Why the node does not keep up; null while it does. */
  get problem(): string | null {
    return (
      this.#problem ??
      (this.#isFar ? (this.#modules.progress.current ?? `asking ${this.#urls[0]} for its blocks`) : null)
    );
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { logger } = this.#modules;
    for (let faults = 0; !signal.aborted; ) {
      const url = this.#urls[faults % this.#urls.length] ?? '';
      try {
        const source = new ChainSource(await httpAnswers(url, { signal, paceMs: PACE_MS }), { signal });
        await holdBeginning(this.#modules.archive, source, await source.latest());
        for (;;) {
          await this.#catchUp(source);
          if (this.#problem !== null) logger.info({ url }, 'the network is followed again');
          [faults, this.#problem] = [0, null];
          await pause(this.#askMs, signal);
        }
      } catch (error) {
        if (signal.aborted) return;
        const problem = `cannot follow ${url}: ${errorMessage(error)}`;
        if (problem !== this.#problem) logger.warn({ url, err: error }, problem);
        this.#problem = problem;
        const rest = Math.min(REST_MS * 2 ** Math.floor(faults / this.#urls.length), MOST_REST_MS);
        faults++;
        await pause(rest, signal).catch(() => undefined);
      }
    }
  }

  /** Stores the blocks that the source has now. */
  async #catchUp(source: ChainSource): Promise<void> {
    const { archive, genesis, scripts, progress, onCaughtUp } = this.#modules;
    const end = await source.latest();
    const from = archive.nextHeight;
    this.#isFar ||= end.height + 1 - from >= FAR_BEHIND;
    await storeAll(archive, source, end, {
      scripts,
      signal: this.#stopping.signal,
      look: (full) => asIn(full, genesis.eras, archive.nextHeight),
      onProgress: (done, total) => progress.update(done, total),
    });
    progress.end();
    this.#isFar = false;
    if (archive.nextHeight > from) onCaughtUp();
  }
}
