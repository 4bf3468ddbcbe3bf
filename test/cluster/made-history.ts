/**
 * Right histories for the tests of the checker: a small network in memory with one order and nodes that are behind it, and
 * clients that post, post rivals, get no answer and read. Every answer is true at some moment of its request.
 */

import { Chance } from '../reliability/chance.js';
import type { End, EndBlock, Operation, PostAnswer, ReadStatus } from './history.js';

const NODES = ['one', 'two', 'three'];
const CLIENTS = ['a', 'b', 'c', 'd'];
const COINS = 12;
const ISSUED = 1_000n;

interface Transaction {
  readonly hash: string;
  readonly spends: string;
  readonly parent: string | undefined;
}

/** A transaction that was taken, or a block with all that was taken before. */
type Entry = { readonly taken: string } | { readonly stored: EndBlock };

export interface MadeHistory {
  readonly operations: readonly Operation[];
  readonly end: End;
}

export function madeHistory(seed: number, steps: number): MadeHistory {
  return new Maker(seed).run(steps);
}

class Maker {
  readonly #chance: Chance;
  readonly #operations: Operation[] = [];
  readonly #made: Transaction[] = [];
  readonly #log: Entry[] = [];
  /** How many entries each node has applied. */
  readonly #applied = new Map(NODES.map((node) => [node, 0]));
  readonly #spent = new Set<string>();
  readonly #blocks: EndBlock[] = [];
  #now = 0;

  constructor(seed: number) {
    this.#chance = new Chance(seed);
  }

  run(steps: number): MadeHistory {
    for (let step = 0; step < steps; step++) {
      this.#now += 10;
      const [post, repeat, read, count, block] = [0.4, 0.5, 0.8, 0.88, 0.95];
      const dice = this.#chance.next();
      if (dice < post) this.#post(this.#newTransaction());
      else if (dice < repeat && this.#made.length > 0) this.#post(this.#chance.pick(this.#made));
      else if (dice < read && this.#made.length > 0) this.#read(this.#chance.pick(this.#made).hash);
      else if (dice < count) this.#count();
      else if (dice < block) this.#store();
      else this.#catchUp(this.#chance.pick(NODES));
    }
    this.#store();
    const chains = new Map(['first', 'second'].map((node) => [node, [...this.#blocks]]));
    const state = { digest: 'equal', held: ISSUED, issued: ISSUED };
    return { operations: this.#operations, end: { chains, states: NODES.map((node) => ({ node, ...state })) } };
  }

  #newTransaction(): Transaction {
    const parent = this.#chance.next() < 0.6 ? this.#taken().at(-1) : undefined;
    const spends = parent === undefined ? `coin ${this.#chance.below(COINS)}` : `${parent}:0`;
    const made = { hash: `t${this.#made.length}`, spends, parent };
    this.#made.push(made);
    return made;
  }

  #post(tx: Transaction): void {
    const node = this.#chance.pick(NODES);
    const isTaken = this.#taken().includes(tx.hash);
    const dice = this.#chance.next();
    let [answer, code]: [PostAnswer, string] = ['accepted', ''];
    if (dice < 0.1) [answer, code] = ['turned away', 'overloaded'];
    else if (dice < 0.2) [answer, code] = ['unknown', 'node_unreachable'];
    else if (!isTaken && this.#spent.has(tx.spends)) [answer, code] = ['refused', 'double_spend'];
    // A request without an answer may have been taken.
    const takes = answer === 'accepted' || (answer === 'unknown' && dice < 0.15);
    if (takes && !isTaken && !this.#spent.has(tx.spends)) {
      this.#spent.add(tx.spends);
      this.#log.push({ taken: tx.hash });
    }
    if (answer === 'accepted' || answer === 'refused') this.#catchUp(node);
    const parents = tx.parent === undefined ? [] : [tx.parent];
    this.#note({ kind: 'post', node, hash: tx.hash, spends: [tx.spends], parents, answer, code });
  }

  #read(hash: string): void {
    const node = this.#chance.pick(NODES);
    const log = this.#seenBy(node);
    const block = log.find((entry) => 'stored' in entry && entry.stored.transactions.includes(hash));
    const height = block !== undefined && 'stored' in block ? block.stored.height : null;
    const isTaken = log.some((entry) => 'taken' in entry && entry.taken === hash);
    const waiting: ReadStatus = isTaken ? 'Pending' : 'absent';
    this.#note({ kind: 'status', node, hash, status: height === null ? waiting : 'Confirmed', height });
  }

  #count(): void {
    const node = this.#chance.pick(NODES);
    const value = BigInt(this.#seenBy(node).filter((entry) => 'stored' in entry).length);
    this.#note({ kind: 'count', node, what: 'height', value });
  }

  /** All that waits becomes a block. */
  #store(): void {
    const height = this.#blocks.length;
    const before = new Set(this.#blocks.flatMap(({ transactions }) => transactions));
    const transactions = this.#taken().filter((hash) => !before.has(hash));
    const block = { height, hash: `b${height}`, previousHash: this.#blocks.at(-1)?.hash ?? null, transactions };
    this.#blocks.push(block);
    this.#log.push({ stored: block });
  }

  #catchUp(node: string): void {
    this.#applied.set(node, this.#log.length);
  }

  #taken(): string[] {
    return this.#log.flatMap((entry) => ('taken' in entry ? [entry.taken] : []));
  }

  #seenBy(node: string): readonly Entry[] {
    return this.#log.slice(0, this.#applied.get(node));
  }

  /** The request is longer than the moment at which its answer is true, so that requests overlap. */
  #note(said: Said<Operation>): void {
    const client = this.#chance.pick(CLIENTS);
    const [began, ended] = [this.#now - this.#chance.below(35), this.#now + this.#chance.below(35)];
    this.#operations.push({ ...said, client, began, ended } as Operation);
  }
}

/** What is said of an operation before its client and its times. */
type Said<T extends Operation> = T extends unknown ? Omit<T, 'client' | 'began' | 'ended'> : never;
