/**
 * Cache of answers for clients, rendered once and kept in memory up to a number of bytes; counts whether reads were answered
 * from memory or from disk.
 */

import { LRUCache } from 'lru-cache';
import type { CounterHandle, Metrics } from '../../observability/metrics.js';
import type { StoredEntry } from '../service.js';
import type { Rendered } from './render.js';

export class EntryCache {
  readonly #entries: LRUCache<string, StoredEntry>;
  readonly #fromCache: CounterHandle;
  readonly #fromDisk: CounterHandle;
  readonly #missing: CounterHandle;

  constructor(maxBytes: number, metrics: Metrics) {
    this.#entries = new LRUCache({ maxSize: Math.max(maxBytes, 1) });
    this.#fromCache = metrics.counter('tessera_storage_reads_total', 'cache');
    this.#fromDisk = metrics.counter('tessera_storage_reads_total', 'disk');
    this.#missing = metrics.counter('tessera_storage_reads_total', 'missing');
  }

  get<K extends StoredEntry['kind']>(key: string, kind: K): Extract<StoredEntry, { kind: K }> | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#fromCache.inc();
    return entry.kind === kind ? (entry as Extract<StoredEntry, { kind: K }>) : undefined;
  }

  /** Keeps what was just stored. */
  put<T extends StoredEntry>({ entry, size }: Rendered<T>): T {
    this.#entries.set(entry.key, entry, { size });
    return entry;
  }

  /** Keeps what was just read from disk. */
  putRead<T extends StoredEntry>(rendered: Rendered<T>): T {
    this.#fromDisk.inc();
    return this.put(rendered);
  }

  /** Counts a read that found nothing. */
  noted<T>(found: T | undefined): T | undefined {
    if (found === undefined) this.#missing.inc();
    return found;
  }
}
