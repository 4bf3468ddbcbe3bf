/** Work that may not end: its time is bounded, and nobody waits for it any longer. */

/** That the time was over. The work is not ended by it: it goes on until its process ends. */
export class TimeIsOver extends Error {
  constructor(what: string, ms: number) {
    super(`${what} did not end within ${Math.round(ms / 100) / 10} s`);
    this.name = 'TimeIsOver';
  }
}

/** What the work gives, or a `TimeIsOver` that says what did not end. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new TimeIsOver(what, ms)), Math.max(0, ms));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
