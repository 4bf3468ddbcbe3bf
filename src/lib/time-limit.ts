/** A signal that aborts with another one or after a time. Node 20 forgets `AbortSignal.any` of a timeout. */

export class TimeLimit {
  readonly #controller = new AbortController();
  readonly #ms: number;
  readonly #outer: AbortSignal | undefined;
  readonly #reason: () => unknown;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Sets no limit for 0 milliseconds. The timer keeps the process alive, so that whoever waits for what the limit ends sees its end. */
  constructor(
    ms: number,
    outer?: AbortSignal,
    reason: () => unknown = () => new DOMException(`nothing came within ${ms / 1_000} s`, 'TimeoutError'),
  ) {
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

  restart(): void {
    clearTimeout(this.#timer);
    if (this.#ms <= 0) return;
    this.#timer = setTimeout(() => this.#controller.abort(this.#reason()), this.#ms);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#follow);
  }

  readonly #follow = (): void => this.#controller.abort(this.#outer?.reason);
}
