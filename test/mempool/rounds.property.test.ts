/**
 * Whatever is paid, and in whatever order blocks are cut, proven, closed, stored, lost, replaced by those of another producer, told twice
 * or too late, trades that come in halves, commands that are appended once more, and the nodes restarted, one of them without its folder: two blocks at most are being
 * made, storage takes each, and nothing that was admitted is lost, in two blocks, or said to be refused and in a block (docs/adr/0044-rounds-that-overlap.md). An archive is the judge.
 */

import { describe, expect } from 'vitest';
import { encodeTransaction } from '../../src/chain/codec.js';
import { parseGenesis } from '../../src/chain/genesis.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { FullBlock, OutPoint, Transaction } from '../../src/chain/types.js';
import type { Journal } from '../../src/journal/journal.js';
import { systemClock } from '../../src/lib/clock.js';
import { atOnce } from '../../src/lib/pieces.js';
import { encodePlace } from '../../src/mempool/replicas/ahead-of-journal.js';
import { WHOLE } from '../../src/mempool/replicas/snapshot-records.js';
import { readAdoptedBlock } from '../../src/mempool/state/adoption.js';
import type { Applier } from '../../src/mempool/state/applier.js';
import type { Command } from '../../src/mempool/state/commands.js';
import { keys } from '../../src/mempool/state/layout.js';
import { loadMempoolState } from '../../src/mempool/state/load.js';
import { decodeKept, decodeStatus, type KeptRecord } from '../../src/mempool/state/records.js';
import { OldestWaiting } from '../../src/mempool/state/retention.js';
import { closedBlockBytes, closedHash, type Round } from '../../src/mempool/state/round.js';
import { MempoolState } from '../../src/mempool/state/state.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { Archive } from '../../src/storage/archive/archive.js';
import { decodeFullBlock } from '../support/full-block.js';
import { openJournal } from '../support/journal.js';
import { MemoryKv } from '../support/memory-kv.js';
import { account, applierOf, mine, pay, payment } from '../support/mempool.js';
import { followingBlock, stateRulesOf } from '../support/mempool-and-archive.js';
import { fc, test } from '../support/property.js';

const alice = account('alice');
const miners = [account('m1'), account('m2')] as const;
const OUTPUTS = 4;
const FUNDS = 1_000n;
const GENESIS = parseGenesis({
  mempool_seed_utxo: {
    '000000': Array.from({ length: OUTPUTS }, () => ({ address: alice.address, amount: Number(FUNDS) })),
  },
});
const RULES = stateRulesOf(GENESIS);

const step = fc.record({
  kind: fc.constantFrom(
    ...(['pay', 'pay', 'pay', 'cut', 'cut', 'prove', 'close', 'close', 'store', 'stored', 'stored'] as const),
    ...(['ahead', 'ahead', 'ahead', 'rival', 'replaced', 'again', 'again', 'restart'] as const),
    ...(['trade', 'trade', 'trade', 'rest', 'rest', 'resend', 'resend', 'anew', 'pair', 'pair'] as const),
  ),
  pick: fc.nat(60),
  split: fc.boolean(),
  /** Which of the two nodes speaks. */
  by: fc.nat(1),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A mempool node as far as its state goes. */
class Node {
  kv = new MemoryKv();
  readonly #journal: Journal;
  /** The database at the last restart. */
  #older = this.kv;
  #running: { readonly state: MempoolState; readonly applier: Applier; readonly store: StateStore } | undefined;

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  get state(): MempoolState {
    if (this.#running === undefined) throw new Error('it is not running');
    return this.#running.state;
  }

  /** What it reads of its database. */
  get store(): StateStore {
    if (this.#running === undefined) throw new Error('it is not running');
    return this.#running.store;
  }

  get applier(): Applier {
    if (this.#running === undefined) throw new Error('it is not running');
    return this.#running.applier;
  }

  /**
   * A kill: what waited to be written comes from the journal. `isLost`: what was written to the database since the last restart is
   * gone too.
   */
  async restart({ isLost = false } = {}): Promise<void> {
    const left = await copyOf(isLost ? this.#older : this.kv);
    await this.stop();
    this.kv = left;
    this.#older = await copyOf(left);
    const state = await loadMempoolState(this.kv, RULES, { hashKey: new Uint8Array(8).fill(7) });
    const store = new StateStore(this.kv, systemClock);
    const applier = applierOf(this.#journal, this.kv, state, store);
    await applier.start();
    this.#running = { state, applier, store };
  }

  async stop(): Promise<void> {
    await this.#running?.applier.stop();
  }

  /**
   * The folder is lost: its state comes of the blocks of storage, and of the journal behind command `seq`, up to which block `at` was
   * stored.
   */
  async remake(blocks: readonly KeptRecord[], seq: number, at: number): Promise<void> {
    await this.stop();
    this.#running = undefined;
    this.kv = new MemoryKv();
    const state = new MempoolState(RULES);
    for (const { bytes, facts } of blocks) {
      const batch = this.kv.batch();
      const command = state.seq + 1;
      state.begin(command, batch);
      atOnce(state.adoptBlock(await readAdoptedBlock(bytes, facts, async () => undefined), batch));
      state.seal(command, batch);
      await this.kv.write(batch, { sync: false });
      state.written();
    }
    const until = blocks.length - 1;
    const batch = this.kv.batch();
    if (at < until) batch.put(keys.ahead, encodePlace({ until, at }));
    state.seal(seq, batch);
    await this.kv.write(batch, { sync: false });
    await this.restart();
  }

  /** Everything in the journal is in the state. */
  async reach(seq: number): Promise<void> {
    await expect.poll(() => this.state.seq, { timeout: 60_000, interval: 1 }).toBeGreaterThanOrEqual(seq);
  }
}

async function copyOf(kv: MemoryKv): Promise<MemoryKv> {
  const copy = new MemoryKv();
  const batch = copy.batch();
  for await (const [key, value] of kv.entries(WHOLE)) batch.put(key, value);
  await copy.write(batch, { sync: false });
  return copy;
}

class Script {
  readonly journal: Journal;
  readonly archive: Archive;
  readonly nodes: readonly [Node, Node];
  /** Every output that there ever was, and what was admitted. */
  readonly #outputs = new Map<string, { readonly outPoint: OutPoint; readonly amount: bigint }>();
  readonly admitted: Transaction[] = [];
  readonly #sent: Command[] = [];
  /** The last block after each command that stored one. */
  readonly #stored = new Map<number, number>([[0, -1]]);
  readonly #oldest = new OldestWaiting(0, { arrivals: 0 });
  /**
   * Of a journal that a state is to be made from: no block is cut before the one before it is closed. A state that has the blocks already
   * cannot tell that from the first one.
   */
  readonly #isProper: boolean;
  /** The second node has had its state from storage and the rest of the journal. */
  #isMadeAnew = false;
  /** Trades of two, whether both halves were sent or one. */
  readonly #trades: (readonly [Transaction, Transaction])[] = [];
  readonly #blocks: FullBlock[] = [];
  /** Outputs after the last block of the archive. */
  readonly #unspent = new Set<string>();
  /** Halves that were sent. */
  readonly #halved = new Set<Transaction>();
  #versions = 1_000n;
  most = 0;

  constructor(journal: Journal, archive: Archive, { isProper }: { readonly isProper: boolean }) {
    this.#isProper = isProper;
    this.journal = journal;
    this.archive = archive;
    this.nodes = [new Node(journal), new Node(journal)];
  }

  async start(): Promise<void> {
    for (const node of this.nodes) await node.restart();
    this.#see({ tHash: '000000', n: 0 });
    await this.#turn();
  }

  /** A block from the cut until it is confirmed. */
  async #turn(): Promise<void> {
    await this.#all('cut', 'close', 'store', 'stored');
  }

  async #all(...kinds: readonly Step['kind'][]): Promise<void> {
    for (const kind of kinds) await this.run({ kind, pick: 0, split: false, by: 0 });
  }

  async run({ kind, pick, split, by }: Step): Promise<void> {
    const node = this.nodes[by === 0 ? 0 : 1];
    const other = this.nodes[by === 0 ? 1 : 0];
    if (kind === 'restart') await node.restart({ isLost: split });
    if (kind === 'anew') await this.#anew(pick);
    // What is rare otherwise: two blocks are being made; and storage has another.
    if (kind === 'ahead') await this.#all('cut', 'pay', 'close', 'cut');
    if (kind === 'replaced') await this.#rival(pick, split);
    if (kind === 'replaced') await this.#tell(node);
    if (kind === 'pay') await this.#pay(node, pick, split);
    if (kind === 'pair') await this.#pair(node, pick);
    if (kind === 'trade') await this.#trade(node, pick, split);
    if (kind === 'rest') await this.#halves(node, this.#trades[pick % Math.max(1, this.#trades.length)] ?? []);
    if (kind === 'resend') await this.#resend(node, pick);
    if (kind === 'cut') {
      const { closedHeight } = node.state;
      // As a leader would; and one that has not read the last commands.
      const height = closedHeight + (pick % 7 === 6 ? 0 : pick % 11 === 10 && !this.#isProper ? 2 : 1);
      if (!this.#isProper || node.state.round === null)
        await this.#send(node, { kind: 'cut-block', height, time: pick, miners: ['m1', 'm2'] });
    }
    if (kind === 'prove' || kind === 'close') await this.#prove(node, split);
    if (kind === 'close') await this.#close(node);
    if (kind === 'store') await this.#store(node);
    if (kind === 'stored') await this.#tell(node);
    if (kind === 'rival') await this.#rival(pick, split);
    const old = this.#sent[pick % Math.max(1, this.#sent.length)];
    if (kind === 'again' && old !== undefined && this.#mayComeAgain(old)) await this.#send(node, old);
    await other.reach(this.journal.head);
    const { seq, waitingSince } = this.nodes[0].state;
    this.#oldest.noteApplied(seq, waitingSince);
    await this.#check();
  }

  /** The second node loses its folder; of the journal there is at least what is kept for that. */
  async #anew(pick: number): Promise<void> {
    this.#isMadeAnew = true;
    const [{ state, store }, second] = this.nodes;
    const blocks: KeptRecord[] = [];
    for (let height = 0; height <= state.head.height; height++) {
      const bytes = await this.archive.fullBlockBytes(height);
      if (bytes === undefined) throw new Error(`storage does not have block ${height}`);
      const kept = await store.get(keys.kept(height));
      if (kept === undefined) throw new Error(`block ${height} is not kept`);
      blocks.push({ bytes, facts: decodeKept(kept).facts });
    }
    const latest = this.#oldest.before(state.waitingSince.oldest());
    const base = Math.floor((latest * Math.min(pick, 30)) / 30);
    const stored = [...this.#stored].filter(([seq]) => seq <= base).map(([, height]) => height);
    await second.remake(blocks, base, Math.max(...stored));
  }

  /** All that waits comes into blocks. */
  async drain(): Promise<void> {
    for (let i = 0; i < 12; i++) {
      await this.#tell(this.nodes[0]);
      await this.#turn();
    }
    expect(this.nodes[0].state.waiting.count).toBe(0);
  }

  async #send(node: Node, command: Command): Promise<unknown> {
    if (command.kind !== 'transactions') this.#sent.push(command);
    const outcome = await node.applier.submit(command);
    // Nothing else is on its way.
    this.#stored.set(this.journal.head, Math.max(node.state.head.height, this.nodes[0].state.head.height));
    return outcome;
  }

  async #pay(node: Node, pick: number, split: boolean): Promise<void> {
    const free = this.#free(node);
    const coin = free[pick % Math.max(1, free.length)];
    if (coin === undefined) return;
    const tx = this.#payment(coin, split);
    const command = { kind: 'transactions' as const, time: 1, groups: [[encodeTransaction(tx)]] };
    expect(await node.applier.submit<'transactions'>(command)).toEqual([null]);
    this.admitted.push(tx);
    this.#note(tx, transactionHash(tx));
  }

  /** Two coins in one group: both payments are taken, or none. */
  async #pair(node: Node, pick: number): Promise<void> {
    const free = this.#free(node);
    const coins = [free[pick % Math.max(1, free.length)], free[(pick + 1) % Math.max(1, free.length)]];
    const txs = [...new Set(coins)].flatMap((coin) => (coin === undefined ? [] : [this.#payment(coin, false)]));
    const groups = [txs.map((tx) => encodeTransaction(tx))];
    expect(await node.applier.submit<'transactions'>({ kind: 'transactions', time: 1, groups })).toEqual([null]);
    for (const tx of txs) {
      this.admitted.push(tx);
      this.#note(tx, transactionHash(tx));
    }
  }

  /** Two coins change places with themselves: both halves together, or one of them. */
  async #trade(node: Node, pick: number, isWhole: boolean): Promise<void> {
    const free = this.#free(node);
    const [one, other] = [free[pick % Math.max(1, free.length)], free[(pick + 1) % Math.max(1, free.length)]];
    if (one === undefined || other === undefined || one === other) return;
    const druid = `DRUID0x${this.#trades.length}`;
    const info = { druid, participants: 2n, expectations: [], genesisHash: null };
    const halves = [one, other].map((coin) => ({ ...this.#payment(coin, false), druidInfo: info }));
    const [first, second] = halves;
    if (first === undefined || second === undefined) return;
    this.#trades.push([first, second]);
    for (const half of halves) this.#note(half, transactionHash(half));
    await this.#halves(node, isWhole ? halves : [first]);
  }

  /** Its outcome is not looked at: a half that waited may have had its time, or its coin may be spent. */
  async #halves(node: Node, halves: readonly Transaction[]): Promise<void> {
    if (halves.length === 0) return;
    await node.applier.submit<'transactions'>({
      kind: 'transactions',
      time: 1,
      groups: [halves.map((half) => encodeTransaction(half))],
    });
    for (const half of halves) this.#halved.add(half);
  }

  /** Somebody has sent it to another node as well, whose command comes late. */
  async #resend(node: Node, pick: number): Promise<void> {
    const halves = this.#trades.map(([first]) => [first]);
    const all = [...this.admitted.map((tx) => [tx]), ...this.#trades, ...halves];
    const group = all[pick % Math.max(1, all.length)];
    if (group === undefined) return;
    const groups = [group.map((tx) => encodeTransaction(tx))];
    await node.applier.submit<'transactions'>({ kind: 'transactions', time: 1, groups });
    for (const tx of group) if (tx.druidInfo !== null) this.#halved.add(tx);
  }

  #mayComeAgain(command: Command): boolean {
    if (!this.#isProper) return true;
    return command.kind !== 'cut-block' || (command.height ?? 0) <= this.nodes[0].state.closedHeight + 1;
  }

  #free({ state: { coins } }: Node) {
    return [...this.#outputs.values()].filter(({ outPoint }) => coins.has(outPoint) && !coins.isClaimed(outPoint));
  }

  #payment(
    { outPoint, amount }: { readonly outPoint: OutPoint; readonly amount: bigint },
    split: boolean,
  ): Transaction {
    const half = amount / 2n;
    const amounts = split && half > 0n ? [half, amount - half] : [amount];
    const tx = payment({ from: alice, inputs: [outPoint], outputs: amounts.map((one) => pay(alice, one)) });
    this.#versions += 1n;
    return { ...tx, version: this.#versions };
  }

  #note(tx: Transaction, hash: string): void {
    for (const { outPoint, txOut } of createdOutPoints(tx, hash)) {
      this.#outputs.set(outPointKey(outPoint), { outPoint, amount: txOut.value.amount });
    }
  }

  #see(at: OutPoint): void {
    const genesis = GENESIS.transactions.get(at.tHash);
    if (genesis !== undefined) this.#note(genesis, at.tHash);
  }

  async #prove(node: Node, both: boolean): Promise<void> {
    const { round } = node.state;
    if (round === null || round.winner !== null) return;
    for (const [i, miner] of miners.slice(0, both ? 2 : 1).entries()) {
      const { nonce, coinbase } = mine(round.header, round.reward, miner);
      const proof = { kind: 'proof' as const, height: round.height, miner: `m${i + 1}`, nonce };
      await this.#send(node, { ...proof, coinbase: encodeTransaction(coinbase) });
    }
  }

  async #close(node: Node): Promise<void> {
    const height = node.state.round?.height ?? 0;
    await this.#send(node, { kind: 'close-block', height });
  }

  /** Storage keeps the closed block, and this node does not know yet: it has no other, so it must take this one. */
  async #store({ state }: Node): Promise<void> {
    const { closing } = state;
    if (closing === null || this.archive.tip.hash !== closing.header.previousHash) return;
    const full = decodeFullBlock(closedBlockBytes(closing));
    await this.#keep(full);
    expect(this.archive.tip.hash).toBe(closedHash(closing));
  }

  /** As `ChainSync` does for what storage has and the node has not noted. */
  async #tell(node: Node): Promise<void> {
    while (node.state.head.height + 1 < this.archive.nextHeight) {
      const height = node.state.head.height + 1;
      const hash = (await this.archive.hashAt(height)) ?? '';
      const { closing } = node.state;
      const block = await this.archive.fullBlockBytes(height);
      if (block === undefined) throw new Error(`storage does not have block ${height}`);
      const isOwn = closing !== null && closedHash(closing) === hash;
      if (isOwn) await this.#send(node, { kind: 'block-stored', height, hash });
      else await this.#send(node, { kind: 'block-adopted', block, facts: null });
      expect(node.state.head.hash).toBe(hash);
    }
  }

  /** Storage has another block next: of what waits, oldest first, and perhaps one that spends the same as what waits. */
  async #rival(pick: number, isContrary: boolean): Promise<void> {
    if (this.archive.nextHeight === 0) return;
    const unspent = new Set(this.#unspent);
    const chosen: Transaction[] = [];
    const contrary = [...unspent].flatMap((key) => this.#outputs.get(key) ?? [])[pick];
    const candidates = isContrary && contrary !== undefined ? [this.#payment(contrary, false)] : [];
    const units = [...candidates, ...this.admitted].map((tx): readonly Transaction[] => [tx]);
    for (const unit of [...units, ...this.#trades]) {
      if (chosen.length > pick % 5) break;
      const spent = unit.flatMap(spentOutPoints).map(outPointKey);
      if (!spent.every((key) => unspent.has(key))) continue;
      for (const key of spent) unspent.delete(key);
      for (const { outPoint } of unit.flatMap((tx) => createdOutPoints(tx))) unspent.add(outPointKey(outPoint));
      chosen.push(...unit);
    }
    for (const tx of chosen) this.#note(tx, transactionHash(tx));
    await this.#keep(followingBlock(this.archive, this.#blocks.at(-1), account('rival'), chosen));
  }

  async #keep(full: FullBlock): Promise<void> {
    await this.archive.store(full);
    this.#blocks.push(full);
    for (const [i, tx] of full.transactions.entries()) {
      for (const at of spentOutPoints(tx)) this.#unspent.delete(outPointKey(at));
      const hash = full.block.transactions[i] ?? '';
      for (const { outPoint } of createdOutPoints(tx, hash)) this.#unspent.add(outPointKey(outPoint));
    }
  }

  /** What must hold after every step. */
  async #check(): Promise<void> {
    const [{ state, store }, other] = this.nodes;
    expect(other.state.sharedDigest()).toBe(state.sharedDigest());
    // A state that was made anew counts arrivals otherwise.
    if (!this.#isMadeAnew) expect(other.state.digest()).toBe(state.digest());
    const { head, rounds, closing } = state;
    this.most = Math.max(this.most, rounds.length);
    expect(rounds.length).toBeLessThanOrEqual(2);
    expect(rounds.map(({ height }) => height)).toEqual(rounds.map((_, i) => head.height + 1 + i));
    expect(rounds.slice(0, -1).every(({ winner }) => winner !== null)).toBe(true);
    const [, next] = rounds;
    if (next !== undefined && closing !== null) expect(next.header.previousHash).toBe(closedHash(closing));
    // The head is what storage has, or had a moment ago.
    expect(head.hash).toBe(head.height < 0 ? null : await this.archive.hashAt(head.height));
    expect(this.#tokensOf(state)).toBe(head.issued);
    if (head.height + 1 === this.archive.nextHeight) this.#checkStored(state);
    for (const tx of this.admitted) await this.#checkStatus(tx, state, store);
    for (const half of this.#halved) await this.#checkHalf(half, state, store);
  }

  #tokensOf({ utxos }: MempoolState): bigint {
    let sum = 0n;
    for (const slot of utxos.slots()) sum += utxos.output(slot).value.amount;
    return sum;
  }

  #checkStored(state: MempoolState): void {
    const outputOf = state.storedOutputs();
    const seen = [...this.#outputs.values()].filter(({ outPoint }) => outputOf(outPoint) !== undefined);
    const before = [...this.#unspent].filter((key) => this.#outputs.has(key));
    expect(seen.map(({ outPoint }) => outPointKey(outPoint)).toSorted()).toEqual(before.toSorted());
  }

  /** It waits, or it is in a block with the other; if it is in none, its coin may be spent or its time may be over. */
  async #checkHalf(tx: Transaction, state: MempoolState, store: StateStore): Promise<void> {
    const hash = transactionHash(tx);
    const height = this.#blocks.findIndex(({ block }) => block.transactions.includes(hash));
    if (state.waits(hash)) return;
    if (state.pending(hash) !== undefined) {
      expect(height === -1 || height > state.head.height).toBe(true);
      return;
    }
    const record = await store.get(keys.status(hash));
    const status = record === undefined ? undefined : decodeStatus(record).status;
    expect(status).toBe(height !== -1 && height <= state.head.height ? 'Confirmed' : 'Rejected');
  }

  /** It waits, or it is in a block that storage has, or a block of another has spent its money. */
  async #checkStatus(tx: Transaction, state: MempoolState, store: StateStore): Promise<void> {
    const hash = transactionHash(tx);
    const record = await store.get(keys.status(hash));
    const status = record === undefined ? undefined : decodeStatus(record);
    const heights = this.#blocks.flatMap(({ block }, height) => (block.transactions.includes(hash) ? [height] : []));
    expect(heights.length).toBeLessThanOrEqual(1);
    if (state.pending(hash) !== undefined) expect(heights.every((height) => height > state.head.height)).toBe(true);
    else if (status?.status === 'Confirmed') {
      const [height = -1] = heights;
      expect(height).toBeGreaterThanOrEqual(0);
      expect(status.additionalInfo).toBe(`In block ${height} ${await this.archive.hashAt(height)}`);
    } else {
      expect(status?.status).toBe('Rejected');
      const isPossible = spentOutPoints(tx).every((at) => this.#unspent.has(outPointKey(at)));
      expect(isPossible).toBe(false);
    }
  }
}

async function replayed(journal: Journal): Promise<string> {
  const fresh = new Node(journal);
  await fresh.restart();
  const digest = fresh.state.digest();
  await fresh.stop();
  return digest;
}

/** What the properties are about was there. */
const seen = { two: 0, given: 0 };
const made = (rounds: readonly Round[]): number => rounds.length;

describe('blocks that are made while others are being stored', () => {
  test.prop([fc.array(step, { minLength: 20, maxLength: 70 })], {
    numRuns: 10,
  })(
    'are two at most, in step with storage, and lose nothing, in any order of events (rules P1, P2, P4)',
    async (steps) => {
      const journal = await openJournal(new MemoryKv());
      const archive = await Archive.open({ rules: { genesis: GENESIS, activationHeight: 3 } }, { kv: new MemoryKv() });
      const script = new Script(journal, archive, { isProper: steps.some(({ kind }) => kind === 'anew') });
      try {
        await script.start();
        for (const one of steps) {
          const before = made(script.nodes[0].state.rounds);
          await script.run(one);
          if (before === 2 && made(script.nodes[0].state.rounds) === 0) seen.given++;
        }
        if (script.most === 2) seen.two++;
        expect(await replayed(journal)).toBe(script.nodes[0].state.digest());
        await script.drain();
        expect(await replayed(journal)).toBe(script.nodes[0].state.digest());
        expect(await archive.verify()).toMatchObject({ blocks: archive.nextHeight });
      } finally {
        for (const node of script.nodes) await node.stop();
        await journal.close();
      }
    },
  );

  test('were two at a time, and were given up both, in some of the runs above', () => {
    expect(seen.two).toBeGreaterThan(0);
    expect(seen.given).toBeGreaterThan(0);
  });
});
