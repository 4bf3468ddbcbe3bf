/**
 * Pages of the history, filtered. The cursor is the number of a movement, which never changes, so a page that was read once
 * has the same movements for ever. A request reads a bounded number of records: behind a filter that little passes, pages are
 * short.
 */

import { TOKENS } from '../coins/coin.js';
import type { MovementPage, MovementQuery, PaymentState, WalletMovement } from '../service.js';
import type { History } from './history.js';
import { counts, directionOf, type Movement, movedBy, netOf } from './movement.js';

/** Records that one request reads. */
const MAX_READ = 5_000;
const MS_PER_SECOND = 1_000;

export interface MovementPagesModules {
  readonly history: History;
  /** The state of an own transaction in flight; undefined otherwise. */
  readonly stateOf: (hash: string) => PaymentState | undefined;
  readonly labelOf: (hash: string) => string | null;
}

export async function readPage(query: MovementQuery, modules: MovementPagesModules): Promise<MovementPage> {
  const { history } = modules;
  const { newestFirst, limit } = query;
  const last = history.end - 1;
  const first = query.cursor ?? (newestFirst ? last : 0);
  const movements: WalletMovement[] = [];
  let read = 0;
  let next: number | null = null;
  for await (const movement of history.read(Math.min(first, last + 1), newestFirst, MAX_READ)) {
    const shown = showMovement(movement, modules);
    if (passes(shown, query)) movements.push(shown);
    read += 1;
    const isFull = movements.length === limit;
    if (!isFull && read < MAX_READ) continue;
    next = newestFirst ? movement.number - 1 : movement.number + 1;
    break;
  }
  const isEnd = next !== null && (newestFirst ? next < 0 : next > last);
  return { movements, next: isEnd ? null : next };
}

function showMovement(movement: Movement, { stateOf, labelOf }: Omit<MovementPagesModules, 'history'>): WalletMovement {
  const { hash, received: _received, spent: _spent, leaves: _leaves, isOwn, seenAt, ...shown } = movement;
  const moved = new Map(movedBy(movement));
  const amount = moved.get(TOKENS) ?? 0n;
  moved.delete(TOKENS);
  return {
    ...shown,
    hash,
    direction: directionOf(movement),
    state: (isOwn && hash !== null ? stateOf(hash) : undefined) ?? movement.state,
    seenAt: seenAt === 0 ? null : seenAt,
    amount,
    items: moved,
    net: counts(movement) ? (netOf(movement).get(TOKENS) ?? 0n) : 0n,
    label: hash === null ? null : labelOf(hash),
  };
}

/** Unix seconds: of the block, or else of when the wallet learned of it. */
function timeOf({ time, seenAt }: WalletMovement): number | null {
  return time ?? (seenAt === null ? null : Math.floor(seenAt / MS_PER_SECOND));
}

function passes(movement: WalletMovement, query: MovementQuery): boolean {
  const { kind, state, direction, address, from, to, fromHeight, toHeight } = query;
  return (
    (kind === undefined || movement.kind === kind) &&
    (state === undefined || movement.state === state) &&
    (direction === undefined || movement.direction === direction) &&
    (address === undefined || names(movement, address)) &&
    isBetween(timeOf(movement), from, to) &&
    isBetween(movement.height, fromHeight, toHeight)
  );
}

function names({ from, outputs }: WalletMovement, address: string): boolean {
  return from.includes(address) || outputs.some((output) => output.address === address);
}

function isBetween(value: number | null, from: number | undefined, to: number | undefined): boolean {
  if (from === undefined && to === undefined) return true;
  return value !== null && value >= (from ?? 0) && value <= (to ?? Number.MAX_SAFE_INTEGER);
}
