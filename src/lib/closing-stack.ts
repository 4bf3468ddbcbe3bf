/** What was opened, to be closed in the opposite order. */

/** Closes one thing. */
type Close = () => Promise<void> | void;

export class ClosingStack {
  readonly #closers: Close[] = [];

  /** Will be closed before everything that was added earlier. */
  add(close: Close): void {
    this.#closers.push(close);
  }

  /** Closes everything, last first. One that fails is given to `onError` and does not keep the others from closing. */
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
