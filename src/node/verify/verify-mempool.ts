/** What `tessera verify` checks of a mempool node: the state against its digest, against the journal, and against an archive. */

import { decodeTransaction, encodeTxOut } from '../../chain/codec.js';
import { outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { Kv } from '../../db/kv.js';
import { HASH_KEY_BYTES } from '../../ledger/utxo/keyed-hash.js';
import { equalBytes } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { systemRandom } from '../../lib/random.js';
import { loadMempoolState } from '../../mempool/state/load.js';
import type { Round } from '../../mempool/state/round.js';
import type { MempoolState } from '../../mempool/state/state.js';
import { readGenesis } from '../genesis-file.js';
import { stateRules, unicornSource } from '../roles/mempool/options.js';
import type { RoleDefinition, VerifiedData } from '../roles/role.js';
import { type ArchiveAccount, disagreement } from './archive-account.js';
import { replayJournal } from './replayed-state.js';

export async function verifyMempool(data: VerifiedData): Promise<void> {
  const progress = data.progress('outputs', 'outputs');
  const { utxos, seq } = await loadState(data, (outputs) => progress.update(outputs));
  progress.end();
  data.note(`${utxos.size} unspent outputs and the pool match their digest, after command ${seq}`);
  const journal = data.databases.get('journal');
  if (journal !== undefined) data.note(await checkReplay(journal, data));
}

export const holdMempoolAgainst: NonNullable<RoleDefinition['holdAgainst']> = async (archive, data, show) =>
  holdStateAgainst(archive, await loadState(data), show, data.signal);

async function checkReplay(journal: Kv, data: VerifiedData): Promise<string> {
  const { config, signal } = data;
  const progress = data.progress('replaying', 'commands');
  const { head, first, isFromNothing } = await replayJournal({
    state: data.kv,
    journal,
    rules: stateRules(await readGenesis(config.network.genesisFile), config),
    unicorn: unicornSource(config),
    signal,
    onProgress: (done, total) => progress.update(done, total),
  }).finally(() => progress.end());
  if (isFromNothing) return `the journal alone gives the same state, after command ${head}`;
  return `the journal goes on to command ${head}; it begins at command ${first}, so it was not applied from the first on`;
}

async function loadState(data: VerifiedData, onProgress = (_: number): void => undefined): Promise<MempoolState> {
  const rules = stateRules(await readGenesis(data.config.network.genesisFile), data.config);
  const hashKey = systemRandom.bytes(HASH_KEY_BYTES);
  return loadMempoolState(data.kv, rules, { hashKey, onProgress });
}

/** Returns the number of common outputs. Throws `data_corrupt` at the first that only one has, `data_lost`, `aborted`. */
async function holdStateAgainst(
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
