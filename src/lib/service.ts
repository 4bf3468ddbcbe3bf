/** One shape of life for everything that runs: nodes, roles, services and their parts. */

import { createDeferred, type Deferred } from './deferred.js';

export interface Service {
  /** Begins the work; resolves when it is under way. Called once. */
  start(): Promise<void>;
  /** Ends the work and leaves no timer, socket or listener behind. May be called twice, and before `start`. */
  stop(): Promise<void>;
  /** Never resolves; rejects with a named error when the service must not go on. */
  readonly failed: Promise<never>;
}

/** The `failed` end of a `Service`: rejects once, and never counts as an unhandled rejection. */
export class Failure {
  readonly #deferred: Deferred<never> = createDeferred<never>();

  constructor() {
    this.#deferred.promise.catch(() => undefined);
  }

  get promise(): Promise<never> {
    return this.#deferred.promise;
  }

  /** Reports that the service must not go on; only the first report counts. */
  readonly report = (error: unknown): void => this.#deferred.reject(error);

  /** Fails when the part fails. */
  follow(part: Pick<Service, 'failed'>): void {
    part.failed.catch(this.report);
  }
}
