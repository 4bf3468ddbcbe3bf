/** A journal for tests: unmeasured, on the system's clock. */

import type { Kv } from '../../src/db/kv.js';
import type { Journal } from '../../src/journal/journal.js';
import { LocalJournal, type LocalJournalOptions } from '../../src/journal/local-journal.js';
import { systemClock } from '../../src/lib/clock.js';
import { noMetrics } from '../../src/observability/metrics.js';

export function openJournal(kv: Kv, options: LocalJournalOptions = {}): Promise<LocalJournal> {
  return LocalJournal.open(options, { kv, clock: systemClock, metrics: noMetrics });
}

/** Appends; resolves with the number when the entry is durable. */
export async function appendTo(journal: Journal, payload: Uint8Array): Promise<number> {
  return journal.append(payload).durable;
}

/** The journal, some of whose methods are others. */
export function journalWith(journal: Journal, methods: Partial<Journal>): Journal {
  return {
    get head() {
      return journal.head;
    },
    get problem() {
      return journal.problem;
    },
    isShared: journal.isShared,
    sync: () => journal.sync(),
    start: () => journal.start(),
    append: (payload) => journal.append(payload),
    subscribe: (...args) => journal.subscribe(...args),
    before: (seq, count) => journal.before(seq, count),
    compact: (...args) => journal.compact(...args),
    close: () => journal.close(),
    ...methods,
  };
}
