/**
 * Whatever several nodes write, read, cut and lose answers of, in whatever order: a node whose journal has lost nothing is never told that
 * it has; and where it has, no node goes on that knows of it (docs/adr/0054-the-journal-has-an-identity.md).
 */

import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { decodeGroup, endOf, namesBelow, revisionOf } from '../../src/journal/etcd/entries.js';
import { EtcdError } from '../../src/journal/etcd/etcd-client.js';
import { EtcdWriter } from '../../src/journal/etcd/etcd-writer.js';
import { KV } from '../../src/journal/etcd/generated/etcd-pb.js';
import { History, Trimming } from '../../src/journal/etcd/history.js';
import { Marks } from '../../src/journal/etcd/marks.js';
import type { JournalEntry, LastEntry } from '../../src/journal/journal.js';
import { fromUtf8, utf8 } from '../../src/lib/bytes.js';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { noMetrics } from '../../src/observability/metrics.js';
import { fc, test } from '../support/property.js';

const NAMES = namesBelow('p/');
const TIMEOUT = 3_600_000;
const NODES = 3;
const LIFETIME_S = 3_600;

interface Kept {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
}

interface Op {
  readonly request: {
    readonly case: string;
    readonly value: { key: Uint8Array; rangeEnd?: Uint8Array; value: Uint8Array };
  };
}

/** What the journal uses of etcd: one order of all writes. `luck` decides which answers are lost, and who waits. */
class ModelEtcd {
  #kept: ReadonlyMap<string, Kept> = new Map();
  #revision = 1n;
  readonly #luck: () => number;

  constructor(luck: () => number) {
    this.#luck = luck;
  }

  copy(): () => void {
    const [kept, revision] = [this.#kept, this.#revision];
    return () => {
      this.#kept = kept;
      this.#revision = revision;
    };
  }

  /** What was written there and is not deleted, in the order of its revisions. */
  groups(): Kept[] {
    return this.#range(utf8(NAMES.log), endOf(NAMES.log)).sort((a, b) => Number(a.modRevision - b.modRevision));
  }

  readonly call = async (method: unknown, query: never): Promise<unknown> => {
    await this.#wait();
    if (this.#luck() < 0.1) throw lostAnswer();
    const answer = method === KV.method.range ? this.#read(query) : this.#write(query);
    await this.#wait();
    if (this.#luck() < 0.1) throw lostAnswer();
    return answer;
  };

  async #wait(): Promise<void> {
    for (let turns = this.#luck() * 4; turns > 1; turns--) await new Promise((resolve) => setImmediate(resolve));
  }

  #read({ key, rangeEnd, limit }: { key: Uint8Array; rangeEnd?: Uint8Array; limit?: bigint }) {
    const all = this.#range(key, rangeEnd);
    const kvs = all.slice(0, limit === undefined ? all.length : Number(limit));
    return { kvs, more: kvs.length < all.length, header: { revision: this.#revision, clusterId: 1n } };
  }

  #range(key: Uint8Array, end?: Uint8Array): Kept[] {
    const [from, to] = [fromUtf8(key), end && fromUtf8(end)];
    const isIn = (name: string): boolean => (to === undefined ? name === from : name >= from && name < to);
    const names = [...this.#kept.keys()].filter(isIn).sort();
    return names.flatMap((name) => this.#kept.get(name) ?? []);
  }

  #write({ compare = [], success = [], failure = [] }: { compare?: Compared[]; success?: Op[]; failure?: Op[] }) {
    const succeeded = compare.every(({ key, targetUnion }) => {
      const found = this.#kept.get(fromUtf8(key));
      return (found?.[targetUnion.case] ?? 0n) === targetUnion.value;
    });
    const ops = succeeded ? success : failure;
    const kept = new Map(this.#kept);
    const revision = this.#revision + 1n;
    let isChanged = false;
    for (const { request } of ops) {
      const { key, rangeEnd } = request.value;
      if (request.case === 'requestDeleteRange') {
        for (const one of this.#range(key, rangeEnd)) isChanged = kept.delete(fromUtf8(one.key)) || isChanged;
      } else if (request.case === 'requestPut') {
        isChanged = true;
        const { createRevision = revision } = kept.get(fromUtf8(key)) ?? {};
        kept.set(fromUtf8(key), { key, value: request.value.value, createRevision, modRevision: revision });
      }
    }
    this.#kept = kept;
    if (isChanged) this.#revision = revision;
    const responses = ops.map(({ request: { value } }) => ({
      response: { case: 'responseRange', value: { kvs: this.#range(value.key, value.rangeEnd) } },
    }));
    return { succeeded, responses, header: { revision: this.#revision } };
  }
}

interface Compared {
  readonly key: Uint8Array;
  readonly targetUnion: { readonly case: 'createRevision' | 'modRevision'; readonly value: bigint };
}

function lostAnswer(): EtcdError {
  return new EtcdError(status.UNAVAILABLE, 'no answer', undefined);
}

/** Milliseconds that have passed. */
let passed = 0;

/** Pauses take no time. */
const clock: Clock = {
  ...systemClock,
  monotonic: () => passed,
  after(ms, run) {
    const handle = ms < TIMEOUT ? setImmediate(run) : undefined;
    return { cancel: () => clearImmediate(handle) };
  },
};

/** A node as far as its journal is concerned, with what its state keeps over restarts. */
class ModelNode {
  readonly #etcd: ModelEtcd;
  readonly #name: string;
  #processes = 0;
  #history: History;
  #marks: Marks;
  #writer: EtcdWriter;
  #trimming: Trimming;
  #state: LastEntry = { seq: 0 };
  #head = 0;
  #wants = 1;

  constructor(name: string, etcd: ModelEtcd) {
    this.#name = name;
    this.#etcd = etcd;
    [this.#history, this.#marks, this.#writer, this.#trimming] = this.#open();
  }

  #open(): [History, Marks, EtcdWriter, Trimming] {
    const client = { call: this.#etcd.call } as never;
    const process = `${this.#name}${this.#processes++}`;
    const marks = new Marks({ replica: this.#name, process, lifetime: LIFETIME_S }, { client, names: NAMES, clock });
    const history = new History({ client, names: NAMES, base: () => marks.base() });
    const committed = ({ seq, id }: { readonly seq: number; readonly id: string }): void => this.#saw(seq, id);
    const modules = { client, names: NAMES, history, clock, logger: silentLogger, metrics: noMetrics };
    return [
      history,
      marks,
      new EtcdWriter({ process, timeout: TIMEOUT, committed }, modules),
      new Trimming({ client, names: NAMES, logger: silentLogger }),
    ];
  }

  #saw(seq: number, id: string): void {
    this.#head = Math.max(this.#head, seq);
    this.#history.noteEntry(seq, id);
  }

  async start(): Promise<void> {
    [this.#history, this.#marks, this.#writer, this.#trimming] = this.#open();
    await again(() => this.#history.goOnFrom(this.#state));
    this.#wants = await again(() => this.#marks.join());
  }

  async append(count: number): Promise<void> {
    const all = Array.from({ length: count }, (_, i) => this.#writer.append(utf8(String(i))).durable);
    await Promise.all(all);
  }

  /** As a watch that begins anew: looks at the journal first, and then takes some of what is there. */
  async read(most: number): Promise<void> {
    await again(() => this.#history.check());
    let left = most;
    for (const { key, value, createRevision } of this.#etcd.groups()) {
      const fresh: JournalEntry[] = decodeGroup(key, value, NAMES, createRevision).filter(
        ({ seq }) => seq > this.#state.seq,
      );
      const last = fresh.at(-1);
      if (last === undefined || left-- <= 0) continue;
      this.#saw(last.seq, String(last.id));
      this.#state = { seq: last.seq, id: String(last.id), cluster: this.#history.last.cluster };
    }
  }

  async compact(back: number): Promise<void> {
    await again(() => this.#history.check());
    const wanted = this.#state.seq + 1;
    this.#wants = Math.max(this.#wants, Math.min(wanted - back, this.#head + 1, wanted));
    await again(() => this.#marks.want(this.#wants));
    await again(async () => {
      const { from, moveBase } = await this.#marks.wanted();
      if (from > (await this.#marks.base())) await moveBase(from, undefined);
    });
    const last = BigInt(revisionOf(await again(() => this.#marks.base())) - 1);
    if (last > 0n) this.#trimming.upTo(last);
  }

  /** Whether its state has something that is not there now. */
  get isRobbed(): boolean {
    const groups = this.#etcd
      .groups()
      .flatMap(({ key, value, createRevision }) => decodeGroup(key, value, NAMES, createRevision));
    return this.#state.seq > 0 && !groups.some(({ seq, id }) => seq === this.#state.seq && id === this.#state.id);
  }
}

/** What the reader and the writer do where etcd does not answer. */
async function again<T>(attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
    }
  }
}

const step = fc.record({
  node: fc.nat(NODES - 1),
  what: fc.constantFrom('append', 'append', 'read', 'read', 'compact', 'start', 'pass'),
  amount: fc.integer({ min: 1, max: 5 }),
});

function run(node: ModelNode, { what, amount }: { readonly what: string; readonly amount: number }): Promise<void> {
  // Nodes that say nothing meanwhile are not counted any more, and what they have is forgotten.
  if (what === 'pass') passed += amount * 2_000_000;
  if (what === 'pass') return node.read(amount);
  if (what === 'append') return node.append(amount);
  if (what === 'read') return node.read(amount);
  return what === 'compact' ? node.compact(amount - 1) : node.start();
}

/** The steps of each node one after the other, beside those of the others. */
function runAll(nodes: readonly ModelNode[], steps: readonly { node: number; what: string; amount: number }[]) {
  return Promise.allSettled(
    nodes.map(async (node, i) => {
      for (const one of steps) if (one.node === i) await run(node, one);
    }),
  );
}

function startedNodes(etcd: ModelEtcd): Promise<ModelNode[]> {
  return Promise.all(
    ['one', 'two', 'three'].map(async (name) => {
      const node = new ModelNode(name, etcd);
      await node.start();
      return node;
    }),
  );
}

const luckOf = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

it('forgets nothing where two nodes have removed the marks of each other, as neither was heard of for too long', async () => {
  const client = { call: new ModelEtcd(() => 1).call } as never;
  const [one, two] = ['one', 'two'].map(
    (name) => new Marks({ replica: name, process: name, lifetime: LIFETIME_S }, { client, names: NAMES, clock }),
  ) as [Marks, Marks];
  for (const marks of [one, two]) {
    await marks.join();
    await marks.want(7);
  }
  for (const marks of [one, two]) expect(await marks.wanted()).toMatchObject({ from: 7, nodes: 2 });
  // Both were suspended, each between its word and its look at the others.
  passed += LIFETIME_S * 1_000 + 1;
  expect(await one.wanted()).toMatchObject({ from: 7, nodes: 1 });
  expect(await two.wanted()).toMatchObject({ from: 0, nodes: 0 });
  await two.want(7);
  expect(await two.wanted()).toMatchObject({ from: 7, nodes: 1 });
});

test.prop([fc.array(step, { maxLength: 60, size: 'max' }), fc.nat(1_000_000)], { numRuns: 150 })(
  'a node whose journal has lost nothing is never told that it has',
  async (steps, seed) => {
    const nodes = await startedNodes(new ModelEtcd(luckOf(seed)));
    const outcomes = await runAll(nodes, steps);
    expect(outcomes.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))).toEqual([]);
  },
);

test.prop(
  [
    fc.array(step, { maxLength: 30, size: 'max' }),
    fc.array(step, { minLength: 1, maxLength: 30, size: 'max' }),
    fc.nat(1_000_000),
  ],
  {
    numRuns: 150,
  },
)('a node that has what a restored etcd lacks writes nothing more', async (before, after, seed) => {
  const etcd = new ModelEtcd(luckOf(seed));
  const nodes = await startedNodes(etcd);
  const steps = before.filter(({ what }) => what !== 'pass');
  await runAll(nodes, steps.slice(0, steps.length / 2));
  const restore = etcd.copy();
  await runAll(nodes, steps.slice(steps.length / 2));
  for (const node of nodes) await node.read(100);
  const known = etcd.groups().length;
  restore();
  if (etcd.groups().length === known) return;
  const robbed = nodes.filter((node) => node.isRobbed);
  for (const node of robbed) await expect(node.start()).rejects.toThrow(/has lost command/);
  // The others write until the revision is beyond what it was.
  const others = nodes.filter((node) => !robbed.includes(node));
  await runAll(others, after);
  for (const node of robbed) await expect(node.append(1)).rejects.toThrow(/has lost command/);
});
