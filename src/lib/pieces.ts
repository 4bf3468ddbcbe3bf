/** Long work that can be interrupted: a generator that yields between its pieces, run at once or in pieces alike. */

export type Pieces<T> = Generator<void, T, void>;

/** Result of a `turn` when there is nothing to wait for. */
export const NOW: Promise<void> = Promise.resolve();

/** Runs all of the work without a pause. */
export function atOnce<T>(work: Pieces<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Runs the work in pieces, each when `turn` resolves. */
export async function inPieces<T>(work: Pieces<T>, turn: () => Promise<void>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    const given = turn();
    if (given !== NOW) await given;
  }
}
