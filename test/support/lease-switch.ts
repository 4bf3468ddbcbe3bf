/** A leadership that the test gives and takes. */

import type { Leadership } from '../../src/journal/journal.js';
import { SignalSource } from '../../src/lib/signal.js';

export class LeaseSwitch implements Leadership {
  readonly changed = new SignalSource<void>();
  readonly problem = null;
  leads = false;
  resignations = 0;

  resign(): void {
    this.resignations++;
  }

  set(leads: boolean): void {
    this.leads = leads;
    this.changed.emit();
  }
}
