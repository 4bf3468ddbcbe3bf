/**
 * Moves closed segments to the object store, the oldest first: a segment is written there, read back, compared with its name, and noted in
 * a file; then it may be removed here. After any interruption or failure that is done again. Segments that are not there yet stay.
 */

import { stat } from 'node:fs/promises';
import type { Timer } from '../../lib/clock.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { failpoint } from '../../lib/failpoints.js';
import { Failure, type Service } from '../../lib/service.js';
import { ifMissing } from '../../lib/system-error.js';
import { noMetrics } from '../../observability/metrics.js';
import type { HasClock, HasLogger, HasMetrics } from '../../observability/modules.js';
import type { FarSegments } from './far-segments.js';
import type { Closed } from './names.js';
import type { Segments } from './segments.js';

/** Milliseconds until a failed upload is tried again: first, and at most; and between two looks at a store that works. */
const RETRY_MS = 5_000;
const MAX_RETRY_MS = 60_000;
const LOOK_MS = 30_000;
/** Name of this part in failpoints. */
const BLOCKS = 'blocks';

export interface UploadsOptions {
  /** Bytes of the newest closed segments that also stay here. */
  readonly localBytes: number;
}

export interface UploadsModules extends HasClock, HasLogger, Partial<HasMetrics> {
  readonly segments: Segments;
  readonly far: FarSegments;
}

export class Uploads implements Service {
  readonly #localBytes: number;
  readonly #modules: UploadsModules;
  #unsubscribe: (() => void) | undefined;
  readonly failed = new Failure().promise;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;
  #failures = 0;
  /** Why closed segments are not in the store, or stay here as well; null when they are, or are on their way. */
  #problem: string | null = null;

  constructor({ localBytes }: UploadsOptions, modules: UploadsModules) {
    this.#localBytes = localBytes;
    this.#modules = modules;
    const { segments, metrics = noMetrics } = modules;
    metrics.beforeScrape(() => {
      const { closed } = segments;
      metrics.gauge('tessera_storage_segments_waiting').set(closed.filter(({ isStored }) => !isStored).length);
      metrics.gauge('tessera_storage_segments_far').set(closed.filter(({ isHere }) => !isHere).length);
    });
  }

  get problem(): string | null {
    return this.#problem ?? this.#modules.far.store.problem;
  }

  async start(): Promise<void> {
    // After a failure the store is asked again later, not at each closed segment.
    this.#unsubscribe = this.#modules.segments.hasClosed.on(() => this.#failures === 0 && this.#run());
    this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#unsubscribe?.();
    this.#modules.far.close();
    await this.#running;
  }

  /** Runs one pass at a time, of one segment; the next one follows at once while others wait. */
  #run(): void {
    if (this.#isStopped || this.#running !== undefined) return;
    this.#timer?.cancel();
    this.#running = this.#pass().finally(() => {
      this.#running = undefined;
      if (this.#isStopped) return;
      const waits = this.#failures === 0 ? LOOK_MS : Math.min(RETRY_MS * 2 ** (this.#failures - 1), MAX_RETRY_MS);
      const isMore = this.#failures === 0 && this.#waiting().length > 0;
      this.#timer = this.#modules.clock.after(isMore ? 0 : waits, () => this.#run());
    });
  }

  #waiting(): readonly Closed[] {
    const { segments } = this.#modules;
    return segments.isWhole ? segments.closed.filter(({ isStored }) => !isStored) : [];
  }

  async #pass(): Promise<void> {
    const { far, logger } = this.#modules;
    try {
      const [oldest] = this.#waiting();
      if (oldest === undefined) await far.store.probe();
      else await this.#upload(oldest);
      await this.#removeOld();
      if (this.#failures > 0) logger.info({}, 'the object store takes segments again');
      this.#failures = 0;
      this.#problem = null;
    } catch (error) {
      if (this.#isStopped || isTesseraError(error, 'shutting_down')) return;
      const isOwn = !isTesseraError(error, 'archive_incomplete');
      const until = isOwn ? "this node's own disk lets them be read, noted and removed" : 'the object store takes them';
      this.#problem = `closed segments stay here until ${until}: ${errorMessage(error)}`;
      if (this.#failures++ === 0) logger.error({ err: error }, this.#problem);
    }
  }

  async #upload(closed: Closed): Promise<void> {
    const { name } = closed;
    const { segments, far, logger } = this.#modules;
    failpoint('segment.upload.before', BLOCKS);
    // Another node of the same chain may have stored the same file.
    if (!(await far.has(name))) {
      await segments.check(closed);
      await far.store.put(name, segments.pathOf(name));
      failpoint('segment.upload.after', BLOCKS);
      if (!(await far.has(name)))
        throw new TesseraError('archive_incomplete', `the object store has taken ${name} and gives other bytes`);
    }
    failpoint('segment.stored.before', BLOCKS);
    await segments.noteStored(name);
    failpoint('segment.stored.after', BLOCKS);
    logger.info({ segment: name }, 'the object store has the segment');
  }

  /** Removes old files. The first segment stays, for its names are needed in every read, and the last one, with the last block. */
  async #removeOld(): Promise<void> {
    const { segments } = this.#modules;
    const here = segments.closed.filter(({ isHere, first }) => isHere && first > 0);
    let bytes = 0;
    for (const [i, closed] of here.reverse().entries()) {
      // A file that could not be removed may be gone all the same.
      bytes += (await stat(segments.pathOf(closed.name)).catch(ifMissing))?.size ?? 0;
      if (i === 0 || bytes <= this.#localBytes || !closed.isStored) continue;
      failpoint('segment.removed.before', BLOCKS);
      await segments.removeHere(closed);
      failpoint('segment.removed.after', BLOCKS);
    }
  }
}
