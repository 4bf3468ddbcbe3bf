/** The events of a node: the last of each topic, numbered from its start. Readers keep their position, and are told if events are lost. */

import { stringifyExact } from '../../../lib/json.js';
import { TOPICS, type Topic } from '../../../lib/roles.js';

/** Number of events that are kept of each topic: a busy topic does not displace the others. */
const KEPT: Readonly<Record<Topic, number>> = { blocks: 1_000, transactions: 10_000, wallet: 1_000 };

export interface NodeEvent {
  /** Number of the event: 1 for the first since the start. */
  readonly seq: number;
  /** Name of the event: `block`, `transaction`, `payment` or `balance`. */
  readonly name: string;
  readonly data: object;
}

export interface EventHubOptions {
  /** Identifies one start of the node: milliseconds since the Unix epoch. */
  readonly epoch: number;
  /** Number of events that are kept of each topic; for tests. */
  readonly kept?: number;
}

export class EventHub {
  #epoch: number;
  #rings: ReadonlyMap<Topic, Ring>;
  readonly #kept: number | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #texts = new WeakMap<NodeEvent, string>();
  #last = 0;
  #isScheduled = false;

  constructor({ epoch, kept }: EventHubOptions) {
    this.#epoch = epoch;
    this.#kept = kept;
    this.#rings = emptyRings(kept);
  }

  /** The present numbering of events; `startOver` changes it, and earlier numbers mean nothing afterwards. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Forgets all events, because they are no longer true. Readers begin anew and are told so. */
  startOver(): void {
    this.#epoch++;
    this.#rings = emptyRings(this.#kept);
    this.#last = 0;
    this.#announce();
  }

  get last(): number {
    return this.#last;
  }

  publish(topic: Topic, name: string, data: object): void {
    this.#last++;
    this.#rings.get(topic)?.push({ seq: this.#last, name, data });
    this.#announce();
  }

  #announce(): void {
    if (this.#isScheduled || this.#listeners.size === 0) return;
    this.#isScheduled = true;
    setImmediate(this.#tell);
  }

  /** Events of the topics after `seq`, in order, at most `limit`; undefined when some of them are no longer kept. */
  after(topics: readonly Topic[], seq: number, limit: number): readonly NodeEvent[] | undefined {
    const found: NodeEvent[] = [];
    for (const topic of topics) {
      const ring = this.#rings.get(topic);
      if (ring === undefined) continue;
      if (ring.dropped > seq) return undefined;
      found.push(...ring.after(seq, limit));
    }
    return found.sort((a, b) => a.seq - b.seq).slice(0, limit);
  }

  textOf(event: NodeEvent): string {
    const known = this.#texts.get(event);
    if (known !== undefined) return known;
    const text = `id: ${this.idOf(event.seq)}\nevent: ${event.name}\ndata: ${stringifyExact(event.data)}\n\n`;
    this.#texts.set(event, text);
    return text;
  }

  /** The id of an event, `<start of the node>-<number>`: a reader sends it to resume. */
  idOf(seq: number): string {
    return `${this.#epoch}-${seq}`;
  }

  /** The number in an id of this hub; undefined for ids of another start, and for other texts. */
  seqOf(id: string): number | undefined {
    const [, start, digits] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
    const seq = Number(digits);
    return Number(start) === this.#epoch && seq <= this.#last ? seq : undefined;
  }

  /** Calls the listener once for all events of an iteration of the event loop; the returned function removes it. */
  onNews(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  readonly #tell = (): void => {
    this.#isScheduled = false;
    for (const listener of [...this.#listeners]) listener();
  };
}

function emptyRings(kept: number | undefined): ReadonlyMap<Topic, Ring> {
  return new Map(TOPICS.map((topic) => [topic, new Ring(kept ?? KEPT[topic])]));
}

class Ring {
  readonly #capacity: number;
  readonly #slots: NodeEvent[] = [];
  #start = 0;
  #dropped = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get dropped(): number {
    return this.#dropped;
  }

  push(event: NodeEvent): void {
    if (this.#slots.length < this.#capacity) {
      this.#slots.push(event);
      return;
    }
    this.#dropped = this.#slots[this.#start]?.seq ?? this.#dropped;
    this.#slots[this.#start] = event;
    this.#start = (this.#start + 1) % this.#capacity;
  }

  /** The first `limit` events after `seq`. */
  after(seq: number, limit: number): NodeEvent[] {
    let low = 0;
    let high = this.#slots.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#at(middle)?.seq ?? 0) > seq) high = middle;
      else low = middle + 1;
    }
    const found: NodeEvent[] = [];
    for (let i = low; i < this.#slots.length && found.length < limit; i++) {
      const event = this.#at(i);
      if (event !== undefined) found.push(event);
    }
    return found;
  }

  #at(index: number): NodeEvent | undefined {
    return this.#slots[(this.#start + index) % this.#slots.length];
  }
}
