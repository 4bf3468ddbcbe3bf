/**
 * Gives up a payment that no mempool node has admitted, and those that spend its change: their inputs come back. One that may still get
 * into a block is kept: one made in its place could be paid as well.
 */

import { spentOutPoints } from '../chain/transaction.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import type { Wallet } from '../wallet/wallet.js';
import type { ChainFollower } from './chain-follower.js';
import type { Sender } from './sender.js';

const REASON = 'abandoned before a mempool node had admitted it';

export interface AbandonModules {
  readonly wallet: Wallet;
  readonly sender: Sender;
  readonly follower: ChainFollower;
}

/** Throws `payment_not_found`, `payment_sent`, `mempool_unreachable` if the chain cannot be asked, `wallet_write_failed`. */
export async function abandonPayment(hash: string, { wallet, sender, follower }: AbandonModules): Promise<void> {
  const family = wallet.settlement.familyOf(hash);
  const hashes = family.map((one) => one.hash);
  if (hashes.length === 0) {
    throw new TesseraError(
      'payment_not_found',
      `no payment ${hash.slice(0, 64)} waits to be sent; the history shows what became of it`,
    );
  }
  sender.withhold(hashes);
  try {
    const exposed = hashes.map((one) => sender.exposureOf(one));
    if (exposed.includes('out')) throw sent(hash);
    if (exposed.includes('refused')) {
      // A creation of items spends nothing by which the chain could tell.
      if (family.some(({ transaction }) => spentOutPoints(transaction).length === 0)) throw sent(hash);
      // The payment was refused. Only the chain can say that no block has it from an earlier attempt.
      const findings = await look(hashes, follower);
      if (hashes.some((one) => findings.get(one) !== 'absent')) throw sent(hash);
    }
    // What spends its change was made meanwhile goes too: it cannot have been sent before it.
    if (wallet.settlement.familyOf(hash).some(({ state }) => state !== 'queued')) throw sent(hash);
    await wallet.settlement.markRejected(hash, REASON).catch(notWritten);
  } finally {
    sender.letGo(hashes);
  }
}

async function look(hashes: readonly string[], follower: ChainFollower): ReturnType<ChainFollower['look']> {
  try {
    return await follower.look(hashes);
  } catch (cause) {
    const why = `the mempool node cannot be asked now, so nothing was abandoned: ${errorMessage(cause)}`;
    throw new TesseraError('mempool_unreachable', why, { cause });
  }
}

/** Reports that its end is only in memory, and is written with what comes next; a crash before that leaves it queued. */
function notWritten(cause: unknown): never {
  if (!isTesseraError(cause, 'wallet_write_failed')) throw cause;
  const what = 'the payment is abandoned once it can be: the history says so then';
  throw new TesseraError('wallet_write_failed', `${cause.message}; ${what}`, { cause });
}

function sent(hash: string): TesseraError {
  return new TesseraError(
    'payment_sent',
    `${hash} was sent, and may be in a block yet: it cannot be abandoned; wait for the history to say what became of it`,
  );
}
