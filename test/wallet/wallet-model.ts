/**
 * A small model of a chain and a pool, and a wallet that follows it: the steps that may happen to it in any order, and what must
 * hold after each of them.
 */

import { expect } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { Evidence, type TransactionStatus } from '../../src/user/evidence.js';
import type { OwnTransaction } from '../../src/wallet/payments/outgoing.js';
import { fc } from '../support/property.js';
import {
  block,
  NOBODY,
  newWallet,
  type OpenWallet,
  openWallet,
  paymentFromOutside,
  refreshOnce,
  tokens,
} from '../support/wallet-fixtures.js';

const OPTIONS = { aggregateAbove: 6 };
/** Keys that may be imported; they may be paid before. */
const KEYS = [101, 102].map((seed) => {
  const { publicKey, seed: secretKey } = keyPairFromSeed(new Uint8Array(32).fill(seed));
  return { address: addressOf(publicKey), record: { publicKey, secretKey, addressVersion: null } };
});

/** Often what coins have, so that payments leave no change. */
const amount = fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constantFrom(10, 20, 30));
const Answer = fc.constantFrom('admitted', 'admitted', 'admitted', 'lost', 'again', 'refused');
export const Step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('deposit' as const), amount, lock: fc.nat(3) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('pay' as const),
      amounts: fc.array(amount, { minLength: 1, maxLength: 5 }),
      to: fc.nat(3),
      isOverlapped: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      answers: fc.array(Answer, { maxLength: 8, size: 'max' }),
      together: fc.integer({ min: 1, max: 4 }),
      order: fc.nat(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('mine' as const),
      count: fc.nat(6),
      isTold: fc.boolean(),
      order: fc.option(fc.nat()),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('tellMissed' as const), count: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('tellAgain' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('steal' as const, 'copy' as const), pick: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('link' as const), remembers: fc.boolean(), meanwhile: fc.nat(3) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('crash' as const, 'losePool' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('crashMidway' as const),
      amounts: fc.array(amount, { maxLength: 3, size: 'max' }),
      mines: fc.boolean(),
      turns: fc.nat(12),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('import' as const), pick: fc.nat(1) }) },
);
type AnyStep = typeof Step extends fc.Arbitrary<infer T> ? T : never;

export class WalletModel {
  open: OpenWallet;
  readonly #receivers: readonly string[];
  /** Every output of the chain. */
  readonly #utxos = new Map<string, readonly [OutPoint, TxOut]>();
  /** Own and foreign transactions that wait, in their order. */
  #pool: Transaction[] = [];
  readonly #mined = new Set<string>();
  readonly #refused = new Set<string>();
  /** How often each own transaction was said to have ended since it was made last, by this run of the wallet or one before. */
  readonly #ended = new Map<string, string[]>();
  /** Outputs that the wallet owned when it made them. */
  readonly #expected = new Map<string, TxOut>();
  readonly #known = new Set<string>();
  #height = -1;
  #tip: string | null = null;
  readonly #blocks: ReturnType<typeof block>[] = [];

  private constructor(open: OpenWallet, receivers: readonly string[]) {
    this.open = open;
    this.#receivers = [...receivers, NOBODY, ...KEYS.map(({ address }) => address)];
    this.#listen();
  }

  static async create(): Promise<WalletModel> {
    const open = await newWallet(OPTIONS);
    const model = new WalletModel(open, [await open.wallet.newAddress()]);
    await model.run({ kind: 'deposit', amount: 100, lock: 0 });
    await model.run({ kind: 'mine', count: 1, isTold: true, order: null });
    return model;
  }

  get #wallet() {
    return this.open.wallet;
  }

  get #hasMissed(): boolean {
    return this.#wallet.chain.height < this.#height;
  }

  async run(step: AnyStep): Promise<void> {
    switch (step.kind) {
      case 'deposit':
        this.#pool.push(
          paymentFromOutside([
            tokens(this.#receivers[0] ?? '', BigInt(step.amount), BigInt(Math.max(this.#height, 0) + step.lock)),
          ]),
        );
        return;
      case 'pay':
        return this.#pay(step.amounts.map(BigInt), this.#receivers[step.to] ?? NOBODY, step.isOverlapped);
      case 'send':
        return this.#send(step.answers, step);
      case 'mine':
        return this.#mine(this.#takeFromPool(step.count, step.order), step.isTold);
      case 'tellMissed':
        return this.#tellMissed(step.count);
      case 'tellAgain':
        return this.#tellAgain(step.pick);
      case 'steal':
        return this.#steal(step.pick);
      case 'copy':
        return this.#mineCopy(step.pick);
      case 'link':
        return this.#link(step.remembers, step.meanwhile);
      case 'crash':
        return this.#crash();
      case 'crashMidway':
        return this.#crashMidway(step.amounts.map(BigInt), step.mines, step.turns);
      case 'losePool':
        this.#pool = [];
        return this.#link(true);
      case 'import':
        return this.#import(step.pick);
    }
  }

  async check(): Promise<void> {
    await this.#wallet.merges.settled();
    this.#noteMade();
    const inFlight = this.#wallet.outgoing.inFlight();
    const spent = inFlight.flatMap(({ transaction }) => spentOutPoints(transaction).map(outPointKey));
    expect(new Set(spent).size).toBe(spent.length);
    const listed = [...(await this.#wallet.info({})).addresses.values()].flat();
    expect(new Set([...spent, ...listed.map(({ outPoint }) => outPointKey(outPoint))]).size).toBe(
      spent.length + listed.length,
    );
    for (const ends of this.#ended.values()) expect(ends).toHaveLength(1);
    if (this.#hasMissed) return;
    const taken = new Set(spent);
    const coming = inFlight.flatMap(({ hash, transaction }) => createdOutPoints(transaction, hash));
    const owned = new Map<string, TxOut>();
    for (const [key, [, txOut]] of this.#utxos) if (this.#owns(txOut)) owned.set(key, txOut);
    for (const { outPoint } of coming) {
      const key = outPointKey(outPoint);
      const expected = this.#expected.get(key);
      if (expected) owned.set(key, expected);
    }
    const free = [...owned].filter(([key]) => !taken.has(key)).map(([, txOut]) => txOut);
    const sum = (list: readonly TxOut[]): bigint => list.reduce((total, { value }) => total + value.amount, 0n);
    const totals = this.#wallet.coins.totals();
    expect(totals.running).toBe(sum(free));
    expect(totals.available).toBe(sum(free.filter(({ locktime }) => locktime <= BigInt(Math.max(this.#height, 0)))));
    expect(listed.reduce((total, { value }) => total + value.amount, 0n)).toBe(totals.running);
    const { movements } = await this.#wallet.history.movements({ newestFirst: false, limit: 1_000 });
    expect(movements.reduce((total, { net }) => total + net, 0n)).toBe(totals.running);
  }

  /** Everything goes well from now on: what can be in the chain comes there, and nothing is left. */
  async finish(): Promise<void> {
    await this.#link(true);
    for (let round = 0; this.#wallet.outgoing.inFlight().length > 0; round++) {
      expect(round).toBeLessThan(60);
      await this.#send(new Array<string>(500).fill('admitted'));
      await this.#mine(this.#pool.splice(0), true);
      await this.#link(true);
      await this.check();
    }
    const history = await this.#wallet.outgoing.latest();
    expect(new Set(history.map(({ hash }) => hash)).size).toBe(history.length);
    for (const { hash, transaction, state } of history) {
      const isInChain = this.#mined.has(hash) || this.#mined.has(transactionHash({ ...transaction, version: 7n }));
      expect([hash, state]).toEqual([hash, isInChain ? 'confirmed' : 'rejected']);
      if (!isInChain) expect(this.#isImpossible(transaction)).toBe(true);
    }
  }

  async #pay(amounts: readonly bigint[], address: string, isOverlapped: boolean): Promise<void> {
    const pay = (one: bigint) => this.#wallet.payments.pay({ address, amount: one, locktime: 0n });
    const paid = Promise.allSettled(amounts.map(pay));
    if (isOverlapped) await this.#mine(this.#pool.splice(0, 2), true);
    for (const result of await paid) {
      if (result.status === 'rejected') expect(isTesseraError(result.reason, 'insufficient_funds')).toBe(true);
    }
  }

  /** As the sender does: some are under way together, arrive in any order, and are answered like this. */
  async #send(answers: readonly string[], { together = 1, order = 0 } = {}): Promise<void> {
    const { outgoing, settlement } = this.#wallet;
    const later: string[] = [];
    for (let at = 0; at < answers.length; at += together) {
      const taken = answers.slice(at, at + together).flatMap((answer) => {
        const entry = outgoing.takeQueued();
        return entry === undefined ? [] : [{ entry, answer }];
      });
      for (const { transaction } of taken.map(({ entry }) => entry)) {
        for (const { tHash } of spentOutPoints(transaction)) {
          expect(outgoing.get(tHash)?.state).not.toBe('queued');
        }
      }
      const answered: (() => Promise<void>)[] = [];
      for (const { entry, answer } of shuffled(taken, order)) {
        const { hash } = entry;
        const verdict = this.#arrive(entry, answer);
        if (verdict === 'later') later.push(hash);
        else if (verdict === 'refused')
          answered.push(async () => void (await settlement.markRejected(hash, 'the model says so')));
        else answered.push(() => settlement.markSent(hash));
      }
      for (const settle of shuffled(answered, order + 1)) await settle();
    }
    for (const hash of later) outgoing.release(hash);
  }

  /** At the mempool node; what the wallet hears of it. */
  #arrive({ hash, transaction }: OwnTransaction, answer: string): 'admitted' | 'refused' | 'later' {
    const isKnown = this.#mined.has(hash) || this.#pool.some((one) => transactionHash(one) === hash);
    if (answer === 'again' || (!isKnown && !this.#isAdmissible(transaction))) return 'later';
    if (answer === 'refused' && !isKnown) {
      this.#refused.add(hash);
      return 'refused';
    }
    if (!isKnown) this.#pool.push(transaction);
    return answer === 'lost' ? 'later' : 'admitted';
  }

  #isAdmissible(transaction: Transaction): boolean {
    const claimed = new Set(this.#pool.flatMap(spentOutPoints).map(outPointKey));
    const offered = new Map(this.#utxos);
    for (const one of this.#pool) {
      for (const { outPoint, txOut } of createdOutPoints(one)) offered.set(outPointKey(outPoint), [outPoint, txOut]);
    }
    return spentOutPoints(transaction).every((outPoint) => {
      const key = outPointKey(outPoint);
      const found = offered.get(key)?.[1];
      return found !== undefined && !claimed.has(key) && found.locktime <= BigInt(Math.max(this.#height, 0));
    });
  }

  /** From the front of the pool; or, with `order`, any that the chain allows, in any order. */
  #takeFromPool(count: number, order: number | null): readonly Transaction[] {
    if (order === null) return this.#pool.splice(0, count);
    const offered = new Set(this.#utxos.keys());
    const taken: Transaction[] = [];
    for (let found = true; found && taken.length < count; ) {
      const next = shuffled(this.#pool, order).find((one) =>
        spentOutPoints(one).every((outPoint) => isForeign(outPoint) || offered.has(outPointKey(outPoint))),
      );
      found = next !== undefined;
      if (next === undefined) break;
      this.#pool = this.#pool.filter((one) => one !== next);
      for (const { outPoint } of createdOutPoints(next)) offered.add(outPointKey(outPoint));
      taken.push(next);
    }
    return taken;
  }

  #makeBlock(transactions: readonly Transaction[]): ReturnType<typeof block> {
    this.#height += 1;
    const made = block(this.#height, transactions, { previous: this.#tip });
    this.#tip = made.hash;
    this.#blocks.push(made);
    for (const transaction of transactions) {
      this.#mined.add(transactionHash(transaction));
      for (const outPoint of spentOutPoints(transaction)) this.#utxos.delete(outPointKey(outPoint));
      for (const { outPoint, txOut } of createdOutPoints(transaction)) {
        this.#utxos.set(outPointKey(outPoint), [outPoint, txOut]);
      }
    }
    return made;
  }

  async #mine(transactions: readonly Transaction[], isTold: boolean): Promise<void> {
    const hasMissed = this.#hasMissed;
    const made = this.#makeBlock(transactions);
    if (isTold) expect(await this.#wallet.chain.apply(made)).toBe(hasMissed ? 'gap' : 'applied');
  }

  /** As a storage node gives them. */
  async #tellMissed(count: number): Promise<void> {
    for (const made of this.#blocks.slice(this.#wallet.chain.height + 1).slice(0, count)) {
      expect(await this.#wallet.chain.apply(made)).toBe('applied');
    }
  }

  async #tellAgain(pick: number): Promise<void> {
    const known = this.#blocks.slice(0, this.#wallet.chain.height + 1);
    const made = known[known.length - 1 - (pick % known.length)];
    if (made !== undefined) expect(await this.#wallet.chain.apply(made)).toBe('known');
  }

  /** Somebody with the same keys spends an output of the chain that nothing in the pool claims, in a block of its own. */
  async #steal(pick: number): Promise<void> {
    const claimed = new Set(this.#pool.flatMap(spentOutPoints).map(outPointKey));
    const free = [...this.#utxos].filter(([key, [, txOut]]) => this.#owns(txOut) && !claimed.has(key));
    const [, [previousOut]] = free[pick % Math.max(free.length, 1)] ?? ['', [undefined]];
    // A payment whose inputs went elsewhere in a block that was missed stays queued (docs/wallet.md#payments).
    if (previousOut === undefined || this.#hasMissed) return;
    await this.#mine([{ ...paymentFromOutside([tokens(NOBODY, 1n)]), inputs: [{ previousOut, script: [] }] }], true);
  }

  /** A queued payment comes into a block as a copy with another version. */
  async #mineCopy(pick: number): Promise<void> {
    const queued = this.#wallet.outgoing.inFlight().filter(({ hash, transaction, state }) => {
      const isKnown = this.#mined.has(hash) || this.#pool.some((one) => transactionHash(one) === hash);
      return state === 'queued' && !isKnown && this.#isInChain(transaction) && this.#isAdmissible(transaction);
    });
    const entry = queued[pick % Math.max(queued.length, 1)];
    if (entry !== undefined && !this.#hasMissed) await this.#mine([{ ...entry.transaction, version: 7n }], true);
  }

  #isInChain(transaction: Transaction): boolean {
    return spentOutPoints(transaction).every((outPoint) => this.#utxos.has(outPointKey(outPoint)));
  }

  /**
   * A new link: statuses, a refresh of everything, and what follows from both, as the follower does it. `meanwhile`: a block
   * with so many transactions comes between the two answers, and the wallet hears of it last.
   */
  async #link(remembers: boolean, meanwhile = 0): Promise<void> {
    const { outgoing, settlement } = this.#wallet;
    const entries = outgoing.inFlight().map((entry) => ({ ...entry }));
    const statuses = new Map<string, TransactionStatus>();
    for (const { hash, state } of entries) {
      const isWaiting = this.#pool.some((one) => transactionHash(one) === hash);
      // A mempool node forgets a confirmed one after a day; one whose answer was lost before is found by its outputs, if any.
      const isTold = isWaiting || (this.#mined.has(hash) && (remembers || state === 'queued'));
      if (isTold) statuses.set(hash, { hash, status: isWaiting ? 'Pending' : 'Confirmed', info: '' });
    }
    const inChainBefore = new Set(this.#mined);
    const late = meanwhile === 0 ? undefined : this.#makeBlock(this.#pool.splice(0, meanwhile));
    const evidence = new Evidence(entries);
    evidence.note([...this.#utxos.values()]);
    await refreshOnce(this.#wallet, this.#wallet.keys.watched(), [...this.#utxos.values()], this.#height);
    const findings = evidence.findings(statuses);
    for (const { hash, state } of entries) {
      if (outgoing.get(hash)?.state !== state) continue;
      const finding = findings.get(hash);
      // What was admitted and is in the chain is sent no more, even if the mempool node has forgotten it.
      if (state === 'sent' && inChainBefore.has(hash)) expect(finding).toBe('confirmed');
      if (finding === 'admitted') await settlement.markSent(hash);
      else if (finding === 'missing') await settlement.requeue(hash);
      else if (finding === 'confirmed') await settlement.markConfirmed(hash);
      else if (finding === 'copied') await settlement.markConfirmed(hash, { asCopy: true });
    }
    await this.#wallet.chain.advanceTo({ height: this.#height, hash: this.#tip });
    if (late !== undefined) expect(await this.#wallet.chain.apply(late)).toBe('known');
  }

  /** The store is closed under the wallet: what was not written is lost. */
  async #crash(): Promise<void> {
    await this.#wallet.merges.settled();
    this.#noteMade();
    const before = await this.#wallet.outgoing.latest();
    const totals = this.#wallet.coins.totals();
    await this.#reopen();
    const after = await this.#wallet.outgoing.latest();
    expect(after).toEqual(before);
    expect(this.#wallet.coins.totals()).toEqual(totals);
  }

  /** The store is closed under payments and a block that are being written: what was answered is there. */
  async #crashMidway(amounts: readonly bigint[], mines: boolean, turns: number): Promise<void> {
    const made = mines && !this.#hasMissed ? this.#makeBlock(this.#pool.splice(0, 2)) : undefined;
    const paid = Promise.allSettled(
      amounts.map((one) => this.#wallet.payments.pay({ address: NOBODY, amount: one, locktime: 0n })),
    );
    const taken = Promise.allSettled(made === undefined ? [] : [this.#wallet.chain.apply(made)]);
    for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
    await this.#reopen();
    const answered = (await paid).flatMap((one) => (one.status === 'fulfilled' ? [one.value.hash] : []));
    await taken;
    const known = new Set((await this.#wallet.outgoing.latest()).map(({ hash }) => hash));
    expect(answered.filter((hash) => !known.has(hash))).toEqual([]);
    if (made !== undefined) expect(['applied', 'known']).toContain(await this.#wallet.chain.apply(made));
  }

  async #reopen(): Promise<void> {
    await this.open.kv.close();
    this.open = await openWallet(this.open.folder, OPTIONS);
    this.#listen();
  }

  async #import(pick: number): Promise<void> {
    const { address, record } = KEYS[pick] ?? KEYS[0] ?? { address: '', record: undefined };
    if (record === undefined) return;
    this.#noteMade();
    this.#wallet.setRefresher(async () => undefined);
    await this.#wallet.importKeyPairs(new Map([[address, record]]));
    // As of the last block, even when the wallet has not heard of it yet.
    await refreshOnce(this.#wallet, [address], [...this.#utxos.values()], this.#height);
  }

  #listen(): void {
    this.#wallet.settlement.queued.on(({ hash }: OwnTransaction) => this.#noteMadeAgain(hash));
    this.#wallet.settlement.settled.on(({ hash, state }: OwnTransaction) => {
      this.#ended.set(hash, [...(this.#ended.get(hash) ?? []), state]);
    });
  }

  /** What was rejected may be made again with the same bytes: then it ends once more. */
  #noteMadeAgain(hash: string): void {
    const ends = this.#ended.get(hash);
    if (ends === undefined) return;
    expect(new Set(ends)).toEqual(new Set(['rejected']));
    this.#ended.delete(hash);
    this.#known.delete(hash);
  }

  #noteMade(): void {
    for (const { hash, transaction } of this.#wallet.outgoing.inFlight()) {
      this.#noteMadeAgain(hash);
      if (this.#known.has(hash)) continue;
      this.#known.add(hash);
      for (const { outPoint, txOut } of createdOutPoints(transaction, hash)) {
        if (this.#owns(txOut)) this.#expected.set(outPointKey(outPoint), txOut);
      }
    }
  }

  #owns({ scriptPublicKey: to }: TxOut): boolean {
    return to !== null && this.#wallet.keys.owns(to);
  }

  /** It was refused for good, or one of its inputs is spent elsewhere or will never exist. */
  #isImpossible(transaction: Transaction): boolean {
    if (this.#refused.has(transactionHash(transaction))) return true;
    return spentOutPoints(transaction).some((outPoint) => !this.#utxos.has(outPointKey(outPoint)));
  }
}

/** The same order for the same number. */
function shuffled<T>(list: readonly T[], order: number): T[] {
  const left = [...list];
  const chosen: T[] = [];
  for (let rest = order; left.length > 0; rest = Math.floor(rest / 7))
    chosen.push(...left.splice(rest % left.length, 1));
  return chosen;
}

/** What `paymentFromOutside` spends is in no block of the model. */
function isForeign({ tHash }: OutPoint): boolean {
  return tHash.startsWith('outside');
}
