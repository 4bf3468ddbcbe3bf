/**
 * Addresses for change, joined coins and items. Those of transactions that failed are given again, lowest first: unpaid addresses in a row
 * would end a search by words (docs/wallet.md#restoring-from-words). Each is given only once for an amount, so that no two transactions are
 * equal.
 */

import { BincodeWriter } from '../../chain/bincode.js';
import type { Transaction } from '../../chain/types.js';
import { decodeRecord } from '../../db/decode-record.js';
import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { keyText, PREFIX, unpaidKey } from '../layout.js';
import type { WriteBuffer } from '../write-buffer.js';
import type { Account } from './derived-keys.js';
import type { KeyRing } from './key-ring.js';

/** Accounts whose addresses are used by own transactions only. */
export type OwnAccount = Extract<Account, 'change' | 'items'>;
const OWN_ACCOUNTS: readonly Account[] = ['change', 'items'] satisfies readonly OwnAccount[];
const MAX_AMOUNTS = 8;

interface Unpaid {
  readonly address: string;
  readonly index: number;
  readonly amounts: readonly bigint[];
}

export interface OwnOutputsModules {
  readonly kv: Kv;
  readonly writes: WriteBuffer;
  readonly keys: KeyRing;
  /** True for an address that holds a coin, or will by an own transaction. */
  readonly isUsed: (address: string) => boolean;
}

export class OwnOutputs {
  readonly #modules: OwnOutputsModules;
  /** Addresses of rejected transactions that no confirmed transaction has paid. */
  readonly #unpaid = new Map<string, Unpaid>();
  /** Free addresses by account, in the order of their index; some may be out of date. */
  readonly #free = new Map<Account, Unpaid[]>(OWN_ACCOUNTS.map((account) => [account, []]));
  readonly #unsorted = new Set<Account>();

  private constructor(modules: OwnOutputsModules) {
    this.#modules = modules;
  }

  static async open(modules: OwnOutputsModules): Promise<OwnOutputs> {
    const outputs = new OwnOutputs(modules);
    for await (const [key, record] of modules.kv.entries(prefixRange(PREFIX.unpaid))) {
      const address = keyText(key);
      outputs.#note(address, decodeAmounts(record), !modules.isUsed(address));
    }
    return outputs;
  }

  /** An address for an output of this amount; a new one is staged, not yet durable. */
  next(account: OwnAccount, amount: bigint): string {
    const free = this.#sorted(account);
    for (let at = 0; at < free.length; at++) {
      const one = free[at] as Unpaid;
      const isGone = this.#unpaid.get(one.address) !== one || this.#modules.isUsed(one.address);
      if (!isGone && one.amounts.includes(amount)) continue;
      free.splice(at, 1);
      if (!isGone) return one.address;
      at -= 1;
    }
    return this.#modules.keys.create(account);
  }

  /** Keeps an address for a trade that waits to be paid there: nobody else gets it until the trade ends. */
  withhold(address: string | null): void {
    const account = address === null ? undefined : this.#modules.keys.placeOf(address)?.account;
    if (account === undefined) return;
    const free = this.#free.get(account) ?? [];
    this.#free.set(
      account,
      free.filter((one) => one.address !== address),
    );
  }

  /** Makes an address free again: the transaction with this output was never sent, and never will be. Staged. */
  giveBack(address: string): void {
    this.#put(address, this.#unpaid.get(address)?.amounts ?? []);
  }

  /** Does the work with the `next` address, which is given back when the work fails. */
  async lend<T>(account: OwnAccount, amount: bigint, work: (address: string) => Promise<T>): Promise<T> {
    const address = this.next(account, amount);
    try {
      return await work(address);
    } catch (error) {
      this.giveBack(address);
      throw error;
    }
  }

  /** Gives back the addresses of all outputs of a transaction. */
  discard({ outputs }: Transaction): void {
    for (const { scriptPublicKey: to } of outputs) if (to !== null) this.giveBack(to);
  }

  /** Makes the addresses of a transaction free again, which will never be in the chain. Staged. */
  rejected({ outputs }: Transaction): void {
    for (const { scriptPublicKey: to, value } of outputs) {
      if (to === null) continue;
      const amounts = this.#unpaid.get(to)?.amounts ?? [];
      this.#put(to, amounts.includes(value.amount) ? amounts : [...amounts, value.amount]);
    }
  }

  /** Counts the addresses of a transaction in the chain as paid. Staged. */
  confirmed({ outputs }: Transaction): void {
    for (const { scriptPublicKey: to } of outputs) if (to !== null) this.paid(to);
  }

  /** Counts an address as paid by the chain. Staged. */
  paid(address: string): void {
    if (!this.#unpaid.delete(address)) return;
    this.#modules.writes.del(unpaidKey(address));
  }

  #put(address: string, amounts: readonly bigint[]): void {
    const account = this.#modules.keys.placeOf(address)?.account;
    if (account === undefined || !OWN_ACCOUNTS.includes(account)) return;
    this.#modules.writes.put(unpaidKey(address), encodeAmounts(amounts));
    this.#note(address, amounts, true);
  }

  #note(address: string, amounts: readonly bigint[], isFree: boolean): void {
    const place = this.#modules.keys.placeOf(address);
    // Other words may have given the address.
    if (place === undefined) return;
    const unpaid = { address, index: place.index, amounts };
    this.#unpaid.set(address, unpaid);
    if (!isFree || amounts.length >= MAX_AMOUNTS) return;
    this.#free.get(place.account)?.push(unpaid);
    this.#unsorted.add(place.account);
  }

  #sorted(account: OwnAccount): Unpaid[] {
    const free = this.#free.get(account) ?? [];
    if (this.#unsorted.delete(account)) free.sort((a, b) => a.index - b.index);
    return free;
  }
}

function encodeAmounts(amounts: readonly bigint[]): Uint8Array {
  const to = new BincodeWriter();
  to.u8(amounts.length);
  for (const amount of amounts) to.u64(amount);
  return to.toBytes();
}

function decodeAmounts(record: Uint8Array): readonly bigint[] {
  return decodeRecord(
    'amounts of an unpaid address',
    record,
    (from) => Array.from({ length: from.u8() }, () => from.u64()),
    'wallet_unreadable',
  );
}
