/** Writes long answers in pieces, between which the event loop goes round; bounded in number and in bytes that readers have not taken. */

import type { FastifyReply } from 'fastify';
import type { Clock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { addressGroup } from '../../lib/ip-address.js';
import { stringifyExact } from '../../lib/json.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { clientAddress } from './client-address.js';

/** Characters of one piece, under a millisecond of work. A shorter answer is not a long one. */
const SLICE_CHARS = 32_768;
const MAX_MAKING = 8;
const MAX_UNSENT_BYTES = 256 * 1024 * 1024;
/** Time limit for a reader to take a long answer, in ms. */
const SEND_MS = 120_000;
/** Number of levels of lists and objects that are written part by part; deeper ones are small. */
const LEVELS = 5;

/** An answer that is known to be long before it is made: it is admitted first, and made in a turn of its own. */
export class PlannedAnswer<T = unknown> {
  readonly make: () => T;

  constructor(make: () => T) {
    this.make = make;
  }

  /** This answer as part of a larger one. */
  within<W>(whole: (part: T) => W): PlannedAnswer<W> {
    return new PlannedAnswer(() => whole(this.make()));
  }
}

export class LongAnswers {
  readonly #clock: Clock;
  readonly #slices: TimeSlices;
  #making = 0;
  #unsentBytes = 0;

  constructor({ clock, slices }: { readonly clock: Clock; readonly slices: TimeSlices }) {
    this.#clock = clock;
    this.#slices = slices;
  }

  /**
   * The JSON of a value; a promise if it is long. Throws `overloaded`, and `aborted` when the client disconnects, unless the request
   * `isDone`: then its answer is as large as its body, and another request may wait for it.
   */
  json(value: unknown, reply: FastifyReply, isDone = false): string | Promise<Buffer> {
    if (value instanceof PlannedAnswer) return this.#planned(value, reply);
    const parts = partsOf(value, LEVELS);
    const text = nextSlice(parts);
    if (text.length < SLICE_CHARS) return text;
    const inSlices = () => this.#inSlices(text, parts, reply, isDone);
    return isDone ? inSlices() : this.make(inSlices);
  }

  /** Runs a task that makes a long answer; throws `overloaded` when there are too many, or when readers are slow to take theirs. */
  async make<T>(task: () => Promise<T>): Promise<T> {
    if (this.#making >= MAX_MAKING || this.#unsentBytes > MAX_UNSENT_BYTES) {
      throw new TesseraError('overloaded', 'The node is making many long answers; try again, or ask for less at once.');
    }
    this.#making++;
    try {
      return await task();
    } finally {
      this.#making--;
    }
  }

  /** Counts the bytes of an answer until they are sent, and closes the connection of a reader who is too slow. */
  watch(bytes: number, reply: FastifyReply): void {
    // The connection of a client who is gone is closed already, and no event will come.
    if (bytes < SLICE_CHARS || reply.raw.destroyed) return;
    this.#unsentBytes += bytes;
    const timer = this.#clock.after(SEND_MS, () => reply.raw.destroy());
    reply.raw.once('close', () => {
      timer.cancel();
      this.#unsentBytes -= bytes;
    });
  }

  #planned(answer: PlannedAnswer, reply: FastifyReply): Promise<Buffer> {
    return this.make(async () => {
      await this.#turn(reply);
      const value = answer.make();
      return this.#inSlices('', partsOf(value, LEVELS), reply, false);
    });
  }

  #turn({ request }: FastifyReply): Promise<void> {
    return this.#slices.turn(addressGroup(clientAddress(request)));
  }

  async #inSlices(begun: string, parts: Generator<string>, reply: FastifyReply, isDone: boolean): Promise<Buffer> {
    const chunks = [Buffer.from(begun, 'utf8')];
    for (;;) {
      await this.#turn(reply);
      if (reply.raw.destroyed && !isDone) throw new TesseraError('aborted', 'The client has disconnected.');
      const text = nextSlice(parts);
      if (text === '') break;
      chunks.push(Buffer.from(text, 'utf8'));
    }
    const bytes = Buffer.concat(chunks);
    this.watch(bytes.length, reply);
    return bytes;
  }
}

/** The text of the next slice; empty at the end. */
function nextSlice(parts: Generator<string>): string {
  let text = '';
  while (text.length < SLICE_CHARS) {
    const { done, value } = parts.next();
    if (done === true) break;
    text += value;
  }
  return text;
}

/** The JSON of a value in parts, which together are the text of `stringifyExact`. */
function* partsOf(value: unknown, levels: number): Generator<string> {
  if (levels === 0 || typeof value !== 'object' || value === null) yield stringifyExact(value);
  else if (Array.isArray(value) || value instanceof LazyList) yield* listParts(value, levels - 1);
  else if (value instanceof Map || value instanceof LazyMap) yield* memberParts(value, levels - 1);
  else yield* memberParts(Object.entries(value), levels - 1);
}

function* listParts(list: Iterable<unknown>, levels: number): Generator<string> {
  let lead = '[';
  for (const entry of list) {
    yield lead;
    yield* partsOf(entry ?? null, levels);
    lead = ',';
  }
  yield lead === '[' ? '[]' : ']';
}

function* memberParts(members: Iterable<readonly [unknown, unknown]>, levels: number): Generator<string> {
  let lead = '{';
  for (const [name, member] of members) {
    if (member === undefined) continue;
    yield `${lead}${stringifyExact(String(name))}:`;
    yield* partsOf(member, levels);
    lead = ',';
  }
  yield lead === '{' ? '{}' : '}';
}
export class LazyList<V> implements Iterable<V> {
  readonly #entries: () => Iterator<V>;

  private constructor(entries: () => Iterator<V>) {
    this.#entries = entries;
  }

  static of<T, V>(source: Iterable<T>, view: (entry: T, index: number) => V): LazyList<V> {
    return new LazyList(function* () {
      let index = 0;
      for (const entry of source) yield view(entry, index++);
    });
  }

  [Symbol.iterator](): Iterator<V> {
    return this.#entries();
  }
}

/** The members of an object with free keys, in their order. */
export class LazyMap<V> implements Iterable<readonly [string, V]> {
  readonly #members: LazyList<readonly [string, V]>;

  private constructor(members: LazyList<readonly [string, V]>) {
    this.#members = members;
  }

  static of<T, V>(source: Iterable<readonly [string, T]>, view: (value: T) => V): LazyMap<V> {
    return new LazyMap(LazyList.of(source, ([key, value]) => [key, view(value)] as const));
  }

  [Symbol.iterator](): Iterator<readonly [string, V]> {
    return this.#members[Symbol.iterator]();
  }
}
