/**
 * What the wallet owns: every outpoint paid to one of its addresses, with its state. The records in the store are the one
 * source of truth; an index in memory answers totals, pages and coin selection without reading them. Every change is one
 * synchronous step that stages its records; the caller flushes. Spent outpoints are on disk only.
 */

import { shownTotal } from '../../chain/assets.js';
import { createdOutPoints, outPointKey, spentOutPoints } from '../../chain/transaction.js';
import type { FullBlock, OutPoint, Transaction, TxOut, Utxo } from '../../chain/types.js';
import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { compareUtf8 } from '../../lib/bytes.js';
import { keyText, outpointRecordKey, PREFIX, spentKey } from '../layout.js';
import type { MetaStore } from '../meta.js';
import type { WalletOutpoint } from '../service.js';
import type { StagedWrites } from '../staged-writes.js';
import { type Coin, compareCoins, decodeCoin, encodeCoin, isListed, newCoin, TOKENS } from './coin.js';
import { type CoinShelf, createCoinShelf } from './coin-shelf.js';

/** Outpoints of one page (decision V12). */
export const PAGE_SIZE = 25;
/** Spent outpoints that are listed: the most recent ones. */
const SPENT_SHOWN = 10_000;

/** Raw units. `running = available + locked`; locked is what no payment can spend yet. */
export interface FundTotals {
  readonly running: bigint;
  readonly available: bigint;
  readonly locked: bigint;
  /** Of `locked`: outputs of own transactions, change mostly, that no block has yet. */
  readonly unconfirmed: bigint;
}

/** An own transaction that can never be in the chain under its own hash, and the one that has taken its place. */
export interface SpentElsewhere {
  readonly hash: string;
  readonly byHash: string;
  readonly by: Transaction;
}

/** `known`: nothing to do; `gap`: blocks before it are missing, nothing was done; `applied` otherwise. */
export type BlockOutcome = 'known' | 'gap' | 'applied';

export interface FundBook {
  /** Last block taken in; -1 before the first. */
  readonly blockNum: number;
  totals(assetId?: string): FundTotals;
  /** Genesis hash → amount, locked ones included. */
  items(): ReadonlyMap<string, bigint>;
  /** In page order: everything unspent, or one page of it (V12); a page past the end is empty. */
  unspent(page?: number): readonly Coin[];
  /** In page order, those that own unconfirmed transactions spend included. */
  spent(): Promise<readonly Coin[]>;
  /** Spendable now, ascending by amount. */
  spendable(assetId: string): readonly Coin[];
  spendableCount(assetId: string): number;
  /** True when the address holds, or will hold by an own transaction, an outpoint that is not spent. */
  isUsed(address: string): boolean;
  has(outPoint: OutPoint): boolean;
  /** Takes spendable coins for a payment that is being built. In memory only. */
  reserve(coins: readonly Coin[]): void;
  /** Gives reserved coins back. */
  cancel(coins: readonly Coin[]): void;
  /** An own transaction is on its way: its inputs are pending, its outputs to own addresses expected. */
  spendBy(hash: string, transaction: Transaction): void;
  /** An own transaction will never be in a block: its inputs come back (decision V13), its outputs vanish. Gives the inputs' addresses. */
  release(hash: string, transaction: Transaction): readonly string[];
  /** Addresses of the coins that the transaction spends and makes. */
  addressesOf(hash: string, transaction: Transaction): readonly string[];
  /** Own transactions whose inputs the block spends by another transaction. Changes nothing. */
  spentElsewhere(block: FullBlock): readonly SpentElsewhere[];
  /** Another transaction has spent what it spends: its inputs are gone for good. */
  takeSpent(transaction: Transaction): void;
  /** The outputs that an own transaction was to bring will never be: it is in the chain under another hash. */
  dropExpected(hash: string, transaction: Transaction): void;
  /**
   * An own transaction is in the chain, though its block was not seen. Its inputs are spent for good; outputs that no
   * refresh has brought are spent already.
   */
  settle(hash: string, transaction: Transaction): void;
  /** Puts an outpoint in by hand: a seed of a development network. */
  add(outPoint: OutPoint, txOut: TxOut): void;
  /** Takes in a block. Idempotent. */
  applyBlock(block: FullBlock): BlockOutcome;
  /**
   * Makes the chain's word on these addresses the book's, and leaves every other address alone (decision V13). `blockNum`
   * is the block that the word is of; false when the book is ahead of it, and nothing is changed.
   */
  replaceAddresses(addresses: ReadonlySet<string>, utxos: readonly Utxo[], blockNum: number): boolean;
  /** All addresses are right as of this block. */
  advanceTo(blockNum: number): void;
}

export interface FundBookModules {
  readonly kv: Kv;
  readonly writes: StagedWrites;
  readonly meta: MetaStore;
  /** True for an address of the wallet. */
  readonly owns: (address: string) => boolean;
}

export async function openFundBook({ kv, writes, meta, owns }: FundBookModules): Promise<FundBook> {
  const coins = new Map<string, Coin>();
  const byAddress = new Map<string, Set<Coin>>();
  const shelves = new Map<string, CoinShelf>();
  /** Unspent coins whose locktime has not come, by locktime. */
  const lockedUntil = new Map<bigint, Set<Coin>>();
  const running = new Map<string, bigint>();
  const available = new Map<string, bigint>();
  const expected = new Map<string, bigint>();
  let ordered: readonly Coin[] | undefined;

  /** Locktimes count from block 0 on, also before the first block is known. */
  const height = (): bigint => BigInt(Math.max(meta.current.block, 0));
  const isLocked = (coin: Coin): boolean => coin.locktime > height();

  function tally(sums: Map<string, bigint>, { assetId }: Coin, change: bigint): void {
    const sum = (sums.get(assetId) ?? 0n) + change;
    if (sum === 0n) sums.delete(assetId);
    else sums.set(assetId, sum);
  }

  function shelf(assetId: string): CoinShelf {
    const known = shelves.get(assetId);
    if (known) return known;
    const made = createCoinShelf();
    shelves.set(assetId, made);
    return made;
  }

  function makeSpendable(coin: Coin): void {
    shelf(coin.assetId).add(coin);
    tally(available, coin, coin.amount);
  }

  /** Counts a coin in the index by its state, or (`sign` -1) out of it. */
  function count(coin: Coin, sign: 1 | -1): void {
    if (coin.state !== 'unspent' && coin.state !== 'expected') return;
    const amount = sign === 1 ? coin.amount : -coin.amount;
    ordered = undefined;
    tally(running, coin, amount);
    if (coin.state === 'expected') {
      tally(expected, coin, amount);
      return;
    }
    const waiting = lockedUntil.get(coin.locktime);
    if (sign === 1 && isLocked(coin)) {
      if (waiting) waiting.add(coin);
      else lockedUntil.set(coin.locktime, new Set([coin]));
    } else if (sign === 1) {
      makeSpendable(coin);
    } else if (!waiting?.delete(coin)) {
      shelf(coin.assetId).remove(coin);
      tally(available, coin, amount);
    }
  }

  function put(coin: Coin): void {
    coins.set(coin.key, coin);
    const siblings = byAddress.get(coin.address);
    if (siblings) siblings.add(coin);
    else byAddress.set(coin.address, new Set([coin]));
    count(coin, 1);
  }

  function drop(coin: Coin): void {
    count(coin, -1);
    coins.delete(coin.key);
    const siblings = byAddress.get(coin.address);
    siblings?.delete(coin);
    if (siblings?.size === 0) byAddress.delete(coin.address);
    writes.del(outpointRecordKey(coin.key));
  }

  function save(coin: Coin): void {
    writes.put(outpointRecordKey(coin.key), encodeCoin(coin));
  }

  function move(coin: Coin, state: Coin['state'], by: string | null): void {
    count(coin, -1);
    coin.state = state;
    coin.by = by;
    count(coin, 1);
  }

  function spendForGood(coin: Coin): void {
    drop(coin);
    coin.state = 'spent';
    writes.put(spentKey(meta.current.spent), encodeCoin(coin));
    meta.update({ spent: meta.current.spent + 1 });
  }

  function nextArrival(): number {
    meta.update({ arrivals: meta.current.arrivals + 1 });
    return meta.current.arrivals;
  }

  /** An output that is in the chain's set. */
  function arrive(outPoint: OutPoint, txOut: TxOut, arrival: () => number): void {
    const address = txOut.scriptPublicKey;
    if (address === null || !owns(address)) return;
    const known = coins.get(outPointKey(outPoint));
    if (known === undefined) {
      const coin = newCoin(outPoint, txOut, address, arrival(), 'unspent', null);
      put(coin);
      save(coin);
    } else if (known.state === 'expected') {
      move(known, 'unspent', null);
      save(known);
    }
  }

  function once(): () => number {
    let number: number | undefined;
    return () => {
      number ??= nextArrival();
      return number;
    };
  }

  function takeIn(hash: string, transaction: Transaction, arrival: () => number): void {
    for (const outPoint of spentOutPoints(transaction)) {
      const coin = coins.get(outPointKey(outPoint));
      if (coin) spendForGood(coin);
    }
    for (const { outPoint, txOut } of createdOutPoints(transaction, hash)) arrive(outPoint, txOut, arrival);
  }

  function dropExpected(hash: string, transaction: Transaction): void {
    for (const { outPoint } of createdOutPoints(transaction, hash)) {
      const coin = coins.get(outPointKey(outPoint));
      if (coin?.state === 'expected') drop(coin);
    }
  }

  function advanceTo(blockNum: number): void {
    if (blockNum <= meta.current.block) return;
    meta.update({ block: blockNum });
    for (const [locktime, waiting] of lockedUntil) {
      if (locktime > height()) continue;
      for (const coin of waiting) makeSpendable(coin);
      lockedUntil.delete(locktime);
    }
  }

  for await (const [key, record] of kv.entries(prefixRange(PREFIX.outpoint))) put(decodeCoin(keyText(key), record));

  return {
    get blockNum() {
      return meta.current.block;
    },
    totals(assetId = TOKENS) {
      const all = running.get(assetId) ?? 0n;
      const free = available.get(assetId) ?? 0n;
      return { running: all, available: free, locked: all - free, unconfirmed: expected.get(assetId) ?? 0n };
    },
    items() {
      const items = [...running].filter(([assetId]) => assetId !== TOKENS).sort(([a], [b]) => compareUtf8(a, b));
      return new Map(items.map(([assetId, amount]) => [assetId, shownTotal(amount)]));
    },
    unspent(page) {
      ordered ??= [...coins.values()].filter(isListed).sort(compareCoins);
      return page === undefined ? ordered : ordered.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE);
    },
    async spent() {
      const spent = new Map<string, Coin>();
      for await (const [, record] of kv.entries({ ...prefixRange(PREFIX.spent), reverse: true, limit: SPENT_SHOWN })) {
        const coin = decodeCoin('', record);
        spent.set(outPointKey(coin.outPoint), coin);
      }
      for (const coin of coins.values()) {
        // A refresh may have brought back what an earlier one took for spent.
        if (isListed(coin)) spent.delete(coin.key);
        else spent.set(coin.key, coin);
      }
      return [...spent.values()].sort(compareCoins);
    },
    spendable: (assetId) => shelves.get(assetId)?.sorted() ?? [],
    spendableCount: (assetId) => shelves.get(assetId)?.size ?? 0,
    isUsed: (address) => byAddress.has(address),
    has: (outPoint) => coins.has(outPointKey(outPoint)),
    reserve(taken) {
      for (const coin of taken) move(coin, 'reserved', null);
    },
    cancel(taken) {
      for (const coin of taken)
        if (coins.get(coin.key) === coin && coin.state === 'reserved') move(coin, 'unspent', null);
    },
    spendBy(hash, transaction) {
      for (const outPoint of spentOutPoints(transaction)) {
        const coin = coins.get(outPointKey(outPoint));
        if (coin === undefined) continue;
        move(coin, 'pending', hash);
        save(coin);
      }
      const arrival = once();
      for (const { outPoint, txOut } of createdOutPoints(transaction, hash)) {
        const address = txOut.scriptPublicKey;
        if (address === null || !owns(address) || coins.has(outPointKey(outPoint))) continue;
        const coin = newCoin(outPoint, txOut, address, arrival(), 'expected', hash);
        put(coin);
        save(coin);
      }
    },
    release(hash, transaction) {
      const addresses = new Set<string>();
      for (const outPoint of spentOutPoints(transaction)) {
        const coin = coins.get(outPointKey(outPoint));
        if (coin?.state !== 'pending' || coin.by !== hash) continue;
        addresses.add(coin.address);
        move(coin, 'unspent', null);
        save(coin);
      }
      dropExpected(hash, transaction);
      return [...addresses];
    },
    addressesOf(hash, transaction) {
      const made = createdOutPoints(transaction, hash).map(({ outPoint }) => outPoint);
      const touched = [...spentOutPoints(transaction), ...made];
      return [...new Set(touched.flatMap((outPoint) => coins.get(outPointKey(outPoint))?.address ?? []))];
    },
    spentElsewhere({ block, transactions }) {
      const found = new Map<string, SpentElsewhere>();
      block.transactions.forEach((byHash, i) => {
        const by = transactions[i];
        for (const outPoint of by ? spentOutPoints(by) : []) {
          const coin = coins.get(outPointKey(outPoint));
          if (by === undefined || coin?.state !== 'pending' || coin.by === null || coin.by === byHash) continue;
          found.set(coin.by, { hash: coin.by, byHash, by });
        }
      });
      return [...found.values()];
    },
    takeSpent(transaction) {
      for (const outPoint of spentOutPoints(transaction)) {
        const coin = coins.get(outPointKey(outPoint));
        if (coin) spendForGood(coin);
      }
    },
    dropExpected,
    settle(hash, transaction) {
      for (const outPoint of spentOutPoints(transaction)) {
        const coin = coins.get(outPointKey(outPoint));
        if (coin) spendForGood(coin);
      }
      for (const { outPoint } of createdOutPoints(transaction, hash)) {
        const coin = coins.get(outPointKey(outPoint));
        if (coin?.state === 'expected') spendForGood(coin);
      }
    },
    add: (outPoint, txOut) => arrive(outPoint, txOut, nextArrival),
    applyBlock({ block, transactions, miningTransaction }) {
      const blockNum = Number(block.header.bNum);
      if (blockNum <= meta.current.block) return 'known';
      if (blockNum > meta.current.block + 1) return 'gap';
      const arrival = once();
      // Coins that the block brings are judged by its own number.
      advanceTo(blockNum);
      block.transactions.forEach((hash, i) => {
        const transaction = transactions[i];
        if (transaction) takeIn(hash, transaction, arrival);
      });
      takeIn(block.header.miningTxHash, miningTransaction, arrival);
      return 'applied';
    },
    replaceAddresses(addresses, utxos, blockNum) {
      if (blockNum < meta.current.block) return false;
      const present = new Set<string>();
      const arrival = once();
      for (const [outPoint, txOut] of utxos) {
        // What was not asked for is not looked at.
        if (txOut.scriptPublicKey === null || !addresses.has(txOut.scriptPublicKey)) continue;
        present.add(outPointKey(outPoint));
        arrive(outPoint, txOut, arrival);
      }
      // Before block 0 the chain holds nothing, so nothing that is missing in it has been spent.
      if (blockNum < 0) return true;
      for (const address of addresses) {
        for (const coin of [...(byAddress.get(address) ?? [])]) {
          if (coin.state === 'unspent' && !present.has(coin.key)) spendForGood(coin);
        }
      }
      return true;
    },
    advanceTo,
  };
}

/** The coins of a list by owning address, as wallet info shows them. */
export function groupByAddress(list: readonly Coin[]): Map<string, WalletOutpoint[]> {
  const groups = new Map<string, WalletOutpoint[]>();
  for (const { address, outPoint, value } of list) {
    const group = groups.get(address);
    if (group) group.push({ outPoint, value });
    else groups.set(address, [{ outPoint, value }]);
  }
  return groups;
}
