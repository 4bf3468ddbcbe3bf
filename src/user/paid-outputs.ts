/**
 * Whether a payment is in the chain, by what it has made for others: a payment without change leaves the wallet no output to
 * find. A page of outputs may begin behind a given one, which must be there, so one question tells of one output however
 * many there are at its address.
 */

import { createdOutPoints } from '../chain/transaction.js';
import type { Link, RequestOptions } from '../peers/network.js';
import type { OwnTransaction } from '../wallet/payments/outgoing.js';
import type { TransactionStatus } from './evidence.js';

/** Payments that are looked for in one go; others have their turn when they are looked up again. */
const MAX_ASKED = 100;

/**
 * By hash: those of which an output is unspent in the chain. The others may be there too, with outputs that were spent since,
 * or were not asked for.
 */
export async function findPaid(
  link: Link,
  payments: readonly OwnTransaction[],
  options: RequestOptions,
): Promise<ReadonlyMap<string, TransactionStatus>> {
  const found = new Map<string, TransactionStatus>();
  for (const { hash, transaction } of payments.slice(0, MAX_ASKED)) {
    const [paid] = createdOutPoints(transaction, hash);
    const address = paid?.txOut.scriptPublicKey ?? null;
    if (paid === undefined || address === null) continue;
    const after = { t_hash: paid.outPoint.tHash, n: paid.outPoint.n };
    try {
      const answer = await link.request('utxos.get', { addresses: [address], after }, options);
      if (answer.type === 'utxos') found.set(hash, { hash, status: 'Confirmed', info: 'its payee has it' });
    } catch {
      // It is not there, or the node does not say.
      options.signal?.throwIfAborted();
    }
  }
  return found;
}
