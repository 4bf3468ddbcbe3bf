/**
 * How much of large request bodies is worked on at once. A list of transactions takes ten times its bytes as objects, so
 * that many which come at the same moment would fill the memory, each of them allowed. Here they wait as bytes, in the
 * order in which they came; when too many wait, the next is refused with 503 (rule P6).
 */

import type { ServerResponse } from 'node:http';
import fp from 'fastify-plugin';
import { TesseraError } from '../../lib/errors.js';

/** A body of fewer bytes is not counted. */
const SMALL_BYTES = 4 * 1024;
/** Bytes of the bodies that are worked on, from parsing to the end of the answer. One alone may be larger. */
const MAX_AT_WORK_BYTES = 8 * 1024 * 1024;
/** Bytes of the bodies that wait. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

declare module 'fastify' {
  interface FastifyInstance {
    readonly bodyBudget: BodyBudget;
  }
  interface FastifyRequest {
    /** Whose end is the end of the work on the request's body. */
    response: ServerResponse | null;
  }
}

interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
}

class BodyBudget {
  #atWork = 0;
  #waitingBytes = 0;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();

  /**
   * Resolves when a body of so many bytes may be worked on, which it is until its response is closed. Throws `overloaded`
   * when too much waits already, `aborted` when the client goes meanwhile.
   */
  async take(bytes: number, response: Pick<ServerResponse, 'once'>): Promise<void> {
    if (bytes < SMALL_BYTES) return;
    if (this.#waiting.size > 0 || !this.#fits(bytes)) return this.#wait(bytes, response);
    this.#start(bytes, response);
  }

  #fits(bytes: number): boolean {
    return this.#atWork === 0 || this.#atWork + bytes <= MAX_AT_WORK_BYTES;
  }

  #start(bytes: number, response: Pick<ServerResponse, 'once'>): void {
    this.#atWork += bytes;
    response.once('close', () => {
      this.#atWork -= bytes;
      this.#startNext();
    });
  }

  #wait(bytes: number, response: Pick<ServerResponse, 'once'>): Promise<void> {
    if (this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      throw new TesseraError('overloaded', 'Too many large bodies are being worked on; try again in a moment.');
    }
    return new Promise((resolve, reject) => {
      const start = (): void => {
        this.#start(bytes, response);
        resolve();
      };
      const waiting = { bytes, start };
      this.#waiting.add(waiting);
      this.#waitingBytes += bytes;
      response.once('close', () => {
        if (!this.#leave(waiting)) return;
        reject(new TesseraError('aborted', 'The client has gone.'));
        this.#startNext();
      });
    });
  }

  #startNext(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.bytes)) return;
      this.#leave(waiting);
      waiting.start();
    }
  }

  #leave(waiting: Waiting): boolean {
    if (!this.#waiting.delete(waiting)) return false;
    this.#waitingBytes -= waiting.bytes;
    return true;
  }
}

export const bodyBudget = fp((app, _options, done) => {
  app.decorate('bodyBudget', new BodyBudget());
  app.decorateRequest('response', null);
  app.addHook('onRequest', (request, reply, next) => {
    request.response = reply.raw;
    next();
  });
  done();
});
