/** Transactions that the old journal and pool of a mempool node still hold, carried over into its new state. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { encodeTransaction } from '../../chain/codec.js';
import { decodeTransactions, joinTransactions } from '../../chain/decode-in-pieces.js';
import { transactionHashOfBytes } from '../../chain/hash.js';
import type { Kv } from '../../db/kv.js';
import { LevelKv } from '../../db/level-kv.js';
import { ranges as journalRanges } from '../../journal/local-journal.js';
import { errorMessage } from '../../lib/errors.js';
import { decodeCommand } from '../../mempool/state/commands.js';
import { arrivalOfKey, keys, ranges } from '../../mempool/state/layout.js';
import { decodePooled } from '../../mempool/state/records.js';

const GROUPS_PER_WRITE = 500;

/** Transactions of the old journal and state that are in no adopted block, and those carried over earlier. */
export class OldTransactions {
  readonly problems: string[] = [];
  readonly #folder: string;
  readonly #kv: Kv;
  readonly #seen = new Set<string>();
  #groups: Uint8Array[][] = [];
  #count = 0;

  constructor(folder: string, kv: Kv) {
    this.#folder = folder;
    this.#kv = kv;
  }

  /** Writes the transactions into the new state; returns the number of groups. */
  async carryOver(): Promise<number> {
    await this.#clear();
    await this.#read('mempool', (kv) => this.#readCarried(kv));
    await this.#read('journal', (kv) => this.#readJournal(kv));
    await this.#read('mempool', (kv) => this.#readPool(kv));
    await this.#flush();
    return this.#count;
  }

  async #clear(): Promise<void> {
    const batch = this.#kv.batch();
    for await (const [key] of this.#kv.entries(ranges.carried)) batch.del(key);
    await this.#kv.write(batch, { sync: true });
  }

  /** Reads a database. A missing one is empty; a damaged one is read as far as possible. */
  async #read(name: string, read: (kv: Kv) => Promise<void>): Promise<void> {
    const path = join(this.#folder, name);
    if (!existsSync(path)) return;
    try {
      const kv = await LevelKv.open(path, { createIfMissing: false, wayBack: 'it is left as it is' });
      try {
        await read(kv);
      } finally {
        await kv.close();
      }
    } catch (error) {
      this.problems.push(`the old database ${name} cannot be read to its end: ${errorMessage(error)}`);
    }
  }

  async #readCarried(kv: Kv): Promise<void> {
    for await (const [, value] of kv.entries(ranges.carried)) {
      await this.#add(decodeTransactions(value).map(encodeTransaction));
    }
  }

  async #readJournal(kv: Kv): Promise<void> {
    for await (const [, payload] of kv.entries(journalRanges.entries)) {
      const command = decodeCommand(payload);
      if (command.kind === 'transactions') for (const group of command.groups) await this.#add(group);
    }
  }

  async #readPool(kv: Kv): Promise<void> {
    for (const range of [ranges.pooled, ranges.waiting]) {
      for await (const [key, value] of kv.entries(range))
        await this.#add([decodePooled(arrivalOfKey(key), value).bytes]);
    }
  }

  async #add(group: readonly Uint8Array[]): Promise<void> {
    const fresh: Uint8Array[] = [];
    const hashes = group.map(transactionHashOfBytes);
    const confirmed = await this.#kv.getMany(hashes.map(keys.status));
    for (const [i, hash] of hashes.entries()) {
      const bytes = group[i];
      if (bytes === undefined || confirmed[i] !== undefined || this.#seen.has(hash)) continue;
      this.#seen.add(hash);
      fresh.push(bytes);
    }
    if (fresh.length === 0) return;
    this.#groups.push(fresh);
    if (this.#groups.length === GROUPS_PER_WRITE) await this.#flush();
  }

  async #flush(): Promise<void> {
    const batch = this.#kv.batch();
    for (const group of this.#groups) batch.put(keys.carried(this.#count++), joinTransactions(group));
    this.#groups = [];
    await this.#kv.write(batch, { sync: true });
  }
}
