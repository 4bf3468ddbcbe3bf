/** The steps from each format of the data directory to the next one. */

import type { Kv } from './kv.js';

/** One step from the format before `to` to `to`. It runs again after a crash in the middle, so it must tolerate that. */
export interface Migration {
  readonly to: number;
  run(directory: { readonly path: string; open(name: string): Promise<Kv> }): Promise<void>;
}

/**
 * Format 2: the journal of a mempool node may hold adopted blocks, and commands of later rules under tags of their own; an archive
 * accounts for what is unspent, keeps certificates beside blocks, and has blocks under their numbers. All of format 1 is read as it
 * is, and what is new is added as it comes about (the account of an archive is counted when the node loads). What the step does is to name the format: an
 * older program then refuses the folder by name, instead of taking it for damaged.
 */
const TO_2: Migration = { to: 2, run: async () => undefined };

export const MIGRATIONS: readonly Migration[] = [TO_2];
