/**
 * Finds a node whose state differs from that of the others at its journal (docs/adr/0043-digests-in-the-log.md). Each node keeps the
 * digests of its own last states after a block, and what the journal says of those of others. Where they differ, every node
 * says what it has; the one with fewer others on its side stops. Where that decides nothing until the journal, behind all of its own
 * words, has a digest of a later block, the one that spoke first is believed, but no node that was outvoted before.
 */

import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { decodeRecord } from '../../db/decode-record.js';
import type { KvBatch } from '../../db/kv.js';
import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { TesseraError } from '../../lib/errors.js';
import { SignalSource } from '../../lib/signal.js';
import type { DigestCommand, TrailMark } from '../state/commands.js';
import { keys } from '../state/layout.js';
import type { MempoolState } from '../state/state.js';

const KEPT_STATES = 16;
/** Commands whose marks are kept in memory, and told where nodes differ. */
const MAX_TRAIL = 4_096;
/** Other nodes whose word on one state is kept; more are not heard. */
const MAX_REPLICAS = 64;
const NAME_LENGTH = 12;

const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Height = Type.Integer({ minimum: -1, maximum: Number.MAX_SAFE_INTEGER });
const StateDigest = Type.Object({ seq: Count, height: Height, digest: Type.String() });
/** Digests of one state by node, in the order in which they were told. */
const Told = Type.Object({
  seq: Count,
  height: Height,
  votes: Type.Array(Type.Object({ replica: Type.String(), digest: Type.String() })),
  /** A tie here has not stopped this node: it does not later, when what spoke for it is forgotten. */
  isSettled: Type.Optional(Type.Literal(true)),
});
const Contents = Type.Object({ own: Type.Array(StateDigest), told: Type.Array(Told) });
type StateDigest = Static<typeof StateDigest>;
type Told = Static<typeof Told>;

interface Opponents {
  readonly digest: string;
  readonly replicas: readonly string[];
}

export class SharedDigests {
  /** The number of a command after which nodes differ, of which this one has not said all that it knows. */
  readonly contested = new SignalSource<number>();
  readonly #replica: string;
  #own: StateDigest[];
  #told: Told[];
  #trail: TrailMark[] = [];
  /** Trails of others at contested states, by command and node; not kept over a restart. */
  readonly #trails = new Map<string, readonly TrailMark[]>();
  /** Contested states whose trail this node has told. */
  readonly #answered = new Set<number>();

  /** `record`: value of the key `D`. */
  constructor(replica: string, record?: Uint8Array) {
    const { own, told } = record === undefined ? { own: [], told: [] } : decodeContents(record);
    this.#replica = replica;
    this.#own = [...own];
    this.#told = [...told];
  }

  noteApplied(seq: number, state: Pick<MempoolState, 'mark'>): void {
    this.#trail.push({ seq, mark: state.mark() });
    if (this.#trail.length >= 2 * MAX_TRAIL) this.#trail = this.#trail.slice(-MAX_TRAIL);
  }

  /** Keeps the digest after the command of a stored block, whether it changed the state or not. */
  afterBlock(seq: number, state: Pick<MempoolState, 'head' | 'sharedDigest'>, batch: KvBatch): void {
    this.#own = [...this.#own, { seq, height: state.head.height, digest: state.sharedDigest() }].slice(-KEPT_STATES);
    this.#write(batch);
  }

  /** Digest to write about the last state after a block; undefined when the journal has the word of a node on it already. */
  nextDigest(): DigestCommand | undefined {
    const last = this.#own.at(-1);
    if (last === undefined || last.height < 0 || this.#told.some(({ seq }) => seq === last.seq)) return undefined;
    return { kind: 'digest', replica: this.#replica, ...last, trail: [] };
  }

  /** Answer about a contested state: once, with the marks of the commands before it. */
  answer(seq: number): DigestCommand | undefined {
    const own = this.#own.find((one) => one.seq === seq);
    if (own === undefined || own.height < 0 || this.#answered.has(seq)) return undefined;
    this.#answered.add(seq);
    return { kind: 'digest', replica: this.#replica, ...own, trail: this.#trailTo(seq).slice(-MAX_TRAIL) };
  }

  /** The journal has not taken the answer about a state: it is told again with the next digest. */
  retract(seq: number): void {
    this.#answered.delete(seq);
  }

  /** Compares what another node says of a state. Throws `state_diverged` when this node is the one that differs. */
  compare(command: DigestCommand, batch: KvBatch): void {
    this.#note(command);
    const isHeard = this.#told.every((told) => !this.#answered.has(told.seq) || this.#hasSpoken(told));
    for (const told of this.#told) this.#judge(told, isHeard && command.seq > told.seq && this.#hasSpoken(told));
    this.#write(batch);
  }

  #note({ replica, seq, height, digest, trail }: DigestCommand): void {
    const known = this.#told.find((one) => one.seq === seq);
    const told = known ?? { seq, height, votes: [] };
    // The latest states are kept: a node that tells an older one late does not displace any.
    if (known === undefined) this.#told = [...this.#told, told].sort((a, b) => a.seq - b.seq).slice(-KEPT_STATES);
    if (!this.#told.includes(told)) return;
    if (told.votes.length < MAX_REPLICAS && !told.votes.some((vote) => vote.replica === replica))
      told.votes.push({ replica, digest });
    if (trail.length > 0) this.#trails.set(trailName(seq, replica), trail);
    const first = this.#told[0]?.seq ?? 0;
    for (const name of this.#trails.keys()) if (Number.parseInt(name, 10) < first) this.#trails.delete(name);
    for (const old of this.#answered) if (old < first) this.#answered.delete(old);
  }

  /** True if the others have heard this node's digest of a state. Their answers come before the digest of a later block. */
  #hasSpoken({ votes }: Told): boolean {
    return votes.some(({ replica }) => replica === this.#replica);
  }

  /** `isOver`: all nodes that have something to say of this state have said it. */
  #judge(told: Told, isOver: boolean): void {
    const own = this.#own.find(({ seq }) => seq === told.seq);
    // A state that was made from blocks may be ahead of the journal; it is compared once that has reached it.
    if (own === undefined || own.height > told.height) return;
    const others = told.votes.filter(({ replica }) => replica !== this.#replica);
    const against = largestOf(others.filter(({ digest }) => digest !== own.digest));
    if (against === undefined) return;
    // A node without blocks cannot be the one that is right, and has no digest to compare.
    if (own.height < 0) throw this.#divergence(own, against);
    if (!this.#answered.has(told.seq)) this.contested.emit(told.seq);
    const withUs = 1 + others.filter(({ digest }) => digest === own.digest).length;
    const outvoted = outvotedBefore(told.seq, this.#told);
    const first = told.votes.find(({ replica }) => !outvoted.has(replica));
    const isTied = against.replicas.length === withUs && first?.digest === against.digest;
    if (against.replicas.length > withUs || (isTied && isOver && !told.isSettled)) throw this.#divergence(own, against);
    if (isOver) told.isSettled = true;
  }

  #divergence(own: StateDigest, { digest, replicas }: Opponents): TesseraError {
    const names = replicas.map((replica) => replica.slice(0, NAME_LENGTH)).join(', ');
    const equal = this.#lastEqual(own.seq);
    const exact = this.#firstDifferent(own.seq, replicas);
    const after = equal === undefined ? '' : `after command ${equal.seq} (block ${equal.height}) and `;
    const since = exact === undefined ? `${after}by command ${own.seq}` : `with command ${exact}`;
    return new TesseraError(
      'state_diverged',
      own.height < 0
        ? `this node has no block, and the other mempool nodes (${names}) have: the journal goes on from blocks that no command of it has; make the state of this node with tessera rebuild --role mempool --archive FOLDER`
        : `the state of this node is not that of the other mempool nodes (${names}) after block ${own.height}: they came apart ${since}; put the db folder of this node aside and start it again, and it takes their state`,
      {
        details: {
          command: exact,
          after: equal?.seq,
          by: own.seq,
          height: own.height,
          own: own.digest,
          others: digest,
        },
      },
    );
  }

  /** The last state before a command which others have confirmed and nobody has denied. */
  #lastEqual(before: number): StateDigest | undefined {
    return this.#own.findLast(({ seq, digest }) => {
      const votes = this.#told.find((told) => told.seq === seq)?.votes ?? [];
      return seq < before && votes.length > 0 && votes.every((vote) => vote.digest === digest);
    });
  }

  /** The first command after which the marks of the nodes differ, where those after the command before it are equal. */
  #firstDifferent(seq: number, replicas: readonly string[]): number | undefined {
    const trails = replicas.map((replica) => this.#trails.get(trailName(seq, replica)));
    const theirs = trails.find((trail) => trail !== undefined);
    const own = new Map(this.#trail.map((one) => [one.seq, one.mark]));
    const both = theirs?.filter((one) => own.has(one.seq)) ?? [];
    const first = both.findIndex((one) => own.get(one.seq) !== one.mark);
    const isKnown = first > 0 || (first === 0 && both[0]?.seq === this.#trailTo(seq)[0]?.seq && this.#beginsEqual(seq));
    return isKnown ? both[first]?.seq : undefined;
  }

  /** True if the trail to a command begins right behind a state in which the nodes were equal. */
  #beginsEqual(seq: number): boolean {
    const equal = this.#lastEqual(seq)?.seq;
    return equal !== undefined && this.#trail.some((one) => one.seq === equal);
  }

  /** The marks from the last state that all nodes had in common to a command. */
  #trailTo(seq: number): readonly TrailMark[] {
    const after = this.#lastEqual(seq)?.seq ?? 0;
    return this.#trail.filter((one) => one.seq > after && one.seq <= seq);
  }

  #write(batch: KvBatch): void {
    batch.put(keys.digests, utf8(JSON.stringify({ own: this.#own, told: this.#told })));
  }
}

/** Nodes that were outvoted on a state before this one, and have said nothing since that nobody denies. `all` is in the order of states. */
function outvotedBefore(seq: number, all: readonly Told[]): ReadonlySet<string> {
  const outvoted = new Set<string>();
  for (const { votes } of all.filter((told) => told.seq < seq)) {
    for (const { replica, digest } of votes) {
      const denied = votes.filter((vote) => vote.digest !== digest);
      const against = largestOf(denied)?.replicas.length ?? 0;
      if (against > votes.length - denied.length) outvoted.add(replica);
      if (against === 0) outvoted.delete(replica);
    }
  }
  return outvoted;
}

function largestOf(votes: Told['votes']): Opponents | undefined {
  const digests = [...new Set(votes.map(({ digest }) => digest))];
  const sides = digests.map((digest) => ({
    digest,
    replicas: votes.filter((vote) => vote.digest === digest).map(({ replica }) => replica),
  }));
  return sides.sort((a, b) => b.replicas.length - a.replicas.length)[0];
}

function trailName(seq: number, replica: string): string {
  return `${seq} ${replica}`;
}

function decodeContents(bytes: Uint8Array): Static<typeof Contents> {
  return decodeRecord('list of digests', bytes, (reader) => {
    const contents: unknown = JSON.parse(fromUtf8(reader.rest()));
    if (!Value.Check(Contents, contents)) throw new RangeError('not as the schema asks');
    return contents;
  });
}
