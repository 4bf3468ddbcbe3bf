/**
 * A state that was made from blocks is ahead of the journal that goes on from it (docs/adr/0048-a-state-from-storage.md). Until the
 * journal has come to the last of these blocks, what it brings may be in one of them: that is left out, and the others of its group are
 * taken, as they were before that block. A state that has applied every command has no such record, and nothing of this.
 */

import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Turn } from '../../chain/decode-in-pieces.js';
import { decodeRecord } from '../../db/decode-record.js';
import type { KvBatch } from '../../db/kv.js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { inPieces } from '../../lib/pieces.js';
import type { CandidateTx } from './acceptance.js';
import { keys } from './layout.js';
import { decodeStatus } from './records.js';
import type { MempoolState } from './state.js';
import type { StateStore } from './state-store.js';

const Height = Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER });
const PlaceJson = Type.Object({ until: Height, at: Height });

export interface JournalPlace {
  /** The last block that the state was made from. */
  readonly until: number;
  /** The last block that the journal has come to; -1 when that is not known yet. */
  readonly at: number;
}

export class AheadOfJournal {
  readonly #store: Pick<StateStore, 'getMany'>;
  readonly #state: Pick<MempoolState, 'head' | 'rounds' | 'passBlock' | 'giveUpRounds'>;
  readonly #turn: Turn;
  #place: JournalPlace | undefined;
  /** The last block to whose cut the journal has come since the start. */
  #cut = -1;

  private constructor(
    store: Pick<StateStore, 'getMany'>,
    state: Pick<MempoolState, 'head' | 'rounds' | 'passBlock' | 'giveUpRounds'>,
    turn: Turn,
    place: JournalPlace,
  ) {
    this.#store = store;
    this.#state = state;
    this.#turn = turn;
    this.#place = place;
  }

  /** Undefined when the state is not ahead. */
  static async read(
    store: Pick<StateStore, 'get' | 'getMany'>,
    state: Pick<MempoolState, 'head' | 'rounds' | 'passBlock' | 'giveUpRounds'>,
    turn: Turn,
  ): Promise<AheadOfJournal | undefined> {
    const record = await store.get(keys.ahead);
    return record && new AheadOfJournal(store, state, turn, decodePlace(record));
  }

  /** The groups without what a block has to which the journal comes later. */
  async left(groups: readonly (readonly CandidateTx[])[]): Promise<readonly (readonly CandidateTx[])[]> {
    if (this.#place === undefined) return groups;
    const { at } = this.#place;
    const hashes = groups.flat().map(({ hash }) => hash);
    const records = await this.#store.getMany(hashes.map(keys.status));
    const isThere = new Set(hashes.filter((_, i) => heightIn(records[i]) > at));
    return groups.map((group) => group.filter(({ hash }) => !isThere.has(hash)));
  }

  /**
   * The journal comes to the cut of a block: if that is here already, nothing else is done with the command. One that comes behind that block,
   * or the cut of a later one, is late.
   */
  async comesTo(height = Number.MAX_SAFE_INTEGER, time: number, batch: KvBatch): Promise<void> {
    if (this.#place === undefined || height <= this.#place.at) return;
    if (height < this.#cut || this.#state.rounds.length > 0) return;
    if (height <= this.#state.head.height) this.#cut = height;
    await this.#come(height, time, batch);
  }

  /**
   * The same where that block is stored then. With a time it is one that storage had in place of the node's own: what the journal has
   * cut so far on top of that, the other nodes gave up.
   */
  async passed(height: number, time: number | null, batch: KvBatch): Promise<void> {
    await this.#come(height, time, batch);
    if (this.#place === undefined) return;
    const { until, at } = this.#place;
    if (time !== null && height > at && height <= until)
      await inPieces(this.#state.giveUpRounds(time, batch), this.#turn);
    this.#place = height < until ? { until, at: Math.max(at, height) } : undefined;
    if (this.#place === undefined) batch.del(keys.ahead);
    else batch.put(keys.ahead, encodePlace(this.#place));
  }

  async #come(height: number, time: number | null, batch: KvBatch): Promise<void> {
    if (this.#place === undefined || height > this.#state.head.height) return;
    await inPieces(this.#state.passBlock(height, time, batch), this.#turn);
  }
}

export function encodePlace(place: JournalPlace): Uint8Array {
  return utf8(JSON.stringify(place));
}

function decodePlace(bytes: Uint8Array): JournalPlace {
  return decodeRecord('place of the journal', bytes, (reader) => {
    const place: unknown = JSON.parse(fromUtf8(reader.rest()));
    if (!Value.Check(PlaceJson, place)) throw new RangeError('not as the schema asks');
    return place;
  });
}

/** The block that a status names; -1 when it names none. */
function heightIn(record: Uint8Array | undefined): number {
  if (record === undefined) return -1;
  const { status, additionalInfo } = decodeStatus(record);
  const [, height] = (status === 'Confirmed' && /^In block (\d+) /.exec(additionalInfo)) || [];
  return height === undefined ? -1 : Number(height);
}
