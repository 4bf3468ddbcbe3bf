/**
 * The history as far as it was read: the newest page is read again and again, older ones once, as the reader scrolls. Movements
 * keep their numbers for ever; what may change in its place is their state (docs/wallet.md#history).
 */

import type { MovementsResponse } from '../../src/sdk/client.js';

export type Movement = MovementsResponse['movements'][number];

/** The other party, as far as it is known. */
export function partyOf({ direction, from, outputs, peer }: Movement): string | undefined {
  if (direction === 'in') return from[0];
  if (peer !== null) return undefined;
  return outputs.find(({ own, address }) => !own && address !== null)?.address ?? undefined;
}

export interface MovementLog {
  /** Newest first, without gaps. */
  readonly movements: readonly Movement[];
  /** Cursor of what follows them; undefined before the first page. */
  readonly next: bigint | null | undefined;
}

export const EMPTY_LOG: MovementLog = { movements: [], next: undefined };

/** Movements of a page. */
export const PAGE = 100;
/** New ones that are looked for when something has changed. */
const FEW = 25;
/** The node sends no more at once. */
const MOST = 1_000;

/** Number of the newest to read again, so that those are among them whose state may have changed. */
export function countToRead({ movements, next }: MovementLog): number {
  if (next === undefined) return PAGE;
  const last = movements.slice(0, MOST).findLastIndex(({ state }) => state === 'queued' || state === 'sent');
  return Math.min(MOST, last + 1 + FEW);
}

/** Adds the newest page. When more have come since than a page holds, the log starts again with that page. */
export function withNewest(log: MovementLog, { movements, next }: MovementsResponse): MovementLog {
  const oldest = movements.at(-1);
  const known = log.movements[0];
  // Behind a filter numbers have gaps: there, the newest that is known must be among them.
  const isJoined =
    next === null ||
    (known !== undefined && oldest !== undefined && oldest.number <= known.number + 1n) ||
    movements.some(({ number }) => number === known?.number);
  if (log.next === undefined || !isJoined) return { movements, next };
  const older = oldest === undefined ? [] : log.movements.filter(({ number }) => number < oldest.number);
  return { movements: [...movements, ...older], next: older.length > 0 ? log.next : next };
}

/** Adds the page that `log.next` names; any other page changes nothing. */
export function withOlder(log: MovementLog, cursor: bigint, { movements, next }: MovementsResponse): MovementLog {
  return cursor === log.next ? { movements: [...log.movements, ...movements], next } : log;
}
