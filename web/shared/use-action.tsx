/** One request at a time, and what came of it. For what may be done twice without harm; the rest is an order. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';

export interface Action {
  /** Put it where the answer is to be read. */
  readonly said: ComponentChildren;
  readonly isBusy: boolean;
  readonly run: (act: () => Promise<ComponentChildren>) => Promise<void>;
}

export function useAction(): Action {
  const [said, say] = useState<ComponentChildren>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (act: () => Promise<ComponentChildren>): Promise<void> => {
    setBusy(true);
    say(null);
    try {
      say(await act());
    } catch (error) {
      say(<bdi class="bad-news">{error instanceof Error ? error.message : String(error)}</bdi>);
    } finally {
      setBusy(false);
    }
  };
  return {
    said: (
      <p role="status" class="said">
        {said}
      </p>
    ),
    isBusy,
    run,
  };
}
