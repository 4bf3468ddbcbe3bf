/** Buffer of the wallet's writes: parts change memory and stage records in one step; `flush` writes all as one synced batch. */

import { endlessRoom, type Room } from '../db/disk-room.js';
import type { Kv } from '../db/kv.js';
import { toHex } from '../lib/bytes.js';
import { errorMessage, TesseraError } from '../lib/errors.js';

export class WriteBuffer {
  readonly #kv: Kv;
  readonly #room: Room;
  #staged = new Map<string, { readonly key: Uint8Array; readonly value: Uint8Array | null }>();
  readonly #undos: (() => void)[] = [];
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isClosed = false;

  constructor(kv: Kv, room: Room = endlessRoom) {
    this.#kv = kv;
    this.#room = room;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  refuseMore(): void {
    this.#isClosed = true;
  }

  /** Throws `shutting_down` once the wallet is being closed. */
  checkOpen(): void {
    if (this.#isClosed) throw new TesseraError('shutting_down', 'the wallet is closed');
  }

  /** Checks the room on the disk, for changes by callers but not by the chain. Throws `shutting_down`, `wallet_write_failed`. */
  checkRoom(): void {
    this.checkOpen();
    try {
      this.#room.check();
    } catch (cause) {
      throw new TesseraError('wallet_write_failed', `the wallet takes nothing now: ${errorMessage(cause)}`, { cause });
    }
  }

  get size(): number {
    return this.#staged.size;
  }

  put(key: Uint8Array, value: Uint8Array): void {
    this.#staged.set(toHex(key), { key, value });
  }

  del(key: Uint8Array): void {
    this.#staged.set(toHex(key), { key, value: null });
  }

  /**
   * Registers an undo for the records staged now, whose caller reports the failure: it undoes memory and stage before anything else is
   * written. Records staged later may build on them, and are undone before.
   */
  onFailure(undo: () => void): void {
    this.#undos.push(undo);
  }

  /** Resolves when everything staged before is durable. Throws `wallet_write_failed`; records without an undo stay staged. */
  flush(): Promise<void> {
    if (this.#writing === undefined) return this.#begin();
    // The write under way may have begun before the caller staged: wait for the one after it, with everyone else.
    this.#next ??= this.#writing.then(
      () => this.#begin(),
      (error) => {
        this.#next = undefined;
        throw error;
      },
    );
    return this.#next;
  }

  #begin(): Promise<void> {
    this.#next = undefined;
    this.#writing = this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const records = this.#staged;
    if (records.size === 0) return;
    this.#staged = new Map();
    const undos = this.#undos.splice(0);
    const batch = this.#kv.batch();
    for (const { key, value } of records.values()) {
      if (value === null) batch.del(key);
      else batch.put(key, value);
    }
    try {
      await this.#kv.write(batch, { sync: true });
    } catch (cause) {
      // Newer records replace those that could not be written.
      this.#staged = new Map([...records, ...this.#staged]);
      for (const undo of [...undos, ...this.#undos.splice(0)].reverse()) undo();
      throw new TesseraError('wallet_write_failed', 'the wallet cannot be written to disk', { cause });
    }
  }
}
