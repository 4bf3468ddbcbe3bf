/**
 * The wallet against a small model of a chain and a pool: payments that spend each other's change, in any order with
 * admissions, lost answers, refusals, blocks that are seen and missed, thefts and copies, refreshes, imports, merges and
 * kill -9. No coin is spent twice, the sums are those of the chain, and every payment ends once (docs/adr/0023-own-change.md).
 */

import { afterAll, describe, expect } from 'vitest';
import { addressOf } from '../../src/chain/address.js';
import { transactionHash } from '../../src/chain/hash.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../src/chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { isTesseraError } from '../../src/lib/errors.js';
import { Evidence, type TransactionStatus } from '../../src/user/evidence.js';
import type { OwnTransaction } from '../../src/wallet/payments/outgoing.js';
import { fc, test } from '../support/property.js';
import {
  block,
  NOBODY,
  newWallet,
  type OpenWallet,
  openWallet,
  paymentFromOutside,
  refreshOnce,
  removeFolders,
  tokens,
} from '../support/wallet-fixtures.js';

afterAll(removeFolders);

const OPTIONS = { aggregateAbove: 6 };
/** Keys that may be imported; they may be paid before. */
const KEYS = [101, 102].map((seed) => {
  const { publicKey, seed: secretKey } = keyPairFromSeed(new Uint8Array(32).fill(seed));
  return { address: addressOf(publicKey), record: { publicKey, secretKey, addressVersion: null } };
});

const amount = fc.integer({ min: 1, max: 60 });
const Answer = fc.constantFrom('admitted', 'admitted', 'admitted', 'lost', 'again', 'refused');
const Step = fc.oneof(
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
    arbitrary: fc.record({ kind: fc.constant('send' as const), answers: fc.array(Answer, { maxLength: 8 }) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('mine' as const), count: fc.nat(6), isTold: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('steal' as const, 'copy' as const), pick: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('link' as const), remembers: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('crash' as const, 'losePool' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('import' as const), pick: fc.nat(1) }) },
);
type AnyStep = typeof Step extends fc.Arbitrary<infer T> ? T : never;

class Model {
  open: OpenWallet;
  readonly #receivers: readonly string[];
  /** Every output of the chain. */
  readonly #utxos = new Map<string, readonly [OutPoint, TxOut]>();
  /** Own and foreign transactions that wait, in their order. */
  #pool: Transaction[] = [];
  readonly #mined = new Set<string>();
  readonly #refused = new Set<string>();
  /** How often each own transaction was said to have ended, by this run of the wallet or one before. */
  readonly #ended = new Map<string, string[]>();
  /** Outputs that the wallet owned when it made them. */
  readonly #expected = new Map<string, TxOut>();
  readonly #known = new Set<string>();
  #height = -1;
  #tip: string | null = null;
  #hasMissed = false;

  private constructor(open: OpenWallet, receivers: readonly string[]) {
    this.open = open;
    this.#receivers = [...receivers, NOBODY, ...KEYS.map(({ address }) => address)];
    this.#listen();
  }

  static async create(): Promise<Model> {
    const open = await newWallet(OPTIONS);
    const model = new Model(open, [await open.wallet.newAddress()]);
    await model.run({ kind: 'deposit', amount: 100, lock: 0 });
    await model.run({ kind: 'mine', count: 1, isTold: true });
    return model;
  }

  get #wallet() {
    return this.open.wallet;
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
        return this.#send(step.answers);
      case 'mine':
        return this.#mine(this.#pool.splice(0, step.count), step.isTold);
      case 'steal':
        return this.#steal(step.pick);
      case 'copy':
        return this.#mineCopy(step.pick);
      case 'link':
        return this.#link(step.remembers);
      case 'crash':
        return this.#crash();
      case 'losePool':
        this.#pool = [];
        return this.#link(true);
      case 'import':
        return this.#import(step.pick);
    }
  }

  async check(): Promise<void> {
    await this.#wallet.transfers.settled();
    this.#noteMade();
    const inFlight = this.#wallet.transfers.inFlight();
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
    const totals = this.#wallet.totals();
    expect(totals.running).toBe(sum(free));
    expect(totals.available).toBe(sum(free.filter(({ locktime }) => locktime <= BigInt(Math.max(this.#height, 0)))));
    expect(listed.reduce((total, { value }) => total + value.amount, 0n)).toBe(totals.running);
  }

  /** Everything goes well from now on: what can be in the chain comes there, and nothing is left. */
  async finish(): Promise<void> {
    await this.#link(true);
    for (let round = 0; this.#wallet.transfers.inFlight().length > 0; round++) {
      expect(round).toBeLessThan(60);
      await this.#send(new Array<string>(500).fill('admitted'));
      await this.#mine(this.#pool.splice(0), true);
      await this.#link(true);
      await this.check();
    }
    for (const { hash, transaction, state } of await this.#wallet.transfers.history()) {
      const isInChain = this.#mined.has(hash) || this.#mined.has(transactionHash({ ...transaction, version: 7n }));
      expect([hash, state]).toEqual([hash, isInChain ? 'confirmed' : 'rejected']);
      if (!isInChain) expect(this.#isImpossible(transaction)).toBe(true);
    }
  }

  async #pay(amounts: readonly bigint[], address: string, isOverlapped: boolean): Promise<void> {
    const pay = (one: bigint) => this.#wallet.transfers.pay({ address, amount: one, locktime: 0n });
    const paid = Promise.allSettled(amounts.map(pay));
    if (isOverlapped) await this.#mine(this.#pool.splice(0, 2), true);
    for (const result of await paid) {
      if (result.status === 'rejected') expect(isTesseraError(result.reason, 'insufficient_funds')).toBe(true);
    }
  }

  /** As the sender does, with a mempool node that answers like this. */
  async #send(answers: readonly string[]): Promise<void> {
    const { transfers, settlement } = this.#wallet;
    const later: string[] = [];
    for (const answer of answers) {
      const entry = transfers.takeQueued();
      if (entry === undefined) break;
      const { hash, transaction } = entry;
      for (const { tHash } of spentOutPoints(transaction)) {
        expect(transfers.inFlightByHash(tHash)?.state).not.toBe('queued');
      }
      const isKnown = this.#mined.has(hash) || this.#pool.some((one) => transactionHash(one) === hash);
      if (answer === 'again' || (!isKnown && !this.#isAdmissible(transaction))) later.push(hash);
      else if (answer === 'refused' && !isKnown) {
        this.#refused.add(hash);
        await settlement.markRejected(hash, 'the model says so');
      } else {
        if (!isKnown) this.#pool.push(transaction);
        if (answer === 'lost') later.push(hash);
        else await settlement.markSent(hash);
      }
    }
    for (const hash of later) transfers.putBack(hash);
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

  async #mine(transactions: readonly Transaction[], isTold: boolean): Promise<void> {
    this.#height += 1;
    const { full, hash } = block(this.#height, transactions, { previous: this.#tip });
    this.#tip = hash;
    for (const transaction of transactions) {
      this.#mined.add(transactionHash(transaction));
      for (const outPoint of spentOutPoints(transaction)) this.#utxos.delete(outPointKey(outPoint));
      for (const { outPoint, txOut } of createdOutPoints(transaction)) {
        this.#utxos.set(outPointKey(outPoint), [outPoint, txOut]);
      }
    }
    if (!isTold || this.#hasMissed) this.#hasMissed = true;
    else expect(await this.#wallet.applyBlock({ full, hash })).toBe('applied');
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
    const queued = this.#wallet.transfers.inFlight().filter(({ hash, transaction, state }) => {
      const isKnown = this.#mined.has(hash) || this.#pool.some((one) => transactionHash(one) === hash);
      return state === 'queued' && !isKnown && this.#isInChain(transaction) && this.#isAdmissible(transaction);
    });
    const entry = queued[pick % Math.max(queued.length, 1)];
    if (entry !== undefined && !this.#hasMissed) await this.#mine([{ ...entry.transaction, version: 7n }], true);
  }

  #isInChain(transaction: Transaction): boolean {
    return spentOutPoints(transaction).every((outPoint) => this.#utxos.has(outPointKey(outPoint)));
  }

  /** A new link: statuses, a refresh of everything, and what follows from both, as the follower does it. */
  async #link(remembers: boolean): Promise<void> {
    const { transfers, settlement } = this.#wallet;
    const entries = transfers.inFlight().map((entry) => ({ ...entry }));
    const statuses = new Map<string, TransactionStatus>();
    for (const { hash, state } of entries) {
      const isWaiting = this.#pool.some((one) => transactionHash(one) === hash);
      // A mempool node forgets a confirmed one after a day; one whose answer was lost before is found by its outputs, if any.
      const isTold = isWaiting || (this.#mined.has(hash) && (remembers || state === 'queued'));
      if (isTold) statuses.set(hash, { hash, status: isWaiting ? 'Pending' : 'Confirmed', info: '' });
    }
    const evidence = new Evidence(entries);
    evidence.note([...this.#utxos.values()]);
    await refreshOnce(this.#wallet, this.#wallet.watched(), [...this.#utxos.values()], this.#height);
    const findings = evidence.findings(statuses);
    for (const { hash, state } of entries) {
      if (transfers.inFlightByHash(hash)?.state !== state) continue;
      const finding = findings.get(hash);
      if (finding === 'admitted') await settlement.markSent(hash);
      else if (finding === 'missing') await settlement.requeue(hash);
      else if (finding === 'confirmed') await settlement.markConfirmed(hash);
      else if (finding === 'copied') await settlement.markConfirmed(hash, { asCopy: true });
    }
    await this.#wallet.advanceTo({ height: this.#height, hash: this.#tip });
    this.#hasMissed = false;
  }

  /** The store is closed under the wallet: what was not written is lost. */
  async #crash(): Promise<void> {
    await this.#wallet.transfers.settled();
    this.#noteMade();
    const before = await this.#wallet.transfers.history();
    const totals = this.#wallet.totals();
    await this.open.kv.close();
    this.open = await openWallet(this.open.folder, OPTIONS);
    this.#listen();
    const after = await this.#wallet.transfers.history();
    expect(after).toEqual(before);
    expect(this.#wallet.totals()).toEqual(totals);
  }

  async #import(pick: number): Promise<void> {
    const { address, record } = KEYS[pick] ?? KEYS[0] ?? { address: '', record: undefined };
    if (record === undefined) return;
    this.#noteMade();
    this.#wallet.setRefresher(async () => undefined);
    await this.#wallet.importKeyPairs(new Map([[address, record]]));
    if (!this.#hasMissed) await refreshOnce(this.#wallet, [address], [...this.#utxos.values()], this.#height);
  }

  #listen(): void {
    this.#wallet.settlement.settled.on(({ hash, state }: OwnTransaction) => {
      this.#ended.set(hash, [...(this.#ended.get(hash) ?? []), state]);
    });
  }

  #noteMade(): void {
    for (const { hash, transaction } of this.#wallet.transfers.inFlight()) {
      if (this.#known.has(hash)) continue;
      this.#known.add(hash);
      for (const { outPoint, txOut } of createdOutPoints(transaction, hash)) {
        if (this.#owns(txOut)) this.#expected.set(outPointKey(outPoint), txOut);
      }
    }
  }

  #owns({ scriptPublicKey: to }: TxOut): boolean {
    return to !== null && this.#wallet.owns(to);
  }

  /** It was refused for good, or one of its inputs is spent elsewhere or will never exist. */
  #isImpossible(transaction: Transaction): boolean {
    if (this.#refused.has(transactionHash(transaction))) return true;
    return spentOutPoints(transaction).some((outPoint) => !this.#utxos.has(outPointKey(outPoint)));
  }
}

describe('chained payments against a model', () => {
  test.prop([fc.array(Step, { minLength: 10, maxLength: 60, size: 'max' })], { numRuns: 25 })(
    'spends no coin twice, keeps the sums, and ends every payment once',
    async (steps) => {
      const model = await Model.create();
      for (const step of steps) {
        await model.run(step);
        await model.check();
      }
      await model.finish();
      await model.open.close();
    },
    240_000,
  );
});
