/** The history as its owner reads it, in filtered pages. A request reads a bounded number of records: pages may be short. */

import type { Transaction } from '../../chain/types.js';
import { TOKENS } from '../coins/coin.js';
import { CALLERS, type IdempotencyKeys } from '../idempotency-keys.js';
import type { WalletParts } from '../modules.js';
import type { OwnTransaction } from '../payments/outgoing.js';
import type { MovementPage, MovementQuery, OwnPayment, WalletMovement } from '../service.js';
import { counts, directionOf, type Movement, movedBy, netOf } from './movement.js';

/** The most records that one request reads. */
const MAX_READ = 5_000;
const MS_PER_SECOND = 1_000;

export interface HistoryPagesModules extends Pick<WalletParts, 'history' | 'labels' | 'outgoing'> {
  readonly idempotencyKeys: Pick<IdempotencyKeys, 'nameOf'>;
  readonly owns: (address: string) => boolean;
}

export class HistoryPages {
  readonly #modules: HistoryPagesModules;

  constructor(modules: HistoryPagesModules) {
    this.#modules = modules;
  }

  /** Own transactions, oldest first, without halves of trades that are in no block: with one, anybody could make a payment of it. */
  async outgoing(limit?: number): Promise<readonly (readonly [hash: string, transaction: Transaction])[]> {
    const list = await this.#modules.outgoing.latest(limit);
    const shown = list.filter(({ kind, state }) => kind !== 'trade' || state === 'confirmed');
    return shown.map(({ hash, transaction }) => [hash, transaction] as const);
  }

  async payments(limit?: number): Promise<readonly OwnPayment[]> {
    const list = await this.#modules.outgoing.latest(limit);
    const movements = await this.#modules.history.byHash(list.map(({ hash }) => hash));
    return list.map((entry) => this.#showPayment(entry, movements.get(entry.hash)));
  }

  async movements(query: MovementQuery): Promise<MovementPage> {
    const { history } = this.#modules;
    const { newestFirst, limit, idempotencyKey } = query;
    if (idempotencyKey !== undefined) {
      const shown = (await this.#madeFor(idempotencyKey)).map((movement) => this.#showMovement(movement));
      return { movements: shown.filter((one) => passes(one, query)), next: null };
    }
    const last = history.end - 1;
    const first = query.cursor ?? (newestFirst ? last : 0);
    const movements: WalletMovement[] = [];
    let read = 0;
    let next: number | null = null;
    for await (const movement of history.read(Math.min(first, last + 1), newestFirst, MAX_READ)) {
      const shown = this.#showMovement(movement);
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

  async #madeFor(key: string): Promise<readonly Movement[]> {
    const { history, idempotencyKeys } = this.#modules;
    const hash = await idempotencyKeys.nameOf({ scope: CALLERS, key });
    return hash === undefined ? [] : [...(await history.byHash([hash])).values()];
  }

  #showPayment({ transaction, ...entry }: OwnTransaction, movement: Movement | undefined): OwnPayment {
    const { labels, owns } = this.#modules;
    const known = new Map(movement?.outputs.map(({ n, own }) => [n, own]));
    const outputs = transaction.outputs.map(({ value, scriptPublicKey: address }, n) => ({
      address,
      value,
      // A key that was imported later does not change what the payment was then.
      own: known.get(n) ?? (address !== null && owns(address)),
    }));
    return {
      ...entry,
      outputs,
      height: movement?.height ?? null,
      time: movement?.time ?? null,
      amount: (movement && movedBy(movement).get(TOKENS)) ?? 0n,
      fee: movement?.fee ?? null,
      toSelf: movement !== undefined && directionOf(movement) === 'self',
      label: labels.get('transaction', entry.hash),
    };
  }

  #showMovement(movement: Movement): WalletMovement {
    const { labels, outgoing } = this.#modules;
    const { hash, received: _received, spent: _spent, leaves: _leaves, isOwn, seenAt, ...shown } = movement;
    const moved = new Map(movedBy(movement));
    const amount = moved.get(TOKENS) ?? 0n;
    moved.delete(TOKENS);
    return {
      ...shown,
      hash,
      direction: directionOf(movement),
      state: (isOwn && hash !== null ? outgoing.get(hash)?.state : undefined) ?? movement.state,
      seenAt: seenAt === 0 ? null : seenAt,
      amount,
      items: moved,
      net: counts(movement) ? (netOf(movement).get(TOKENS) ?? 0n) : 0n,
      label: hash === null ? null : labels.get('transaction', hash),
    };
  }
}

/** Unix seconds of the block, or else of the time when the wallet learned of it. */
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
