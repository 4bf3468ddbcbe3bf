/**
 * How a new transaction becomes the wallet's own: queue, coins and history change in one synchronous step, and in one write.
 * What cannot be written is undone, with what was staged behind it.
 */

import { transactionHash } from '../../chain/hash.js';
import type { Transaction } from '../../chain/types.js';
import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import type { CoinStore } from '../coins/coin-store.js';
import type { History } from '../history/history.js';
import type { OwnOutputs } from '../keys/own-outputs.js';
import type { WriteBuffer } from '../write-buffer.js';
import type { KeepIntent } from './intents.js';
import type { Outgoing, OutgoingKind, OwnTransaction } from './outgoing.js';

export interface StagingModules {
  readonly coins: CoinStore;
  readonly outgoing: Outgoing;
  readonly ownOutputs: OwnOutputs;
  readonly history: History;
  readonly writes: WriteBuffer;
  readonly clock: Clock;
}

/** What an own transaction is made for. */
export interface Made {
  readonly kind: OutgoingKind;
  readonly peer: string | null;
  readonly keep?: KeepIntent | undefined;
}

/** A new transaction that may not be on disk yet. */
export interface Staged {
  readonly made: OwnTransaction;
  /** It could not be written, or what was staged before it. */
  isUndone: boolean;
}

/** Stages a transaction as the wallet's own. Prepare the history for one that may have been made before. */
export function stageOwn(transaction: Transaction, { kind, peer, keep }: Made, modules: StagingModules): Staged {
  const { coins, outgoing, ownOutputs, history, writes, clock } = modules;
  const hash = transactionHash(transaction);
  const own = { hash, transaction, kind, peer, createdAt: clock.now() };
  const rejected = outgoing.rejected(hash);
  const movement = rejected && history.find(hash);
  // It was read from disk, which may not know yet how it ended.
  const before = rejected && movement && { ...rejected, state: movement.state, reason: movement.reason };
  const staged: Staged = { made: outgoing.add(own), isUndone: false };
  const { spent, made: expected } = coins.spendBy(hash, transaction);
  history.takeOwn(own, spent, expected);
  keep?.(hash);
  writes.onFailure(() => {
    coins.release([{ hash, transaction }]);
    outgoing.discard(hash, before);
    history.discard(hash, movement);
    ownOutputs.discard(transaction);
    staged.isUndone = true;
  });
  return staged;
}

/** Resolves when what was staged is durable: then it may be sent. Throws `wallet_write_failed`. */
export async function written(staged: Staged, { outgoing, writes }: StagingModules): Promise<OwnTransaction> {
  const failure = await writes.flush().then(
    () => undefined,
    (cause: unknown) => ({ cause }),
  );
  if (staged.isUndone || failure !== undefined) throw unwritten(failure);
  outgoing.release(staged.made.hash);
  return staged.made;
}

export function unwritten(failure: { readonly cause?: unknown } = {}): TesseraError {
  return new TesseraError('wallet_write_failed', 'the wallet cannot be written to disk; nothing was paid', failure);
}
