/**
 * A state that was made from blocks is ahead of the journal that goes on from it
 * (docs/adr/0048-a-state-from-storage.md). Until the journal has come to the last of these blocks, its transactions may
 * be in one of them or spend what they spend: these are left out, and the others of their group are taken.
 */

import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Turn } from '../../chain/decode-in-pieces.js';
import { createdOutput, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { OutPoint, Transaction } from '../../chain/types.js';
import { decodeRecord } from '../../db/decode-record.js';
import type { KvBatch } from '../../db/kv.js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { inPieces } from '../../lib/pieces.js';
import type { CandidateTx } from '../state/acceptance.js';
import { keys } from '../state/layout.js';
import { decodeStatus } from '../state/records.js';
import type { Standing } from '../state/retention.js';
import type { MempoolState } from '../state/state.js';
import type { StateStore } from '../state/state-store.js';

/** The most outputs remembered as spent by transactions that were left out: more than two pools have. */
const MAX_SPENT = 500_000;

const Height = Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER });
const PlaceJson = Type.Object({ until: Height, at: Height });

export interface JournalPlace {
  /** The last block that the state was made from. */
  readonly until: number;
  /** The last block that the journal has come to; -1 when that is not known yet. */
  readonly at: number;
}

type Group = readonly CandidateTx[];
type AheadState = Pick<MempoolState, 'head' | 'rounds' | 'coins' | 'waitingSince' | 'passBlock' | 'giveUpRounds'>;

export class AheadOfJournal {
  readonly #store: Pick<StateStore, 'getMany'>;
  readonly #state: AheadState;
  readonly #turn: Turn;
  #place: JournalPlace | undefined;
  /** The last block, of those that are here, whose cut the journal has come to since the start. */
  #cut = -1;
  /** Outputs spent by transactions that were left out since the start: other transactions that spend them were refused. */
  readonly #spent = new Set<string>();

  private constructor(store: Pick<StateStore, 'getMany'>, state: AheadState, turn: Turn, place: JournalPlace) {
    this.#store = store;
    this.#state = state;
    this.#turn = turn;
    this.#place = place;
  }

  /** Reads how far the state is ahead; undefined when it is not. */
  static async read(
    store: Pick<StateStore, 'get' | 'getMany'>,
    state: AheadState,
    turn: Turn,
  ): Promise<AheadOfJournal | undefined> {
    const record = await store.get(keys.ahead);
    return record && new AheadOfJournal(store, state, turn, decodePlace(record));
  }

  /** Position of the state as far as the journal has come. */
  get standing(): Standing {
    const { waitingSince } = this.#state;
    return this.#place === undefined ? waitingSince : { ...waitingSince, height: undefined };
  }

  /** The groups without transactions of later blocks. `isOwn`: this node has judged each group as a whole by this state. */
  async dropIncluded(groups: readonly Group[], { isOwn }: { readonly isOwn: boolean }): Promise<readonly Group[]> {
    if (this.#place === undefined) return groups;
    const { at } = this.#place;
    const hashes = groups.flat().map(({ hash }) => hash);
    const records = await this.#store.getMany(hashes.map(keys.status));
    const heights = new Map(hashes.map((hash, i) => [hash, heightIn(records[i])]));
    const heightOf = ({ hash }: CandidateTx): number => heights.get(hash) ?? -1;
    const made = new Map<string, Transaction>();
    return groups.flatMap((group) => {
      const rest = group.filter((candidate) => heightOf(candidate) <= at);
      // A group with a transaction of a block that the journal has come to was refused as a whole.
      const isWhole = isOwn || rest.length < 2 || rest.some((candidate) => heightOf(candidate) >= 0);
      const parts = isWhole ? [rest] : this.#parts(rest, made);
      for (const { hash, tx } of parts[0] ?? []) made.set(hash, tx);
      for (const candidate of group) if (heightOf(candidate) > at) this.#note(candidate);
      return parts;
    });
  }

  /** A group without what a later block has made impossible; that follows singly or by trade. `made`: earlier in the command. */
  #parts(group: Group, made: ReadonlyMap<string, Transaction>): readonly Group[] {
    const gone = this.#goneOf(group, made);
    const isContrary = ({ tx }: CandidateTx): boolean =>
      spentOutPoints(tx).some((at) => this.#spent.has(outPointKey(at)));
    if (gone.size === 0 || gone.size === group.length || group.some(isContrary)) return [group];
    const parts = new Map<string, CandidateTx[]>();
    for (const candidate of group.filter((one) => gone.has(one))) {
      const name = nameOf(candidate);
      parts.set(name, [...(parts.get(name) ?? []), candidate]);
    }
    return [group.filter((one) => !gone.has(one)), ...parts.values()];
  }

  /** Members that spend outputs which are not there, those that depend on such members, and the others of their trades. */
  #goneOf(group: Group, made: ReadonlyMap<string, Transaction>): ReadonlySet<CandidateTx> {
    const gone = new Set<CandidateTx>();
    const there = new Map([...made, ...group.map(({ hash, tx }) => [hash, tx] as const)]);
    const isThere = (at: OutPoint): boolean => {
      const parent = there.get(at.tHash);
      return this.#state.coins.has(at) || (parent !== undefined && createdOutput(parent, at.n) !== undefined);
    };
    for (let before = -1; gone.size > before; ) {
      before = gone.size;
      const trades = new Set([...gone].map(nameOf));
      for (const one of group) {
        if (spentOutPoints(one.tx).every(isThere) && !trades.has(nameOf(one))) continue;
        gone.add(one);
        there.delete(one.hash);
      }
    }
    return gone;
  }

  #note({ tx }: CandidateTx): void {
    for (const at of spentOutPoints(tx)) if (this.#spent.size < MAX_SPENT) this.#spent.add(outPointKey(at));
  }

  /** Notes that the journal has come to the cut of a block, which may be here already. Repeated and late cuts change nothing. */
  async reachCut(height = Number.MAX_SAFE_INTEGER, time: number, batch: KvBatch): Promise<void> {
    if (this.#place === undefined || height <= this.#place.at) return;
    if (height < this.#cut || this.#state.rounds.length > 0) return;
    if (height <= this.#state.head.height) this.#cut = height;
    await this.#passBlock(height, time, batch);
  }

  /** Notes that the journal has come to a stored block. `time`: set for a block that replaces this node's own, with what was cut on top. */
  async reachBlock(height: number, time: number | null, batch: KvBatch): Promise<void> {
    // The journal may tell of a block twice.
    if (this.#place === undefined || height <= this.#place.at) return;
    const { until } = this.#place;
    await this.#passBlock(height, time, batch);
    if (time !== null && height <= until) await inPieces(this.#state.giveUpRounds(time, batch), this.#turn);
    this.#place = height < until ? { until, at: height } : undefined;
    if (this.#place !== undefined) batch.put(keys.ahead, encodePlace(this.#place));
    else {
      this.#spent.clear();
      batch.del(keys.ahead);
    }
  }

  async #passBlock(height: number, time: number | null, batch: KvBatch): Promise<void> {
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

/** Name of a unit that is judged together: of a transaction, or of the members of a trade. */
function nameOf({ hash, tx }: CandidateTx): string {
  return tx.druidInfo === null ? `t${hash}` : `d${tx.druidInfo.druid}`;
}

/** The height of the block that a status names; -1 when it names none. */
function heightIn(record: Uint8Array | undefined): number {
  if (record === undefined) return -1;
  const { status, additionalInfo } = decodeStatus(record);
  const [, height] = (status === 'Confirmed' && /^In block (\d+) /.exec(additionalInfo)) || [];
  return height === undefined ? -1 : Number(height);
}
