/**
 * A signal that aborts with another one, or when the time is over. It is what `AbortSignal.any` with `AbortSignal.timeout`
 * should be: Node 20 forgets that one at the next garbage collection, and whoever waits for it waits for ever.
 */

const timeoutReason = (): unknown => new DOMException('The operation was aborted due to timeout', 'TimeoutError');

export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #ms: number;
  readonly #outer: AbortSignal | undefined;
  readonly #reason: () => unknown;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** No limit for 0 milliseconds. The timer does not keep the process alive. */
  constructor(ms: number, outer?: AbortSignal, reason = timeoutReason) {
    this.#ms = ms;
    this.#outer = outer;
    this.#reason = reason;
    outer?.addEventListener('abort', this.#follow);
    if (outer?.aborted) this.#follow();
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The time begins anew. */
  restart(): void {
    clearTimeout(this.#timer);
    if (this.#ms <= 0) return;
    this.#timer = setTimeout(() => this.#controller.abort(this.#reason()), this.#ms);
    // In browsers it is a number.
    if (typeof this.#timer === 'object') this.#timer.unref();
  }

  /** It is not needed any more. */
  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => this.#controller.abort(this.#outer?.reason);
}
