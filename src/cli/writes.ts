/** Tracks requests that make a node act: until an answer says whether it was done, the command has neither succeeded nor failed. */

import { mayHaveActed, UnknownOutcome } from '../client/repeat.js';
import { createDeferred } from '../lib/deferred.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { type CliProcess, ExitError, onStopSignal, type WriteWatch } from './command.js';

/** Exit status when it is not known whether the work was done. */
export const UNKNOWN = 3;

/** Advice for every command that ends with status 3. */
export const LOOK_FIRST = 'check what the node has done before you run the command again';

export class Writes implements WriteWatch {
  advice = LOOK_FIRST;
  readonly #process: Pick<CliProcess, 'onSignal'>;
  #isOut = false;

  constructor(process: Pick<CliProcess, 'onSignal'>) {
    this.#process = process;
  }

  async answer<T>(request: Promise<T>): Promise<T> {
    this.#isOut = true;
    const interrupted = createDeferred<never>();
    const stop = (): void => {
      interrupted.reject(new UnknownOutcome(new TesseraError('aborted', 'interrupted while the request was out')));
    };
    const remove = onStopSignal(this.#process, stop);
    try {
      const answer = await Promise.race([request, interrupted.promise]);
      this.#isOut = false;
      return answer;
    } catch (error) {
      this.#isOut = !isTesseraError(error) || error instanceof UnknownOutcome || mayHaveActed(error);
      throw error;
    } finally {
      remove();
    }
  }

  /** Error with which a command ends: while a request is out, its error is no failure. */
  judged(error: unknown): unknown {
    if (!this.#isOut || error instanceof ExitError) return error;
    const code = isTesseraError(error) ? error.code : 'internal_error';
    const message = `${errorMessage(error)}; the result is not known: ${this.advice}`;
    return new ExitError(UNKNOWN, code, message);
  }
}
