/** Tells the other nodes at a journal the digest after each block: the leader always does, and every node where digests differ. */

import type { Leadership } from '../../journal/journal.js';
import { isTesseraError } from '../../lib/errors.js';
import type { HasLogger } from '../../observability/modules.js';
import type { Applier } from '../state/applier.js';
import type { DigestCommand } from '../state/commands.js';
import type { SharedDigests } from './shared-digests.js';

export interface DigestTellerModules extends HasLogger {
  readonly applier: Pick<Applier, 'applied' | 'submit'>;
  readonly digests: SharedDigests;
  readonly leadership: Leadership;
}

export class DigestTeller {
  readonly #modules: DigestTellerModules;
  readonly #listeners: (() => void)[] = [];
  /** The last command whose digest this node has told. */
  #last = 0;

  constructor(modules: DigestTellerModules) {
    this.#modules = modules;
  }

  start(): void {
    const { applier, digests, leadership } = this.#modules;
    this.#listeners.push(
      applier.applied.on(() => this.#tellLast()),
      leadership.changed.on(() => this.#tellLast()),
      digests.contested.on((seq) => this.#answer(seq)),
    );
  }

  stop(): void {
    for (const remove of this.#listeners.splice(0)) remove();
  }

  #tellLast(): void {
    const { digests, leadership } = this.#modules;
    if (!leadership.leads) return;
    const command = digests.nextDigest();
    if (command === undefined || command.seq <= this.#last) return;
    this.#last = command.seq;
    this.#append(command);
  }

  #answer(seq: number): void {
    const { digests, logger } = this.#modules;
    const command = digests.answer(seq);
    if (command === undefined) return;
    logger.error({ command: seq, height: command.height }, 'the mempool nodes at this journal differ in their states');
    this.#append(command);
  }

  #append(command: DigestCommand): void {
    const { applier, digests, logger } = this.#modules;
    applier.submit<'digest'>(command).catch((error: unknown) => {
      if (isTesseraError(error, 'shutting_down') || isTesseraError(error, 'state_diverged')) return;
      digests.retract(command.seq);
      logger.warn({ err: error }, 'the digest of the state could not be written to the journal');
    });
  }
}
