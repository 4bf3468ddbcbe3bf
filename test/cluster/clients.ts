/** The clients of a run: writers that pay over all nodes, one that posts rivals, and readers. All note what they were told. */

import { transactionToCreateJson } from '../../src/chain/create-transaction.js';
import { transactionHash } from '../../src/chain/hash.js';
import { outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { Transaction } from '../../src/chain/types.js';
import { NoAnswer, RefusedCall } from '../../src/client/transport.js';
import { DEV_GENESIS_TX } from '../../src/config/dev-accounts.js';
import { isTesseraError } from '../../src/lib/errors.js';
import type { Chance } from '../reliability/chance.js';
import { sleep } from '../reliability/round.js';
import { type Lane, payment } from '../soak/writers.js';
import { clientOf, type Placed, publicClientOf } from './cluster.js';
import type { History, PostAnswer, ReadStatus } from './history.js';

/** Milliseconds between two tries of one payment. */
const BETWEEN_TRIES_MS = 100;
/** A payment that no node has accepted after so long has failed for its client, which tries it again later. */
const PAYMENT_PATIENCE_MS = 20_000;
/** Every so many payments are followed by a read. */
const READ_EVERY = 3;
/** Payments of a writer that it reads later. */
const REMEMBERED = 20;
/** Milliseconds between two looks at heights and supply. */
const COUNT_EVERY_MS = 1_000;
/** Transactions that spend one output, posted at once. */
const RIVALS = 64;
/** Raw units. */
const WALLET_PAYMENT = 1_000n;

/** Codes with which this request has taken nothing, and another one may. */
const TURNED_AWAY: ReadonlySet<string> = new Set([
  'overloaded',
  'rate_limited',
  'mempool_full',
  'too_many_ancestors',
  'write_failed',
]);
/** Codes with which a rule of the chain refuses. */
const REFUSED: ReadonlySet<string> = new Set([
  'double_spend',
  'unknown_input',
  'transaction_rejected',
  'invalid_signature',
  'malformed_transaction',
  'invalid_request',
]);

/** What an error says about the transaction that was posted. */
export function answerOf(error: unknown): Exclude<PostAnswer, 'accepted'> {
  if (error instanceof NoAnswer) return error.sent ? 'unknown' : 'turned away';
  if (!(error instanceof RefusedCall)) return 'unknown';
  if (REFUSED.has(error.code)) return 'refused';
  return TURNED_AWAY.has(error.code) ? 'turned away' : 'unknown';
}

export class Clients {
  readonly history: History;
  readonly #nodes: () => readonly Placed[];
  /** Payments of writers that a node has accepted, and those that none has accepted in time. */
  paid = 0;
  unpaid = 0;

  /** `nodes` gives the mempool nodes that clients know. */
  constructor(history: History, nodes: () => readonly Placed[]) {
    this.history = history;
    this.#nodes = nodes;
  }

  get nodes(): readonly Placed[] {
    return this.#nodes();
  }

  /** Posts once, and notes it. */
  async post(client: string, at: Placed, tx: Transaction): Promise<PostAnswer> {
    const began = performance.now();
    let [answer, code]: [PostAnswer, string] = ['accepted', ''];
    try {
      const transactions = [transactionToCreateJson(tx)];
      await publicClientOf(at).api.createTransactions({ body: { transactions } });
    } catch (error) {
      [answer, code] = [answerOf(error), isTesseraError(error) ? error.code : 'unknown'];
    }
    const ended = performance.now();
    const points = spentOutPoints(tx);
    const spends = points.map(outPointKey);
    const parents = points.map(({ tHash }) => tHash).filter((hash) => hash !== DEV_GENESIS_TX);
    const request = { client, node: at.name, began, ended };
    this.history.note({ kind: 'post', ...request, hash: transactionHash(tx), spends, parents, answer, code });
    return answer;
  }

  /** Reads the status of a transaction, and notes it when there is an answer. */
  async read(client: string, at: Placed, hash: string): Promise<void> {
    const began = performance.now();
    try {
      const answer = await publicClientOf(at).api.queryTransactionStatus({ body: { hashes: [hash] } });
      const { status = 'absent', additional_info: info = '' } = answer[hash] ?? {};
      const height = status === 'Confirmed' ? Number(/^In block (\d+)/.exec(info)?.[1] ?? Number.NaN) : null;
      const request = { client, node: at.name, began, ended: performance.now() };
      this.history.note({ kind: 'status', ...request, hash, status: status as ReadStatus, height });
    } catch {
      // No answer says nothing.
    }
  }

  /** Reads what only rises. */
  async count(client: string, what: 'height' | 'issued', at: Placed): Promise<void> {
    const began = performance.now();
    const { api } = publicClientOf(at);
    try {
      const value =
        what === 'issued'
          ? BigInt((await api.getSupply()).issued)
          : BigInt((await api.getLatestBlock()).block.block.header.b_num);
      this.history.note({ kind: 'count', client, node: at.name, began, ended: performance.now(), what, value });
    } catch {
      // No answer says nothing.
    }
  }

  /** Posts until a node accepts or refuses, at one after the other, beginning with `first`; false when none did in time. */
  async pay(client: string, first: number, tx: Transaction): Promise<{ at: Placed; answer: PostAnswer } | undefined> {
    const deadline = performance.now() + PAYMENT_PATIENCE_MS;
    for (let turn = first; performance.now() < deadline; turn++) {
      const at = this.nodes[turn % this.nodes.length];
      if (at === undefined) throw new Error('no nodes');
      const answer = await this.post(client, at, tx);
      if (answer === 'accepted') this.paid += 1;
      if (answer === 'accepted' || answer === 'refused') return { at, answer };
      await sleep(BETWEEN_TRIES_MS);
    }
    this.unpaid += 1;
    return undefined;
  }
}

/** What goes on until it is stopped. */
abstract class Loop {
  #running: Promise<void> | undefined;
  #stopped = true;

  start(): void {
    if (!this.#stopped) return;
    this.#stopped = false;
    this.#running = this.#run();
  }

  /** Resolves when the turn under way is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  protected abstract turn(): Promise<void>;

  async #run(): Promise<void> {
    while (!this.#stopped) await this.turn();
  }
}

/** A client with coins of its own, which go round over all nodes: what one has accepted is spent at the next. */
export class Writer extends Loop {
  readonly #name: string;
  readonly #lanes: Lane[];
  readonly #clients: Clients;
  readonly #chance: Chance;
  readonly #everyMs: number;
  readonly #known: string[] = [];
  #turns = 0;

  constructor(name: string, lanes: readonly Lane[], clients: Clients, chance: Chance, everyMs: number) {
    super();
    this.#name = name;
    this.#lanes = [...lanes];
    this.#clients = clients;
    this.#chance = chance;
    this.#everyMs = everyMs;
  }

  protected async turn(): Promise<void> {
    await sleep(this.#everyMs * (0.5 + this.#chance.next()));
    const lane = this.#lanes.shift();
    if (lane === undefined) return;
    const { owner, amount, from } = lane;
    const tx = lane.pending ?? payment(owner, from, [{ to: owner.address, amount }]);
    const hash = transactionHash(tx);
    const done = await this.#clients.pay(this.#name, this.#chance.below(64), tx);
    if (done === undefined) this.#lanes.push({ ...lane, pending: tx });
    if (done?.answer !== 'accepted') return;
    this.#lanes.push({ owner, amount, from: { tHash: hash, n: 0 } });
    this.#known.push(hash);
    if (this.#known.length > REMEMBERED) this.#known.shift();
    if (this.#turns++ % READ_EVERY > 0) return;
    await this.#clients.read(this.#name, done.at, hash);
    await this.#clients.read(this.#name, this.#chance.pick(this.#clients.nodes), this.#chance.pick(this.#known));
  }
}

/** Looks again and again at what only rises. */
export class Reader extends Loop {
  readonly #clients: Clients;
  readonly #storages: readonly Placed[];

  constructor(clients: Clients, storages: readonly Placed[]) {
    super();
    this.#clients = clients;
    this.#storages = storages;
  }

  protected async turn(): Promise<void> {
    await Promise.all([
      sleep(COUNT_EVERY_MS),
      ...this.#storages.map((at) => this.#clients.count('reader', 'height', at)),
      ...this.#clients.nodes.map((at) => this.#clients.count('reader', 'issued', at)),
    ]);
  }
}

/** Posts transactions that spend one output at the same moment, over all nodes. */
export class RivalPoster {
  readonly #clients: Clients;
  #lane: Lane;
  #posted: Transaction[] = [];

  constructor(clients: Clients, lane: Lane) {
    this.#clients = clients;
    this.#lane = lane;
  }

  async post(): Promise<void> {
    const { owner, amount, from } = this.#lane;
    const { nodes } = this.#clients;
    this.#posted = Array.from({ length: RIVALS }, (_, i) => {
      const part = BigInt(i + 1);
      return payment(
        owner,
        from,
        [part, amount - part].map((value) => ({ to: owner.address, amount: value })),
      );
    });
    await Promise.all(
      this.#posted.map(async (tx, i) => {
        const at = nodes[i % nodes.length];
        if (at !== undefined) await this.#clients.post(`rival ${i}`, at, tx);
      }),
    );
  }

  /** Goes on with the coin of the one that is in a block, if any is. */
  settle(isMined: (hash: string) => boolean): string {
    const winner = this.#posted.find((tx) => isMined(transactionHash(tx)));
    this.#posted = [];
    if (winner === undefined) return 'none of the rivals';
    const tHash = transactionHash(winner);
    const amount = winner.outputs[1]?.value.amount ?? 0n;
    this.#lane = { owner: this.#lane.owner, amount, from: { tHash, n: 1 } };
    return 'one of the rivals';
  }
}

/** The wallet of the user node pays the same address again and again. */
export class WalletPayer extends Loop {
  readonly #clients: Clients;
  readonly #user: Placed;
  readonly #to: string;
  readonly #everyMs: number;

  constructor(clients: Clients, user: Placed, to: string, everyMs: number) {
    super();
    this.#clients = clients;
    this.#user = user;
    this.#to = to;
    this.#everyMs = everyMs;
  }

  protected async turn(): Promise<void> {
    await sleep(this.#everyMs);
    const began = performance.now();
    try {
      const { api } = await clientOf(this.#user);
      const body = { kind: 'address' as const, address: this.#to, amount: WALLET_PAYMENT, passphrase: '' };
      const { tx_hash: hash } = await api.createPayment({ body });
      if (hash === null) return;
      const request = { client: 'wallet', node: this.#user.name, began, ended: performance.now() };
      // What it spends is for its wallet to know.
      this.#clients.history.note({
        kind: 'post',
        ...request,
        hash,
        spends: [],
        parents: [],
        answer: 'accepted',
        code: '',
      });
    } catch {
      // Not accepted.
    }
  }
}
