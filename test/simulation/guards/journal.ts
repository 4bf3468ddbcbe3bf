/** Guards of the journal in etcd and its leases. */

import { type Guard, guard } from './guard.js';

export const OF_THE_JOURNAL: readonly Guard[] = [
  guard(
    'power',
    'the journal is not synced',
    'journal/local-journal.ts',
    '      }\n      await this.#kv.write(batch, { sync: true });',
    '      }\n      await this.#kv.write(batch, { sync: false });',
  ),
  guard(
    'lease',
    'a leader does not look at its lease',
    'journal/etcd/lease-leadership.ts',
    'return !this.#stopped && this.#modules.clock.monotonic() < this.#until;',
    'return !this.#stopped && this.#isTaken;',
  ),
  guard(
    'lease',
    'a leader never gives way',
    'journal/etcd/lease-leadership.ts',
    'return !this.#stopped && this.#modules.clock.monotonic() < this.#until;',
    'return !this.#stopped && this.#until > 0;',
  ),
  guard(
    'lease',
    'the lease of another is taken',
    'journal/etcd/etcd-lease.ts',
    'if (kv !== undefined && fromUtf8(kv.value) !== this.#replica) return undefined;',
    '',
  ),
  guard(
    'calm',
    'a lease is not renewed',
    'journal/etcd/lease-leadership.ts',
    'return this.#ms / RENEWALS;',
    'return this.#ms * RENEWALS;',
  ),
  guard(
    'behind',
    'a write is repeated without a look whether it was done',
    'journal/etcd/etcd-writer.ts',
    "compare: [{ target: CREATE_REVISION, key, targetUnion: { case: 'createRevision', value: 0n } }, ...condition],",
    'compare: [],',
  ),
  guard(
    'behind',
    'a failed write to the journal in etcd is not repeated',
    'journal/etcd/patience.ts',
    'this.#note(waiter, errorMessage(error));',
    "throw new TesseraError('database_failed', errorMessage(error));",
  ),
  guard(
    'watches',
    'a reader takes entries twice',
    'journal/etcd/etcd-reader.ts',
    'const fresh = entries.filter(({ seq }) => seq >= this.#next);',
    'const fresh = entries;',
    // A watch that goes on where the last one ended repeats one group, whose commands change nothing the second time.
    {
      file: 'journal/etcd/etcd-reader.ts',
      find: 'startRevision: BigInt(Math.max(1, revisionOf(this.#next))),',
      put: 'startRevision: BigInt(Math.max(1, revisionOf(this.#next) - 20)),',
    },
  ),
  guard(
    'compacted',
    'a reader does not list what was compacted',
    'journal/etcd/etcd-reader.ts',
    'if (error instanceof Compacted) await this.#until(() => this.#list());',
    'if (error instanceof Compacted) this.#next = seqOf(BigInt(revisionOf(this.#next)) + 8n, 0);',
  ),
  guard(
    'behind',
    'the journal forgets what another node wants',
    'journal/etcd/marks.ts',
    'from: isCounted ? Math.min(...marks.map(({ wants }) => wants)) : 0,',
    'from: isCounted ? Math.max(...marks.map(({ wants }) => wants)) : 0,',
  ),
  // A write looks for the last entry too, and a start whether the journal ends before it.
  guard(
    'restored',
    'a node goes on with a journal that lacks what it has',
    'journal/etcd/history.ts',
    'if (!isForgotten || (before ?? cluster) !== cluster) throw lost({ seq, id, cluster: before }, cluster, revision);',
    'if (!isForgotten && false) throw lost({ seq, id, cluster: before }, cluster, revision);',
    {
      file: 'journal/etcd/history.ts',
      find: 'if (id === undefined) return [];\n    const targetUnion',
      put: 'if (id === undefined || seq > 0) return [];\n    const targetUnion',
    },
    {
      file: 'journal/etcd/etcd-journal.ts',
      find: 'if (reader.wanted > this.head + 1) {',
      put: 'if (reader.wanted > this.head + Number.MAX_SAFE_INTEGER) {',
    },
  ),
];
