/** Places where a test ends the process while two blocks are being made (docs/adr/0044-rounds-that-overlap.md). */

import { failpoint } from '../../lib/failpoints.js';
import type { Command } from './commands.js';
import type { MempoolState } from './state.js';

export class OverlapFailpoints {
  readonly #state: Pick<MempoolState, 'rounds'>;
  #unwritten: Command['kind'][] = [];

  constructor(state: Pick<MempoolState, 'rounds'>) {
    this.#state = state;
  }

  async during<T>(kind: Command['kind'], apply: () => Promise<T>): Promise<T> {
    const before = this.#state.rounds.length;
    const outcome = await apply();
    if (outcome && Math.max(before, this.#state.rounds.length) > 1) {
      this.#unwritten.push(kind);
      pass(kind, 'applied');
    }
    return outcome;
  }

  written(): void {
    for (const kind of this.#unwritten.splice(0)) pass(kind, 'written');
  }
}

function pass(kind: Command['kind'], moment: 'applied' | 'written'): void {
  if (kind === 'cut-block') failpoint('overlap.cut', moment);
  if (kind === 'close-block') failpoint('overlap.closed', moment);
  if (kind === 'block-stored') failpoint('overlap.stored', moment);
  if (kind === 'block-adopted') failpoint('overlap.adopted', moment);
}
