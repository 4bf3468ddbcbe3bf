/**
 * The wallet's way to its disk. The parts of the wallet change their memory and stage the records that follow from it, in
 * one synchronous step; `flush` writes all that is staged as one synced batch. So what is on disk is always a state that
 * the memory went through, every change is there in full or not at all, and parallel payments share one sync.
 */

import type { Kv } from '../db/kv.js';
import { toHex } from '../lib/bytes.js';
import { TesseraError } from '../lib/errors.js';

interface StagedRecord {
  readonly key: Uint8Array;
  /** Null deletes. */
  readonly value: Uint8Array | null;
}

export interface StagedWrites {
  put(key: Uint8Array, value: Uint8Array): void;
  del(key: Uint8Array): void;
  /**
   * What is staged now belongs to a call that reports its failure: when it cannot be written, `undo` takes it back, in
   * memory and by staging what undoes it, before anything else is written.
   */
  onFailure(undo: () => void): void;
  /**
   * Resolves when everything staged before the call is durable. Throws `wallet_write_failed`; what was staged and has no
   * `undo` stays so, for it says what has happened already.
   */
  flush(): Promise<void>;
}

export function createStagedWrites(kv: Kv): StagedWrites {
  let staged = new Map<string, StagedRecord>();
  let undos: (() => void)[] = [];
  let writing: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  function stage(key: Uint8Array, value: Uint8Array | null): void {
    staged.set(toHex(key), { key, value });
  }

  async function write(): Promise<void> {
    const records = staged;
    if (records.size === 0) return;
    staged = new Map();
    const undosOfRecords = undos;
    undos = [];
    const batch = kv.batch();
    for (const { key, value } of records.values()) {
      if (value === null) batch.del(key);
      else batch.put(key, value);
    }
    try {
      await kv.write(batch, { sync: true });
    } catch (cause) {
      // Newer records win over those that could not be written.
      staged = new Map([...records, ...staged]);
      for (const undo of undosOfRecords.reverse()) undo();
      throw new TesseraError('wallet_write_failed', 'the wallet cannot be written to disk; nothing was paid', {
        cause,
      });
    }
  }

  function begin(): Promise<void> {
    next = undefined;
    writing = write().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  return {
    put: (key, value) => stage(key, value),
    del: (key) => stage(key, null),
    onFailure: (undo) => void undos.push(undo),
    flush() {
      if (writing === undefined) return begin();
      // The write under way may have begun before the caller staged: wait for the one after it, with everyone else.
      next ??= writing.then(begin, begin);
      return next;
    },
  };
}
