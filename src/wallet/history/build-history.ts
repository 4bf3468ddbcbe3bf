/**
 * Builds the history of a folder without one, of an earlier version or after starting over, from coins and payments. Blocks and times of
 * others' payments are unknown. It is written in several batches and counts with the last, so an interrupted start begins again.
 */

import { createdOutPoints, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { Transaction } from '../../chain/types.js';
import { encodeU64, prefixRange, readU64 } from '../../db/keys.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { TesseraError } from '../../lib/errors.js';
import type { Logger } from '../../lib/logger.js';
import { type Coin, decodeCoin, newCoin } from '../coins/coin.js';
import {
  keyNumber,
  keyText,
  movementKey,
  movementOfKey,
  outpointRecordKey,
  PREFIX,
  paymentKey,
  spentKey,
} from '../layout.js';
import { decodePayment } from '../payments/outgoing.js';
import type { PaymentState } from '../service.js';
import {
  amountsOf,
  decodeMovement,
  encodeMovement,
  factsOf,
  joined,
  type Movement,
  seenOutputs,
  sumOf,
  UNKNOWN,
} from './movement.js';

/** Records read at once, and movements in one write. */
const AT_ONCE = 1_000;
const LOGGED = 100_000;

/** An own payment while its coins are being added up. */
interface Payment {
  readonly number: number;
  readonly state: PaymentState;
  /** Number of the arrival of the payment's first own output, made with the payment itself; infinite without one. */
  firstOutput: number;
  /** Number of the arrival of the payment's last input. */
  lastInput: number;
  inputs: number;
  spent: Movement['spent'];
  received: Movement['received'];
  readonly own: Set<number>;
}

export interface BuildHistoryModules {
  readonly kv: Kv;
  readonly isCovered: (address: string) => boolean;
  readonly logger: Logger;
}

export function buildHistory(modules: BuildHistoryModules): Promise<number> {
  return new HistoryBuilder(modules).build();
}

class HistoryBuilder {
  readonly #kv: Kv;
  readonly #isCovered: (address: string) => boolean;
  readonly #logger: Logger;
  readonly #payments = new Map<string, Payment>();
  readonly #arrived: { readonly arrival: number; readonly at: number | string }[] = [];
  /** Numbers of spent coins whose spender is unknown. */
  readonly #vanished: number[] = [];
  readonly #named = new Set<string>();
  #batch: KvBatch;
  #number = 0;

  constructor({ kv, isCovered, logger }: BuildHistoryModules) {
    this.#kv = kv;
    this.#isCovered = isCovered;
    this.#logger = logger;
    this.#batch = kv.batch();
  }

  async build(): Promise<number> {
    await this.#clear();
    await this.#readPayments();
    await this.#readCoins();
    this.#arrived.sort((a, b) => a.arrival - b.arrival);
    await this.#writeAll();
    await this.#writeVanished();
    await this.#flush();
    if (this.#number > 0) this.#logger.info({ movements: this.#number }, 'the history of the wallet is built');
    return this.#number;
  }

  async #clear(): Promise<void> {
    for (const prefix of [PREFIX.movement, PREFIX.movementOf]) {
      for await (const [key] of this.#kv.entries(prefixRange(prefix))) {
        this.#batch.del(key);
        if (this.#batch.size >= AT_ONCE) await this.#flush();
      }
    }
    await this.#flush();
  }

  async #readPayments(): Promise<void> {
    for await (const [key, record] of this.#kv.entries(prefixRange(PREFIX.payment))) {
      const { hash, state } = decodePayment(keyNumber(key), record);
      const sums = { inputs: 0, spent: new Map(), received: new Map(), own: new Set<number>() };
      this.#payments.set(hash, { number: keyNumber(key), state, firstOutput: Infinity, lastInput: -1, ...sums });
    }
  }

  async *#coins(): AsyncGenerator<readonly [coin: Coin, at: number | string]> {
    for await (const [key, record] of this.#kv.entries(prefixRange(PREFIX.outpoint))) {
      const coin = decodeCoin(keyText(key), record);
      yield [coin, coin.key];
    }
    for await (const [key, record] of this.#kv.entries(prefixRange(PREFIX.spent))) {
      const coin = decodeCoin('', record);
      // A coin that a refresh has brought back is counted by its other record.
      const isBack = (await this.#kv.get(outpointRecordKey(outPointKey(coin.outPoint)))) !== undefined;
      if (!isBack) yield [coin, keyNumber(key)];
    }
  }

  async #readCoins(): Promise<void> {
    if (this.#payments.size > 0) {
      for await (const [{ outPoint, arrival }] of this.#coins()) {
        const maker = this.#payments.get(outPoint.tHash);
        if (maker !== undefined) maker.firstOutput = Math.min(maker.firstOutput, arrival);
      }
    }
    let read = 0;
    for await (const [coin, at] of this.#coins()) {
      read += 1;
      if (read % LOGGED === 0) this.#logger.info({ coins: read }, 'building the history of the wallet');
      this.#arrive(coin, at);
      this.#spend(coin, at);
    }
  }

  #arrive(coin: Coin, at: number | string): void {
    const { address, arrival, outPoint } = coin;
    const maker = this.#payments.get(outPoint.tHash);
    // The outputs of a payment come in one batch with it; a later one came with an imported key, or after a rebuild.
    const isLate = maker !== undefined && arrival > maker.firstOutput && !this.#isCovered(address);
    if (maker === undefined || maker.state === 'rejected' || isLate) {
      this.#arrived.push({ arrival, at });
      return;
    }
    maker.received = sumOf(maker.received, amountsOf([coin]));
    maker.own.add(outPoint.n);
  }

  #spend(coin: Coin, at: number | string): void {
    if (coin.state !== 'spent' && coin.state !== 'pending') return;
    // Change that was spent before it was seen names the payment that has made it.
    const isUnseen = coin.by === coin.outPoint.tHash;
    const spender = coin.by === null || isUnseen ? undefined : this.#payments.get(coin.by);
    if (spender === undefined || spender.state === 'rejected') {
      if (typeof at === 'number') this.#vanished.push(at);
      return;
    }
    spender.inputs += 1;
    spender.spent = sumOf(spender.spent, amountsOf([coin]));
    spender.lastInput = Math.max(spender.lastInput, coin.arrival);
  }

  /** Writes all movements: payments in their order, each behind the coins that it spends; the coins of others by arrival. */
  async #writeAll(): Promise<void> {
    let at = 0;
    for (const [hash, payment] of this.#payments) {
      const place = Number.isFinite(payment.firstOutput) ? payment.firstOutput : payment.lastInput;
      const from = at;
      while ((this.#arrived[at]?.arrival ?? Infinity) <= place) at += 1;
      await this.#writeArrived(from, at);
      await this.#writePayment(hash, payment);
    }
    await this.#writeArrived(at, this.#arrived.length);
  }

  async #writePayment(hash: string, payment: Payment): Promise<void> {
    const { number } = payment;
    const record = await this.#kv.get(paymentKey(number));
    if (record === undefined) return;
    const { transaction, kind, state, reason, peer, createdAt } = decodePayment(number, record);
    const { inputs, spent, received, own } = state === 'rejected' ? this.#neverMade(hash, transaction) : payment;
    const facts = factsOf({ hash, transaction, kind, inputs, spent, own });
    const known = { hash, isOwn: true, state, reason, peer, seenAt: createdAt };
    await this.#write({ ...UNKNOWN, ...facts, ...known, received, spent });
  }

  /** Facts of a rejected payment, from the transaction: its coins do not tell what it would have moved. */
  #neverMade(hash: string, transaction: Transaction): Pick<Payment, 'inputs' | 'spent' | 'received' | 'own'> {
    const made = createdOutPoints(transaction, hash).map(({ outPoint, txOut }) => {
      const address = txOut.scriptPublicKey ?? '';
      return newCoin(outPoint, txOut, address, 0, 'expected', hash);
    });
    const own = made.filter(({ address }) => this.#isCovered(address));
    const inputs = spentOutPoints(transaction).length;
    return {
      inputs,
      spent: inputs > 0 ? amountsOf(made) : new Map(),
      received: amountsOf(own),
      own: new Set(own.map(({ outPoint }) => outPoint.n)),
    };
  }

  async #writeArrived(from: number, to: number): Promise<void> {
    for (let at = from; at < to; ) {
      const { arrival } = this.#arrived[at] ?? { arrival: 0 };
      const groups = new Map<string, Coin[]>();
      for (; at < to && this.#arrived[at]?.arrival === arrival; at += 1) {
        const coin = await this.#coinAt(this.#arrived[at]?.at ?? 0);
        const group = groups.get(coin.outPoint.tHash);
        if (group) group.push(coin);
        else groups.set(coin.outPoint.tHash, [coin]);
      }
      for (const [hash, coins] of groups) {
        const known = (await this.#isNamed(hash)) && (await this.#known(hash));
        const joining = known ? coins.filter(({ address }) => this.#isCovered(address)) : [];
        const others = coins.filter((coin) => !joining.includes(coin));
        if (known && joining.length > 0) {
          const received = sumOf(known.received, amountsOf(joining));
          this.#put({ ...known, ...joined(known, joining), received });
        }
        if (others.length === 0) continue;
        const kind = known === false ? ('payment' as const) : ('import' as const);
        await this.#write({ ...UNKNOWN, ...seenOutputs(others), kind, hash, received: amountsOf(others) });
      }
    }
  }

  async #writeVanished(): Promise<void> {
    for (let at = 0; at < this.#vanished.length; at += AT_ONCE) {
      const coins: Coin[] = [];
      for (const number of this.#vanished.slice(at, at + AT_ONCE)) coins.push(await this.#coinAt(number));
      const unexplained = { kind: 'unexplained' as const, leaves: true, hash: null, spent: amountsOf(coins) };
      await this.#write({ ...UNKNOWN, ...seenOutputs([]), ...unexplained });
    }
  }

  /** The movement of a transaction that is no payment of the wallet, if some of its outputs came before. */
  async #known(hash: string): Promise<Movement | undefined> {
    if (this.#payments.has(hash)) return undefined;
    await this.#flush();
    const number = await this.#kv.get(movementOfKey(hash));
    const record = number && (await this.#kv.get(movementKey(readU64(number, 0))));
    return number && record && decodeMovement(readU64(number, 0), record);
  }

  /** True when a movement of the transaction is there or is being made, because some of its outputs came before. */
  async #isNamed(hash: string): Promise<boolean> {
    if (this.#payments.has(hash) || this.#named.has(hash)) return true;
    return (await this.#kv.get(movementOfKey(hash))) !== undefined;
  }

  async #coinAt(at: number | string): Promise<Coin> {
    const record = await this.#kv.get(typeof at === 'number' ? spentKey(at) : outpointRecordKey(at));
    if (record === undefined) throw new TesseraError('wallet_unreadable', 'a coin of the wallet store is gone');
    return decodeCoin(typeof at === 'number' ? '' : at, record);
  }

  async #write(movement: Omit<Movement, 'number'>): Promise<void> {
    const number = this.#number;
    this.#number += 1;
    this.#put({ ...movement, number });
    const { hash, kind } = movement;
    if (hash !== null && kind !== 'import') {
      this.#batch.put(movementOfKey(hash), encodeU64(number));
      this.#named.add(hash);
    }
    if (this.#batch.size >= AT_ONCE) await this.#flush();
  }

  #put(movement: Movement): void {
    this.#batch.put(movementKey(movement.number), encodeMovement(movement));
  }

  async #flush(): Promise<void> {
    if (this.#batch.size > 0) await this.#kv.write(this.#batch, { sync: true });
    this.#batch = this.#kv.batch();
    this.#named.clear();
  }
}
