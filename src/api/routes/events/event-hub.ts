/**
 * What a node has to tell, in one order: the last events of each topic, numbered from the start of the node. Readers keep
 * their own place and read on from it; what they have missed for too long is gone, and they are told so.
 */

import { stringifyExact } from '../../../lib/json.js';

export const EVENT_TOPICS = ['blocks', 'transactions', 'wallet'] as const;
export type EventTopic = (typeof EVENT_TOPICS)[number];

/** Events of each topic that are kept: a busy topic does not push out the others. */
const KEPT: Readonly<Record<EventTopic, number>> = { blocks: 1_000, transactions: 10_000, wallet: 1_000 };

export interface NodeEvent {
  /** 1 for the first event since the start. */
  readonly seq: number;
  /** `block`, `transaction`, `payment` or `balance`. */
  readonly name: string;
  readonly data: object;
}

export interface EventHub {
  /** Number of the last event; 0 before the first. */
  readonly last: number;
  publish(topic: EventTopic, name: string, data: object): void;
  /** Events of the topics behind `seq`, in order, at most `limit`; undefined when some of them are not kept any more. */
  after(topics: readonly EventTopic[], seq: number, limit: number): readonly NodeEvent[] | undefined;
  /** The event as text of an event stream, made once. */
  textOf(event: NodeEvent): string;
  /** `<start of the node>-<number>`: what a reader gives back to read on. */
  idOf(seq: number): string;
  /** The number in an id of this hub; undefined for ids of another start and for what is no id. */
  seqOf(id: string): number | undefined;
  /** Called once for all events of a turn of the loop; the result removes the listener. */
  onNews(listener: () => void): () => void;
}

export interface EventHubOptions {
  /** Tells one start of the node from another: milliseconds since the Unix epoch. */
  readonly epoch: number;
  /** Events kept for each topic, instead of the usual number; for tests. */
  readonly kept?: number;
}

export function createEventHub({ epoch, kept }: EventHubOptions): EventHub {
  const rings = new Map(EVENT_TOPICS.map((topic) => [topic, createRing(kept ?? KEPT[topic])]));
  const listeners = new Set<() => void>();
  const texts = new WeakMap<NodeEvent, string>();
  let last = 0;
  let scheduled = false;

  function tell(): void {
    scheduled = false;
    for (const listener of [...listeners]) listener();
  }

  const idOf = (seq: number): string => `${epoch}-${seq}`;

  return {
    get last() {
      return last;
    },
    idOf,
    publish(topic, name, data) {
      last++;
      rings.get(topic)?.push({ seq: last, name, data });
      if (scheduled || listeners.size === 0) return;
      scheduled = true;
      setImmediate(tell);
    },
    after(topics, seq, limit) {
      const found: NodeEvent[] = [];
      for (const topic of topics) {
        const ring = rings.get(topic);
        if (ring === undefined) continue;
        if (ring.dropped > seq) return undefined;
        found.push(...ring.after(seq, limit));
      }
      return found.sort((a, b) => a.seq - b.seq).slice(0, limit);
    },
    textOf(event) {
      const known = texts.get(event);
      if (known !== undefined) return known;
      const text = `id: ${idOf(event.seq)}\nevent: ${event.name}\ndata: ${stringifyExact(event.data)}\n\n`;
      texts.set(event, text);
      return text;
    },
    seqOf(id) {
      const [, start, digits] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
      const seq = Number(digits);
      return Number(start) === epoch && seq <= last ? seq : undefined;
    },
    onNews(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

interface Ring {
  /** Number of the newest event that is not kept any more; 0 when all are. */
  readonly dropped: number;
  push(event: NodeEvent): void;
  /** The first `limit` events behind `seq`. */
  after(seq: number, limit: number): NodeEvent[];
}

function createRing(capacity: number): Ring {
  const slots: NodeEvent[] = [];
  /** Place of the oldest event. */
  let start = 0;
  let dropped = 0;
  const at = (index: number): NodeEvent | undefined => slots[(start + index) % slots.length];

  return {
    get dropped() {
      return dropped;
    },
    push(event) {
      if (slots.length < capacity) {
        slots.push(event);
        return;
      }
      dropped = slots[start]?.seq ?? dropped;
      slots[start] = event;
      start = (start + 1) % capacity;
    },
    after(seq, limit) {
      let low = 0;
      let high = slots.length;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((at(middle)?.seq ?? 0) > seq) high = middle;
        else low = middle + 1;
      }
      const found: NodeEvent[] = [];
      for (let i = low; i < slots.length && found.length < limit; i++) {
        const event = at(i);
        if (event !== undefined) found.push(event);
      }
      return found;
    },
  };
}
