/**
 * What became of transactions (decision V1). Pending is known from the pool and the block being made; the final states are
 * read from disk, where the batch that decided them put them. Refusals at admission never reach the journal: they are
 * noted here, within a bound. Old statuses are forgotten by the node for itself; no rule depends on them.
 */

import type { Kv } from '../../db/kv.js';
import type { Clock } from '../../lib/clock.js';
import { unixSeconds } from '../../lib/clock.js';
import type { Logger } from '../../lib/logger.js';
import type { TxStatus } from '../service.js';
import { decodeHashes, decodeStatus, encodeHashes, encodeStatus, keys, ranges } from './records.js';
import type { MempoolState } from './state.js';

/** Refusals noted in one hour; further ones are not remembered, so that a flood of bad transactions fills no disk. */
const MAX_REFUSALS_PER_HOUR = 100_000;
const HOUR_MS = 3_600_000;
/** Expired groups forgotten at once. */
const PURGE_GROUPS = 200;
/** Refusals share one expiry record for each of these. */
const REFUSAL_NUMBER_BASE = 0x8000_0000;

export interface Statuses {
  get(hashes: readonly string[]): Promise<ReadonlyMap<string, TxStatus>>;
  /** The final status on disk. */
  final(hash: string): Promise<TxStatus | undefined>;
  /** Notes that a rule refuses a transaction, unless it has a status already. */
  refuse(hash: string, rule: string): Promise<void>;
  /** Forgets what is older than the lifetime. Runs by itself once an hour; resolves with the number forgotten. */
  purge(): Promise<number>;
  stop(): void;
}

export interface StatusesOptions {
  /** Seconds that a final status is kept. */
  readonly lifetime: number;
}

export function createStatuses(
  options: StatusesOptions,
  modules: { readonly kv: Kv; readonly state: MempoolState; readonly clock: Clock; readonly logger: Logger },
): Statuses {
  const { kv, state, clock, logger } = modules;
  let refusals = 0;
  let hourStart = clock.monotonic();
  let number = REFUSAL_NUMBER_BASE;
  let stopped = false;
  let timer = clock.after(HOUR_MS, tick);

  function tick(): void {
    purge()
      .catch((error: unknown) => logger.warn({ err: error }, 'old transaction statuses could not be forgotten'))
      .finally(() => {
        if (!stopped) timer = clock.after(HOUR_MS, tick);
      });
  }

  async function final(hash: string): Promise<TxStatus | undefined> {
    const bytes = await kv.get(keys.status(hash));
    return bytes === undefined ? undefined : decodeStatus(bytes);
  }

  async function purge(): Promise<number> {
    const before = Math.max(0, unixSeconds(clock) - options.lifetime);
    let forgotten = 0;
    for (;;) {
      const batch = kv.batch();
      for await (const [key, value] of kv.entries({ ...ranges.expiryBefore(before), limit: PURGE_GROUPS })) {
        batch.del(key);
        for (const hash of decodeHashes(value)) {
          batch.del(keys.status(hash));
          forgotten++;
        }
      }
      if (batch.size === 0) return forgotten;
      await kv.write(batch, { sync: false });
    }
  }

  return {
    final,
    purge,
    async get(hashes) {
      const found = new Map<string, TxStatus>();
      const onDisk: string[] = [];
      for (const hash of new Set(hashes)) {
        const pending = state.pending(hash);
        if (pending === undefined) onDisk.push(hash);
        found.set(hash, { status: 'Pending', timestamp: pending?.time ?? 0, additionalInfo: pending?.info ?? '' });
      }
      const records = await kv.getMany(onDisk.map(keys.status));
      for (const [i, hash] of onDisk.entries()) {
        const record = records[i];
        if (record === undefined) found.delete(hash);
        else found.set(hash, decodeStatus(record));
      }
      return found;
    },
    async refuse(hash, rule) {
      if (clock.monotonic() - hourStart > HOUR_MS) {
        hourStart = clock.monotonic();
        refusals = 0;
      }
      if (refusals >= MAX_REFUSALS_PER_HOUR || state.pending(hash) !== undefined) return;
      if ((await final(hash)) !== undefined) return;
      refusals++;
      const timestamp = unixSeconds(clock);
      const batch = kv.batch();
      batch.put(keys.status(hash), encodeStatus({ status: 'Rejected', timestamp, additionalInfo: rule }));
      batch.put(keys.expiry(timestamp, number), encodeHashes([hash]));
      number = number === 0xffff_ffff ? REFUSAL_NUMBER_BASE : number + 1;
      await kv.write(batch, { sync: false });
    },
    stop() {
      stopped = true;
      timer.cancel();
    },
  };
}
