/**
 * Compares the unspent outputs of a mempool node with those of an archive. They may differ by the block that is being made,
 * and by the blocks that the archive is ahead.
 */

import { decodeTransaction, encodeTxOut } from '../../chain/codec.js';
import { outPointKey, spentOutPoints } from '../../chain/transaction.js';
import { equalBytes } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import type { Round } from '../../mempool/state/round.js';
import type { MempoolState } from '../../mempool/state/state.js';
import { type ArchiveAccount, disagreement } from './archive-account.js';

/** Returns the number of common outputs. Throws `data_corrupt` at the first that only one has, `data_lost`, `aborted`. */
export async function holdStateAgainst(
  archive: ArchiveAccount,
  { head, round, utxos }: MempoolState,
  onProgress: (outputs: number) => void,
  signal: AbortSignal,
): Promise<number> {
  await archive.holdHead('the mempool node', head.height, head.hash);
  const later = await archive.after(head.height);
  const making = changesOf(round);
  let same = 0;
  for await (const [outPoint, txOut] of archive.unspent()) {
    if (signal.aborted) throw new TesseraError('aborted', 'the check was cancelled');
    const slot = utxos.find(outPoint);
    const key = outPointKey(outPoint);
    if (slot === 0) {
      if (later.madeBy.has(outPoint.tHash) || making.spent.has(key)) continue;
      throw disagreement(`the mempool node lacks ${key}, which is unspent in the archive`);
    }
    if (!equalBytes(encodeTxOut(utxos.output(slot)), encodeTxOut(txOut))) {
      throw disagreement(`the mempool node has another output ${key} than the archive`);
    }
    same++;
    onProgress(same);
  }
  let onlyHere = 0;
  for (const slot of utxos.slots()) {
    const outPoint = utxos.outPoint(slot);
    if (making.madeBy.has(outPoint.tHash) || later.spent.has(outPointKey(outPoint))) onlyHere++;
  }
  // An output of the block being made is in the archive too, once that block is stored.
  if (utxos.size > same + onlyHere) {
    throw disagreement(
      `the mempool node has ${utxos.size} unspent outputs, of which ${utxos.size - same - onlyHere} or more are not in the archive`,
    );
  }
  return same;
}

function changesOf(round: Round | null): { readonly madeBy: ReadonlySet<string>; readonly spent: ReadonlySet<string> } {
  const transactions = round?.transactions ?? [];
  const spent = transactions
    .filter(({ arrival }) => arrival > 0)
    .flatMap(({ bytes }) => spentOutPoints(decodeTransaction(bytes)).map(outPointKey));
  return { madeBy: new Set(transactions.map(({ hash }) => hash)), spent: new Set(spent) };
}
