/** A stack of open things, which are closed in the opposite order. */

type Close = () => Promise<void> | void;

export class ClosingStack {
  readonly #closers: Close[] = [];

  /** Adds something to be closed before everything that was added earlier. */
  add(close: Close): void {
    this.#closers.push(close);
  }

  /** Closes everything, last first. `onError` gets each error; the others are closed all the same. */
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
