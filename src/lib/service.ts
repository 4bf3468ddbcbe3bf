/** The lifecycle of everything that runs: nodes, roles, services and their parts. */

import { createDeferred, type Deferred } from './deferred.js';

export interface Service {
  /** Starts the service; resolves when it is running. Called once. */
  start(): Promise<void>;
  /** Stops the service and leaves no timer, socket or listener behind. May be called twice, and before `start`. */
  stop(): Promise<void>;
  /** Never resolves; rejects with a coded error when the service must not continue. */
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

  /** Reports that the service must not continue; only the first report counts. */
  readonly report = (error: unknown): void => this.#deferred.reject(error);

  /** Makes the service fail when the given part fails. */
  follow(part: Pick<Service, 'failed'>): void {
    part.failed.catch(this.report);
  }
}

type Close = () => Promise<void> | void;

export class ClosingStack {
  readonly #closers: Close[] = [];

  /** Adds something to be closed before everything that was added earlier. */
  add(close: Close): void {
    this.#closers.push(close);
  }

  /** Closes everything, last first. `onError` gets each error, which does not keep the others from being closed. */
  async closeAll(onError: (error: unknown) => void): Promise<void> {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        onError(error);
      }
    }
  }
}
