/** Makes a state from the blocks of a storage node, for the journal to go on from. Every block is checked. */

import type { Kv } from '../../db/kv.js';
import type { ChainRules } from '../../ledger/block/rules.js';
import { Verifier } from '../../ledger/verifier/verifier.js';
import { TesseraError } from '../../lib/errors.js';
import { inPieces } from '../../lib/pieces.js';
import { TimeSlices } from '../../lib/time-slices.js';
import type { HasClock } from '../../observability/modules.js';
import type { Link, Message } from '../../peers/network.js';
import { AdoptionCheck, FetchedBlocks } from '../blocks/adoption-check.js';
import type { AdoptedBlock } from '../state/adoption.js';
import { keys } from '../state/layout.js';
import { loadMempoolState } from '../state/load.js';
import type { MempoolState, StateRules } from '../state/state.js';
import { StateStore } from '../state/state-store.js';
import { encodePlace } from './ahead-of-journal.js';
import { beginTaking } from './snapshot-records.js';

/** Milliseconds that a storage node has to say how many blocks it has. */
const TIP_MS = 10_000;

export interface TakeBlocksOptions extends HasClock {
  readonly rules: StateRules;
  readonly chain: ChainRules;
  /** Threads that verify signatures beside the main one. */
  readonly verifyThreads: number;
  /** Key of the hash table; see `UtxoTable`. */
  readonly hashKey: Uint8Array;
}

export interface BlocksSource {
  readonly link: Link;
  readonly blocks: number;
  /** The last of these blocks that was stored before the journal begins, -1 for none; undefined when that is not known. */
  readonly stored?: number | undefined;
  readonly signal: AbortSignal;
  /** Called with the number of blocks that are here, and of all blocks. */
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Replaces the database by the state after storage's last block, as if command `seq` were the last; gives the number of
 * blocks. After an error it may hold a part of a state (`isBeingTaken`).
 */
export async function takeBlocks(
  kv: Kv,
  seq: number,
  options: TakeBlocksOptions,
  source: BlocksSource,
): Promise<number> {
  const total = await blocksOf(source);
  await beginTaking(kv);
  const { rules, hashKey, clock, verifyThreads } = options;
  const state = await loadMempoolState(kv, rules, { hashKey });
  const verifier = new Verifier({ threads: verifyThreads });
  try {
    const check = new AdoptionCheck(options.chain, { state, store: new StateStore(kv, clock), verifier, clock });
    await adoptAll(kv, total, { state, check, options, source });
  } finally {
    await verifier.close();
  }
  const place = { until: total - 1, at: source.stored ?? -1 };
  const batch = kv.batch();
  if (place.at < place.until) batch.put(keys.ahead, encodePlace(place));
  state.seal(seq, batch);
  await kv.write(batch, { sync: true });
  return total;
}

async function blocksOf({ link, blocks, signal }: BlocksSource): Promise<number> {
  const answer = await link.request('chain.tip.get', {}, { timeoutMs: TIP_MS, signal });
  if (answer.type !== 'chain.tip') throw new TesseraError('peer_unreachable', `it answered ${answer.type}`);
  const { next } = (answer as Message<'chain.tip'>).body;
  if (next >= blocks) return next;
  throw new TesseraError('peer_unreachable', `it has ${next} blocks, and the journal goes on behind ${blocks}`);
}

interface Adopting {
  readonly state: MempoolState;
  readonly check: AdoptionCheck;
  readonly options: TakeBlocksOptions;
  readonly source: BlocksSource;
}

async function adoptAll(kv: Kv, total: number, { state, check, options, source }: Adopting): Promise<void> {
  const { link, signal, onProgress } = source;
  const slices = new TimeSlices(options.clock);
  const turn = (): Promise<void> => slices.turn();
  const fetched = new FetchedBlocks(options.chain.producers, signal, turn);
  while (state.head.height + 1 < total) {
    const { height, hash } = state.head;
    for await (const block of fetched.from(link, { from: height + 1, to: total, previousHash: hash })) {
      await check.check(block);
      await adopt(kv, state, block, turn);
      onProgress(state.head.height + 1, total);
    }
    if (signal.aborted) throw new TesseraError('aborted', 'the node is stopping');
    if (state.head.height === height)
      throw new TesseraError('peer_unreachable', `it does not have block ${height + 1} after all`);
  }
}

/** Adopts a block as a command of its own number, so that the names of records differ. */
async function adopt(kv: Kv, state: MempoolState, block: AdoptedBlock, turn: () => Promise<void>): Promise<void> {
  const batch = kv.batch();
  const seq = state.seq + 1;
  state.begin(seq, batch);
  await inPieces(state.adoptBlock(block, batch), turn);
  state.seal(seq, batch);
  await kv.write(batch, { sync: false });
  state.written();
}
