/** Log lines that strangers cause: a fixed number a minute, or they would fill the disk and hide other lines. */

import type { Clock } from './clock.js';
import type { Logger } from './logger.js';

const LINES = 30;
const WINDOW_MS = 60_000;

export class FewLines {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #few: Logger;
  /** End of the minute, by the monotonic clock. */
  #until = Number.NEGATIVE_INFINITY;
  #left = 0;
  #leftOut = 0;

  constructor(logger: Logger, clock: Clock) {
    this.#logger = logger;
    this.#clock = clock;
    this.#few = {
      debug: (fields, message) => logger.debug(fields, message),
      info: (fields, message) => this.#write('info', fields, message),
      warn: (fields, message) => this.#write('warn', fields, message),
      error: (fields, message) => this.#write('error', fields, message),
    };
  }

  /** Logger for lines that this peer has caused: lines about trusted peers, nodes of the same operator, are all written. */
  about({ trusted }: { readonly trusted: boolean }): Logger {
    return trusted ? this.#logger : this.#few;
  }

  #write(level: 'info' | 'warn' | 'error', fields: object, message: string): void {
    const now = this.#clock.monotonic();
    if (now >= this.#until) {
      if (this.#leftOut > 0) this.#logger.info({ leftOut: this.#leftOut }, 'lines about strangers were left out');
      this.#until = now + WINDOW_MS;
      this.#left = LINES;
      this.#leftOut = 0;
    }
    if (this.#left === 0) this.#leftOut++;
    else {
      this.#left--;
      this.#logger[level](fields, message);
    }
  }
}
