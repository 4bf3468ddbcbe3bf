/**
 * Successive blocks on their way into the index: their changes are gathered and written in one batch, together with the
 * height that is reached. A step that is not written leaves nothing behind.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { withFixedHash } from '../../chain/assets.js';
import { createdOutput, outPointKey, type Unscripted } from '../../chain/transaction.js';
import type { Asset, OutPoint, TxOut } from '../../chain/types.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { utf8 } from '../../lib/bytes.js';
import { inPieces, type Pieces } from '../../lib/pieces.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { Accounts, type Names } from './accounts.js';
import { type BlockToIndex, kindOf, type TransactionToIndex } from './block-to-index.js';
import { blockKey, type Place, spentKey, TIP_KEY, tradeKey, transferKey, wordKey } from './layout.js';
import { type Movement, Movements } from './movements.js';
import type { AddressAccount, IndexTip } from './records.js';
import * as records from './records.js';
import type { TransactionKind } from './service.js';
import { type Sources, type SourceTransaction, type SpentOutputs, sourceFrom, sourceOf } from './sources.js';
import { wordsOf } from './words.js';

/** Inputs and outputs that are handled without asking for a turn. */
const PIECE = 16;
const NO_ITEM = { genesisHash: null, metadata: null };

interface Creating {
  readonly place: Place;
  readonly kind: TransactionKind;
  /** First place of the transaction. */
  readonly home: Place;
  /** Movements by the inputs. */
  readonly movements: Movements;
}

export interface StepModules {
  readonly kv: Kv;
  readonly sources: Sources;
  readonly slices: TimeSlices;
}

export class IndexStep {
  readonly #kv: Kv;
  readonly #sources: Sources;
  readonly #slices: TimeSlices;
  readonly #batch: KvBatch;
  readonly #accounts: Accounts;
  #next: number;
  #hash: string | null;
  #payments: number;
  #pieces = 0;
  /** Outputs of transactions that original nodes accepted again: whether they are spent. */
  readonly #areSpent = new Map<string, boolean>();
  #isOriginal = false;
  /** The trade whose transactions are being taken in. */
  #trade = { height: -1, firstTxNum: 0, participants: 0 };

  constructor(tip: IndexTip, { kv, sources, slices }: StepModules) {
    this.#kv = kv;
    this.#sources = sources;
    this.#slices = slices;
    this.#batch = kv.batch();
    this.#accounts = new Accounts(kv, tip);
    this.#next = tip.next;
    this.#hash = tip.hash;
    this.#payments = tip.payments;
  }

  /** Height of the next block. */
  get next(): number {
    return this.#next;
  }

  /** Hash of the last block; null when there is none. */
  get hash(): string | null {
    return this.#hash;
  }

  /** Number of gathered changes. */
  get changes(): number {
    return this.#batch.size;
  }

  /** Takes in the next block. */
  async add(block: BlockToIndex): Promise<void> {
    const { height, transactions } = block;
    const sources = await this.#sourcesOf(block);
    await inPieces(this.#take(block, sources), () => this.#slices.turn());
    this.#payments += Math.max(0, transactions.length - 1);
    this.#batch.put(blockKey(height), records.encodeBlock({ ...summaryOf(block), payments: this.#payments }));
    this.#next = height + 1;
    this.#hash = block.hash;
  }

  *#take({ height, header, transactions }: BlockToIndex, sources: SpentOutputs): Pieces<void> {
    const last = transactions.length - 1;
    this.#isOriginal = header.isOriginal === true;
    // A block of original nodes spends first, then it creates.
    const spent: Movements[] = [];
    for (const [txNum, one] of this.#isOriginal ? transactions.entries() : []) {
      spent.push(yield* this.#spend(one, { height, txNum }, sources));
    }
    for (const [txNum, one] of transactions.entries()) {
      const place = { height, txNum };
      const movements = spent[txNum] ?? (yield* this.#spend(one, place, sources));
      const home = sources.transactions.get(one.hash) ?? place;
      yield* this.#create(one, { place, kind: kindOf(one.transaction, height, txNum === last), home, movements });
    }
  }

  /** Writes the gathered changes. They survive kill -9; after a power loss they may be missing, and are made again. */
  async write(): Promise<IndexTip> {
    await this.#accounts.put(this.#batch, this.#slices);
    // The gathered changes are handed over in a turn of their own.
    await nextTurn();
    const tip = { next: this.#next, hash: this.#hash, payments: this.#payments, ...this.#accounts.numbers };
    this.#batch.put(TIP_KEY, records.encodeTip(tip));
    await this.#kv.write(this.#batch, { sync: false });
    return tip;
  }

  /** All transactions that the block spends from, and its own; the accounts of all addresses in them are loaded. */
  async #sourcesOf({ transactions, spentOutputs }: BlockToIndex): Promise<SpentOutputs> {
    const own = new Map<string, SourceTransaction>();
    const others = new Set<string>();
    for (const { hash, transaction, home } of transactions) {
      if (this.#isDue) await this.#slices.turn();
      for (const { previousOut } of transaction.inputs) {
        if (previousOut !== null && !own.has(previousOut.tHash)) others.add(previousOut.tHash);
      }
      if (!own.has(hash)) own.set(hash, sourceFrom(transaction, home));
    }
    const found = await this.#sources.find(others, spentOutputs !== undefined);
    for (const [hash, source] of own) this.#sources.keep(hash, source);
    for (const [hash, source] of found) {
      if (this.#isDue) await this.#slices.turn();
      if (!own.has(hash)) own.set(hash, source);
    }
    const sources = { transactions: own, outputs: spentOutputs };
    await this.#accounts.load(await this.#namesIn(transactions, sources), this.#slices);
    for (const one of transactions) if (one.home.height < this.#next) await this.#noteSpent(one);
    return sources;
  }

  /** Addresses whose outputs are made or spent, genesis hashes of the items in them, and who holds which of these. */
  async #namesIn(transactions: readonly TransactionToIndex[], sources: SpentOutputs): Promise<Names> {
    const addresses = new Set<string>();
    const items = new Set<string>();
    const holders = new Map<string, { readonly address: string; readonly genesisHash: string }>();
    const note = (hash: string, { scriptPublicKey: address, value }: TxOut): void => {
      if (address !== null) addresses.add(address);
      if (value.kind !== 'item') return;
      const genesisHash = value.genesisHash ?? hash;
      items.add(genesisHash);
      if (address !== null) holders.set(`${address} ${genesisHash}`, { address, genesisHash });
    };
    for (const { hash, transaction } of transactions) {
      for (const { previousOut } of transaction.inputs) {
        if (this.#isDue) await this.#slices.turn();
        if (previousOut !== null) note(previousOut.tHash, sourceOf(sources, previousOut).txOut);
      }
      for (const list of [transaction.outputs, transaction.fees]) {
        for (const txOut of list) {
          if (this.#isDue) await this.#slices.turn();
          note(hash, txOut);
        }
      }
    }
    return { addresses, items, holders };
  }

  /** Notes which outputs of a transaction that original nodes accepted once more are spent. */
  async #noteSpent({ hash, transaction, home }: TransactionToIndex): Promise<void> {
    for (const n of Array(outputCount(transaction)).keys()) {
      if (this.#isDue) await this.#slices.turn();
      const name = outPointKey({ tHash: hash, n });
      if (!this.#areSpent.has(name)) this.#areSpent.set(name, (await this.#kv.get(spentKey(home, n))) !== undefined);
    }
  }

  *#spend({ transaction }: TransactionToIndex, place: Place, sources: SpentOutputs): Pieces<Movements> {
    const movements = new Movements();
    for (const [input, { previousOut }] of transaction.inputs.entries()) {
      if (previousOut === null) continue;
      if (this.#isDue) yield;
      const source = sourceOf(sources, previousOut);
      const { scriptPublicKey: address, value } = source.txOut;
      this.#batch.put(spentKey(source, previousOut.n), records.encodeSpent(place, input));
      if (this.#isOriginal) this.#areSpent.set(outPointKey(previousOut), true);
      if (address === null) continue;
      const account = this.#accounts.address(address, source);
      movements.spend(account, withFixedHash(value, previousOut));
      this.#accounts.takeUnspent(account, source, previousOut.n, this.#batch);
    }
    return movements;
  }

  /** Indexes the outputs of a transaction whose inputs are spent. */
  *#create({ hash, transaction }: TransactionToIndex, { place, kind, home, movements }: Creating): Pieces<void> {
    const isRepeated = home.height < place.height || home.txNum < place.txNum;
    const count = outputCount(transaction);
    for (let n = 0; n < count; n++) {
      if (this.#isDue) yield;
      const txOut = createdOutput(transaction, n);
      const outPoint = { tHash: hash, n };
      if (txOut === undefined || (isRepeated && !this.#isMadeAgain(home, outPoint))) continue;
      const asset = withFixedHash(txOut.value, outPoint);
      const { scriptPublicKey: address } = txOut;
      const account = address === null ? null : this.#accounts.address(address, home);
      movements.create(account, asset);
      if (account !== null) this.#putUnspent(account, home, n, txOut, asset);
    }
    for (const [account, movement] of movements.byAccount) yield* this.#move(account, movement, place, kind);
    const isNew = isFounding(transaction);
    for (const [genesisHash, transfer] of movements.byItem) {
      if (this.#isDue) yield;
      const item = this.#accounts.item(genesisHash, place);
      item.transfers++;
      if (isNew) item.issued += transfer.amount;
      this.#batch.put(transferKey(item.number, place), records.encodeTransfer({ kind, ...transfer.shown }));
    }
    if (isNew) this.#putWords(transaction, hash, place);
    this.#putTrade(transaction, place);
  }

  /** True when a transaction that is made again has lost this output by a spend; false when it still has it. */
  #isMadeAgain(home: Place, outPoint: OutPoint): boolean {
    const name = outPointKey(outPoint);
    if (this.#areSpent.get(name) !== true) return false;
    this.#areSpent.set(name, false);
    this.#batch.del(spentKey(home, outPoint.n));
    return true;
  }

  #putUnspent(account: AddressAccount, place: Place, index: number, { locktime }: TxOut, asset: Asset): void {
    const { genesisHash, metadata } = asset.kind === 'item' ? asset : NO_ITEM;
    const record = records.encodeUnspent({ amount: asset.amount, locktime, genesisHash, metadata });
    this.#accounts.addUnspent(account, place, index, record, this.#batch);
  }

  /** Adds the changes of a transaction for one address. */
  *#move(account: AddressAccount, movement: Movement, place: Place, kind: TransactionKind): Pieces<void> {
    account.transactions++;
    account.received += movement.received;
    account.sent += movement.sent;
    account.tokens += movement.received - movement.sent;
    account.last = place;
    this.#accounts.addMovement(account, place, records.encodeMovement(movement.record(kind)), this.#batch);
    for (const change of movement.items) {
      if (this.#isDue) yield;
      this.#accounts.hold(account, change, place, this.#batch);
    }
  }

  /** Adds the words of items that the transaction creates first. */
  #putWords({ outputs }: Pick<Unscripted, 'outputs'>, hash: string, place: Place): void {
    for (const { value } of outputs) {
      if (value.kind !== 'item') continue;
      const genesisHash = value.genesisHash ?? hash;
      const { number, created } = this.#accounts.item(genesisHash, place);
      if (created.height !== place.height || created.txNum !== place.txNum) continue;
      for (const word of wordsOf(value.metadata ?? '')) this.#batch.put(wordKey(word, number), utf8(genesisHash));
    }
  }

  /** Notes a transaction of a trade. The transactions of a set lie side by side, and each says how many they are. */
  #putTrade({ druidInfo }: Pick<Unscripted, 'druidInfo'>, { height, txNum }: Place): void {
    if (druidInfo === null) return;
    const { height: at, firstTxNum, participants } = this.#trade;
    if (at !== height || txNum >= firstTxNum + participants) {
      this.#trade = { height, firstTxNum: txNum, participants: Number(druidInfo.participants) };
    }
    this.#batch.put(tradeKey({ height, txNum }), records.encodeTrade(this.#trade));
  }

  /** True when a turn must be waited for before the next piece. */
  get #isDue(): boolean {
    return ++this.#pieces % PIECE === 0 && this.#slices.isUsedUp;
  }
}

/** Number of outputs that a transaction creates, as of `createdOutput`. */
function outputCount({ outputs, fees, feesReplace }: Unscripted): number {
  return feesReplace ? Math.max(outputs.length, fees.length) : outputs.length + fees.length;
}

/** True if the transaction creates its outputs from nothing. */
function isFounding({ inputs }: Unscripted): boolean {
  return inputs.every(({ previousOut }) => previousOut === null);
}

function summaryOf({ hash, height, header, issued, size, transactions }: BlockToIndex) {
  const mining = transactions.at(-1);
  const reward = mining?.transaction.outputs[0];
  return {
    height,
    hash,
    previousHash: header.previousHash,
    time: header.timestamp,
    transactions: transactions.length,
    bytes: size,
    difficulty: header.difficulty,
    reward: reward?.value.amount ?? 0n,
    issued,
    miner: reward?.scriptPublicKey ?? null,
    coinbase: header.miningTxHash,
  };
}
