/** Reads a long list from a node: fewer at once if an answer is too large or lost, and again after a pause if the node is busy or away. */

import { NoAnswer } from '../../client/transport.js';
import { isTesseraError } from '../../lib/errors.js';

/** Failures of one request before the whole reading fails. */
const ATTEMPTS = 9;
/** Milliseconds until a request is repeated: the first pause, doubled each time, and the longest. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;
/** Milliseconds that a node may ask for. */
const LONGEST_ASKED = 120_000;
/** Answers that ask to try again: too many requests, and a node or a proxy that cannot serve now. */
const PASSING: ReadonlySet<unknown> = new Set([429, 502, 503, 504]);

export interface Patience {
  readonly pause: (ms: number) => Promise<void>;
  /** Told of a failure before the pause after it. */
  readonly onWait?: ((error: Error) => void) | undefined;
}

export class PatientReader {
  readonly #most: number;
  readonly #patience: Patience;
  #size: number;

  /** `most`: how many may be asked for at once. */
  constructor(most: number, patience: Patience) {
    this.#most = most;
    this.#size = most;
    this.#patience = patience;
  }

  /** Asks for all of them, some after the other. Throws what a request fails with that cannot be repeated, or too often. */
  async read<K, A>(
    keys: readonly K[],
    ask: (some: readonly K[]) => Promise<A>,
    take: (answer: A) => void,
  ): Promise<void> {
    for (let at = 0, failures = 0; at < keys.length; ) {
      const some = keys.slice(at, at + this.#size);
      let answer: A;
      try {
        answer = await ask(some);
      } catch (error) {
        const isSmaller = this.#askForFewer(some.length, error);
        if (isSmaller && isTooMuch(error)) continue;
        failures += 1;
        if (!isPassing(error) || failures === ATTEMPTS) throw error;
        this.#patience.onWait?.(error);
        await this.#patience.pause(pauseAfter(error, failures));
        continue;
      }
      take(answer);
      at += some.length;
      failures = 0;
      // Slowly: the next ones are probably as large.
      this.#size = Math.min(this.#most, this.#size + Math.ceil(this.#size / 8));
    }
  }

  /** True when fewer can be asked for. A lost answer may have been too long for the line. */
  #askForFewer(asked: number, error: unknown): boolean {
    if (asked === 1 || !(isTooMuch(error) || error instanceof NoAnswer)) return false;
    this.#size = Math.ceil(asked / 2);
    return true;
  }
}

/** The node refuses the request as it is: what is asked for is too much for one answer. */
function isTooMuch(error: unknown): boolean {
  const codes = ['invalid_request', 'too_many_outputs', 'payload_too_large'] as const;
  return codes.some((code) => isTesseraError(error, code));
}

function isPassing(error: unknown): error is Error {
  return error instanceof NoAnswer || (isTesseraError(error) && PASSING.has(error.details.status));
}

function pauseAfter(error: unknown, failures: number): number {
  const asked = isTesseraError(error) ? Number(error.details.retryAfter) * 1_000 : 0;
  const own = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (failures - 1));
  return asked > 0 ? Math.max(own, Math.min(asked, LONGEST_ASKED)) : own;
}
