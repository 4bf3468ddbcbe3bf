/**
 * Marks of the nodes that share a journal in etcd: the entry from which on each node wants it. Entries that no node
 * wants are forgotten. A mark that stays unchanged for long is removed, and its node takes over another node's state.
 */

import { fromUtf8, utf8 } from '../../lib/bytes.js';
import { type Clock, unixSeconds } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { endOf, type Names } from './entries.js';
import type { EtcdClient } from './etcd-client.js';
import { type KeyValue, KV } from './generated/etcd-pb.js';

/** Target of etcd's `Compare`: the revision of a key's last change. */
const MOD_REVISION = 2;
const MS_PER_SECOND = 1_000;

export interface MarksOptions {
  readonly replica: string;
  /** A name that no other process has or had. */
  readonly process: string;
  /** Seconds without a new mark after which a node is not counted. */
  readonly lifetime: number;
}

export interface MarksModules {
  readonly client: EtcdClient;
  readonly names: Names;
  readonly clock: Clock;
}

interface Mark {
  readonly wants: number;
  readonly process: string;
}

interface Seen {
  readonly revision: bigint;
  /** Time when the mark was first found at this revision, in milliseconds of the monotonic clock. */
  readonly at: number;
}

interface Change {
  readonly key: Uint8Array;
  /** New value of the key; undefined deletes it. */
  readonly value?: string;
}

/** Entries that the nodes want. */
export interface Wanted {
  /** The first entry that any node wants; 0 where this node cannot tell. */
  readonly from: number;
  readonly nodes: number;
  /** Moves the base to `to`; false when a node has joined meanwhile. `below`: facts about the entries below it, where known. */
  moveBase(to: number, below: Below | undefined): Promise<boolean>;
}

/** Facts about the entries below the base of the journal. */
export interface Below {
  /** Number of blocks that, together with the remaining entries, hold every transaction ever taken. */
  readonly blocks: number;
  /** The last block that an entry below the base has stored, -1 for none; undefined when that is not known. */
  readonly stored?: number | undefined;
}

export class Marks {
  readonly #options: MarksOptions;
  readonly #modules: MarksModules;
  readonly #key: Uint8Array;
  #seen = new Map<string, Seen>();

  constructor(options: MarksOptions, modules: MarksModules) {
    this.#options = options;
    this.#modules = modules;
    this.#key = utf8(`${modules.names.passed}${options.replica}`);
  }

  /** The base of the journal: entries below it are forgotten. */
  async base(): Promise<number> {
    return baseOf(await this.#get(utf8(this.#modules.names.base)));
  }

  /** The base, after this node has set its mark there: nothing from there on is forgotten until this node wants less. */
  async join(): Promise<number> {
    const { names } = this.#modules;
    const [base, joined] = [utf8(names.base), utf8(names.joined)];
    for (;;) {
      const found = await this.#get(base);
      const mark = { key: this.#key, value: this.#text(baseOf(found)) };
      // A node that has read the marks without this one can no longer move the base.
      const note = { key: joined, value: this.#options.replica };
      if (await this.#change([[base, found]], [mark, note])) return baseOf(found);
    }
  }

  /** Facts as long as the base stays (`join`); undefined when blocks and entries may not hold every transaction ever taken. */
  async below(): Promise<Below | undefined> {
    const base = await this.base();
    if (base === 1) return { blocks: 0, stored: -1 };
    const whole = await this.#get(utf8(this.#modules.names.whole));
    const [of, blocks, stored] = whole === undefined ? [] : fromUtf8(whole.value).split(' ');
    if (Number(of) !== base) return undefined;
    // An older version does not write the stored block.
    return { blocks: Number(blocks), ...(stored !== undefined && { stored: Number(stored) }) };
  }

  /** Writes the mark of this node. Throws `data_dir_invalid` when another process has its name. */
  async want(from: number): Promise<void> {
    for (;;) {
      const found = await this.#get(this.#key);
      const mark = found && markOf(found);
      if (mark !== undefined && mark.process !== this.#options.process) throw copied();
      if (await this.#change([[this.#key, found]], [{ key: this.#key, value: this.#text(from) }])) return;
    }
  }

  /** Entries that the counted nodes want. Removes the marks of nodes that are not counted. */
  async wanted(): Promise<Wanted> {
    const { names, clock, client } = this.#modules;
    const [base, joined] = [utf8(names.base), utf8(names.joined)];
    const found = [
      [base, await this.#get(base)],
      [joined, await this.#get(joined)],
    ] as const;
    const passed = { key: utf8(names.passed), rangeEnd: endOf(names.passed) };
    const { kvs } = await client.call(KV.method.range, passed);
    const now = clock.monotonic();
    const before = this.#seen;
    this.#seen = new Map();
    const marks: Mark[] = [];
    for (const kv of kvs) {
      const name = fromUtf8(kv.key);
      const known = before.get(name);
      const seen = known?.revision === kv.modRevision ? known : { revision: kv.modRevision, at: now };
      const mark = markOf(kv);
      this.#seen.set(name, seen);
      const isHeard = now - seen.at <= this.#options.lifetime * MS_PER_SECOND;
      if (isHeard || mark.process === this.#options.process) marks.push(mark);
      else await this.#change([[kv.key, kv]], [{ key: kv.key }]);
    }
    // Another node may have removed this one's mark after long silence: a node that is not counted decides nothing.
    const isCounted = marks.some(({ process }) => process === this.#options.process);
    return {
      from: isCounted ? Math.min(...marks.map(({ wants }) => wants)) : 0,
      nodes: marks.length,
      moveBase: (to, below) => {
        const facts =
          below === undefined ? undefined : [to, below.blocks, below.stored].filter((one) => one !== undefined);
        const whole = facts === undefined ? [] : [{ key: utf8(names.whole), value: facts.join(' ') }];
        return this.#change(found, [{ key: base, value: String(to) }, ...whole]);
      },
    };
  }

  /** Text of a mark, with the time, by which an earlier version tells whether the node is there. */
  #text(wants: number): string {
    return `${wants} ${this.#options.process} ${unixSeconds(this.#modules.clock)}`;
  }

  async #get(key: Uint8Array): Promise<KeyValue | undefined> {
    return (await this.#modules.client.call(KV.method.range, { key })).kvs[0];
  }

  /** Makes the changes in one transaction; false when a key is not as it was found. */
  async #change(
    found: readonly (readonly [key: Uint8Array, kv: KeyValue | undefined])[],
    changes: readonly Change[],
  ): Promise<boolean> {
    const compare = found.map(([key, kv]) => {
      const value = kv?.modRevision ?? 0n;
      return { target: MOD_REVISION, key, targetUnion: { case: 'modRevision' as const, value } };
    });
    const success = changes.map(({ key, value }) =>
      value === undefined
        ? { request: { case: 'requestDeleteRange' as const, value: { key } } }
        : { request: { case: 'requestPut' as const, value: { key, value: utf8(value) } } },
    );
    return (await this.#modules.client.call(KV.method.txn, { compare, success })).succeeded;
  }
}

function baseOf(kv: KeyValue | undefined): number {
  return kv === undefined ? 1 : Number(fromUtf8(kv.value));
}

function markOf({ value }: KeyValue): Mark {
  const [wants, process = ''] = fromUtf8(value).split(' ');
  return { wants: Number(wants), process };
}

function copied(): TesseraError {
  return new TesseraError(
    'data_dir_invalid',
    'another program uses the journal in etcd under the node key of this node: its data folder is a copy; give one of the two a folder of its own',
  );
}

/** Name → value, both printable and in one line. */
export type SharedRules = Readonly<Record<string, string>>;

/** Rules to keep after a node with the rules `own` has joined; undefined for no change. Throws `invalid_config` naming one that differs. */
export function joinRules(kept: string | undefined, own: SharedRules): string | undefined {
  const rules = new Map(kept === undefined ? [] : readRules(kept));
  for (const [name, value] of Object.entries(own).sort(byName)) {
    const other = rules.get(name) ?? value;
    if (other !== value) throw differentRule(name, value, other);
    rules.set(name, value);
  }
  const all = [...rules].sort(byName).map(([name, value]) => `${name} ${value}\n`);
  const text = all.join('');
  return text === kept ? undefined : text;
}

function readRules(text: string): [name: string, value: string][] {
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const space = line.indexOf(' ');
    return [line.slice(0, space), line.slice(space + 1)];
  });
}

function differentRule(name: string, own: string, kept: string): TesseraError {
  return new TesseraError(
    'invalid_config',
    `the journal in etcd was written by other rules: ${name} is "${own}" here and "${kept}" there; set the same on all mempool nodes`,
  );
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}
