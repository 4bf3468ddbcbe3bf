/** Checks of `tessera verify` on a mempool node: the state against its digest, against the journal, and against an archive. */

import { decodeTransaction, encodeTxOut } from '../../chain/codec.js';
import { outPointKey, spentOutPoints } from '../../chain/transaction.js';
import { readU64 } from '../../db/keys.js';
import type { Kv, KvBatch, KvEntry, KvRange } from '../../db/kv.js';
import { PendingBatch, unsealRecord, writesOf } from '../../db/record.js';
import type { Journal } from '../../journal/journal.js';
import { keys as journalKeys, LocalJournal } from '../../journal/local-journal.js';
import { HASH_KEY_BYTES } from '../../ledger/utxo/keyed-hash.js';
import { asBuffer, equalBytes, keptBytes } from '../../lib/bytes.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { systemRandom } from '../../lib/random.js';
import { Applier, type ApplierModules } from '../../mempool/state/applier.js';
import { keys } from '../../mempool/state/layout.js';
import { loadMempoolState } from '../../mempool/state/load.js';
import type { Round } from '../../mempool/state/round.js';
import type { MempoolState, StateRules } from '../../mempool/state/state.js';
import { StateStore } from '../../mempool/state/state-store.js';
import { noMetrics } from '../../observability/metrics.js';
import { readGenesis } from '../genesis-file.js';
import { stateRules, unicornSource } from '../roles/mempool/options.js';
import type { RoleDefinition, VerifiedData } from '../roles/role.js';
import { type ArchiveAccount, disagreement } from './archive-account.js';

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

/** Returns the number of common outputs. Throws `data_corrupt` at the first output that only one side has, `data_lost`, `aborted`. */
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

const KNOWN = asBuffer(keys.known(''));

interface ReplayOptions {
  readonly state: Kv;
  readonly journal: Kv;
  readonly rules: StateRules;
  readonly unicorn: ApplierModules['unicorn'];
  readonly signal: AbortSignal;
  /** Called with the number of commands done, and of all that a replay takes. */
  readonly onProgress: (done: number, total: number) => void;
}

interface Replayed {
  readonly head: number;
  /** The first command that the journal still has. */
  readonly first: number;
  /** True if the journal gave the same state from nothing; false when it begins too late for that. */
  readonly isFromNothing: boolean;
}

/** Replays the journal. Throws `data_corrupt` when it does not give the same state, or lacks commands of the state; `aborted`. */
async function replayJournal(options: ReplayOptions): Promise<Replayed> {
  const journal = await LocalJournal.open({}, { kv: options.journal, clock: systemClock, metrics: noMetrics });
  try {
    const stored = await stateAfter(options.state, journal, options);
    const base = await options.journal.get(journalKeys.base);
    const first = base === undefined ? 1 : readU64(base, 0);
    const replayed = { head: journal.head, first, isFromNothing: first <= 1 };
    if (replayed.isFromNothing && (await stateAfter(undefined, journal, options)) !== stored) {
      throw new TesseraError(
        'data_corrupt',
        `the journal does not give the state that the database holds, after command ${journal.head}: run tessera rebuild`,
      );
    }
    return replayed;
  } finally {
    await journal.close();
  }
}

/** The digest of the state after the last command; without `base`, from nothing. */
async function stateAfter(base: Kv | undefined, journal: LocalJournal, options: ReplayOptions): Promise<string> {
  const { rules, unicorn, signal, onProgress } = options;
  const kv = new UnwrittenKv(base);
  const state = await loadMempoolState(kv, rules, { hashKey: systemRandom.bytes(HASH_KEY_BYTES) });
  const applier = new Applier({
    journal: new UnchangedJournal(journal),
    store: new StateStore(kv, systemClock),
    state,
    unicorn,
    clock: systemClock,
    metrics: noMetrics,
    progress: {
      replaying: onProgress,
      loading: () => undefined,
      adopting: () => undefined,
      adopted: () => undefined,
      adoptingNow: undefined,
    },
  });
  applier.failed.catch(() => undefined);
  const stop = (): void => void applier.stop().catch(() => undefined);
  signal.addEventListener('abort', stop, { once: true });
  try {
    await applier.start();
    return state.digest();
  } catch (error) {
    throw signal.aborted ? new TesseraError('aborted', 'the check was cancelled') : error;
  } finally {
    signal.removeEventListener('abort', stop);
    await applier.stop();
  }
}

/** The database, unchanged. Of a replay's writes only those are kept that it reads again: which transactions may not come again. */
class UnwrittenKv implements Kv {
  readonly #base: Kv | undefined;
  readonly #known = new Map<string, Uint8Array>();

  constructor(base: Kv | undefined) {
    this.#base = base;
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return (await this.getMany([key]))[0];
  }

  async getMany(wanted: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    const stored = (await this.#base?.getMany(wanted)) ?? [];
    return wanted.map((key, i) => this.#known.get(nameOf(key)) ?? stored[i]);
  }

  batch(): KvBatch {
    return new PendingBatch();
  }

  async write(batch: KvBatch): Promise<void> {
    for (const { key, record } of writesOf(batch)) {
      const isKnown = asBuffer(key).subarray(0, KNOWN.length).equals(KNOWN);
      if (isKnown && record !== undefined) this.#known.set(nameOf(key), keptBytes(unsealRecord(key, record)));
    }
  }

  async *entries(range: KvRange): AsyncGenerator<KvEntry> {
    if (this.#base !== undefined) yield* this.#base.entries(range);
  }

  /** Does nothing: whoever opened the database closes it. */
  async close(): Promise<void> {}
}

/** The journal, unchanged: nothing is appended to it or forgotten. */
class UnchangedJournal implements Journal {
  readonly #journal: LocalJournal;

  constructor(journal: LocalJournal) {
    this.#journal = journal;
  }

  get head(): number {
    return this.#journal.head;
  }

  get problem(): string | null {
    return this.#journal.problem;
  }

  readonly isShared = false;

  sync(): Promise<number> {
    return this.#journal.sync();
  }

  start(): Promise<void> {
    return this.#journal.start();
  }

  append(): never {
    throw new TesseraError('internal_error', 'a check appends nothing to the journal');
  }

  subscribe(...args: Parameters<Journal['subscribe']>): ReturnType<Journal['subscribe']> {
    return this.#journal.subscribe(...args);
  }

  before(seq: number, count: number): number {
    return this.#journal.before(seq, count);
  }

  async compact(): Promise<void> {}

  async close(): Promise<void> {}
}

function nameOf(key: Uint8Array): string {
  return asBuffer(key).toString('latin1');
}
