/** The interface for time: services take a `Clock`, and tests pass one that they move by hand. */

export interface Timer {
  /** Stops the timer; nothing happens when it has fired already. */
  cancel(): void;
}

export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds of a clock that never goes back; for intervals. */
  monotonic(): number;
  /** Calls `run` once after `ms` milliseconds. Does not keep the process alive. */
  after(ms: number, run: () => void): Timer;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const handle = setTimeout(run, ms);
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Seconds since the Unix epoch, as the chain counts time. */
export function unixSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}

/** Resolves after `ms` milliseconds, or when the signal aborts. */
export function pauseUntil(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal.addEventListener('abort', end);
  });
}
