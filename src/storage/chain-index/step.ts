/**
 * Successive blocks on their way into the index: their changes are gathered and written in one batch, together with the
 * height that is reached. A step that is not written leaves nothing behind.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { withFixedHash } from '../../chain/assets.js';
import { outPointKey, placedOutputs, type Unscripted } from '../../chain/transaction.js';
import type { Asset, OutPoint, TxOut } from '../../chain/types.js';
import type { Kv, KvBatch } from '../../db/kv.js';
import { utf8 } from '../../lib/bytes.js';
import type { TimeSlices } from '../../lib/time-slices.js';
import { Accounts } from './accounts.js';
import { type BlockToIndex, kindOf, type TransactionToIndex } from './block-to-index.js';
import { blockKey, type Place, spentKey, TIP_KEY, tradeKey, transferKey, wordKey } from './layout.js';
import { type Movement, Movements } from './movements.js';
import {
  encodeBlock,
  encodeMovement,
  encodeSpent,
  encodeTip,
  encodeTrade,
  encodeTransfer,
  encodeUnspent,
  type IndexTip,
} from './records.js';
import type { TransactionKind } from './service.js';
import { type Source, type Sources, type SourceTransaction, sourceOf } from './sources.js';
import { wordsOf } from './words.js';

/** Inputs and outputs that are handled without asking for a turn. */
const PIECE = 16;

type AllSources = ReadonlyMap<string, SourceTransaction>;

interface Creating {
  readonly place: Place;
  readonly kind: TransactionKind;
  readonly sources: AllSources;
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
  /** Outputs that blocks of original nodes have spent in this step (true), or created again (false). */
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
    const { height, header, transactions } = block;
    const sources = await this.#sourcesOf(block);
    const last = transactions.length - 1;
    this.#isOriginal = header.isOriginal === true;
    // A block of original nodes spends first, then it creates.
    const spent: Movements[] = [];
    for (const [txNum, one] of this.#isOriginal ? transactions.entries() : []) {
      spent.push(await this.#spend(one, { height, txNum }, sources));
    }
    for (const [txNum, one] of transactions.entries()) {
      const place = { height, txNum };
      const movements = spent[txNum] ?? (await this.#spend(one, place, sources));
      await this.#create(one, { place, kind: kindOf(one.transaction, height, txNum === last), sources, movements });
    }
    this.#payments += Math.max(0, last);
    this.#batch.put(blockKey(height), encodeBlock({ ...summaryOf(block), payments: this.#payments }));
    this.#next = height + 1;
    this.#hash = block.hash;
  }

  /** Writes the gathered changes. They survive kill -9; after a power loss they may be missing, and are made again. */
  async write(): Promise<IndexTip> {
    await this.#accounts.put(this.#batch, this.#slices);
    // The gathered changes are handed over in a turn of their own.
    await nextTurn();
    const tip = { next: this.#next, hash: this.#hash, payments: this.#payments, ...this.#accounts.numbers };
    this.#batch.put(TIP_KEY, encodeTip(tip));
    await this.#kv.write(this.#batch, { sync: false });
    return tip;
  }

  /** All transactions that the block spends from, and its own; the accounts of all addresses in them are loaded. */
  async #sourcesOf({ transactions }: BlockToIndex): Promise<AllSources> {
    const own = new Map<string, SourceTransaction>();
    const others = new Set<string>();
    for (const { hash, transaction, home } of transactions) {
      if (this.#isDue) await this.#slices.turn();
      for (const { previousOut } of transaction.inputs) {
        if (previousOut !== null && !own.has(previousOut.tHash)) others.add(previousOut.tHash);
      }
      if (!own.has(hash)) own.set(hash, { ...home, outputs: transaction });
    }
    const found = await this.#sources.find(others);
    for (const [hash, source] of found) {
      if (this.#isDue) await this.#slices.turn();
      if (!own.has(hash)) own.set(hash, source);
    }
    await this.#accounts.load(await this.#namesIn(transactions, own), this.#slices);
    return own;
  }

  /** Addresses whose outputs are made or spent, and genesis hashes of the items in them. */
  async #namesIn(transactions: readonly TransactionToIndex[], sources: ReadonlyMap<string, SourceTransaction>) {
    const addresses = new Set<string>();
    const items = new Set<string>();
    const note = (hash: string, { scriptPublicKey, value }: TxOut): void => {
      if (scriptPublicKey !== null) addresses.add(scriptPublicKey);
      if (value.kind === 'item') items.add(value.genesisHash ?? hash);
    };
    for (const { hash, transaction } of transactions) {
      for (const { previousOut } of transaction.inputs) {
        if (this.#isDue) await this.#slices.turn();
        if (previousOut !== null) note(previousOut.tHash, sourceOf(sources, previousOut).txOut);
      }
      for (const txOut of [...transaction.outputs, ...transaction.fees]) {
        if (this.#isDue) await this.#slices.turn();
        note(hash, txOut);
      }
    }
    return { addresses, items };
  }

  async #spend({ transaction }: TransactionToIndex, place: Place, sources: AllSources): Promise<Movements> {
    const movements = new Movements();
    for (const [input, { previousOut }] of transaction.inputs.entries()) {
      if (previousOut === null) continue;
      if (this.#isDue) await this.#slices.turn();
      const source = sourceOf(sources, previousOut);
      this.#batch.put(spentKey(source, previousOut.n), encodeSpent(place, input));
      if (this.#isOriginal) this.#areSpent.set(outPointKey(previousOut), true);
      const asset = withFixedHash(source.txOut.value, previousOut);
      if (source.txOut.scriptPublicKey === null) continue;
      movements.spend(source.txOut.scriptPublicKey, asset);
      this.#takeUnspent(source, previousOut.n, source.txOut.scriptPublicKey);
    }
    return movements;
  }

  /** Indexes the outputs of a transaction whose inputs are spent. */
  async #create(
    { hash, transaction }: TransactionToIndex,
    { place, kind, sources, movements }: Creating,
  ): Promise<void> {
    const home = sources.get(hash) ?? place;
    const isRepeated = home.height < place.height || home.txNum < place.txNum;
    for (const { outPoint, txOut } of placedOutputs(transaction, hash)) {
      if (this.#isDue) await this.#slices.turn();
      if (isRepeated && !(await this.#isMadeAgain(home, outPoint))) continue;
      const asset = withFixedHash(txOut.value, outPoint);
      movements.create(txOut.scriptPublicKey, asset);
      if (txOut.scriptPublicKey !== null) this.#putUnspent(home, outPoint.n, txOut, asset, txOut.scriptPublicKey);
    }
    for (const [address, movement] of movements.byAddress) await this.#move(address, movement, place, kind);
    await this.#transfer(movements, place, kind, isFounding(transaction));
    if (isFounding(transaction)) this.#putWords(transaction, hash, place);
    this.#putTrade(transaction, place);
    this.#sources.keep(hash, transaction, home);
  }

  /** True when a transaction that is made again has lost this output by a spend; false when it still has it. */
  async #isMadeAgain(home: Place, outPoint: OutPoint): Promise<boolean> {
    const name = outPointKey(outPoint);
    const key = spentKey(home, outPoint.n);
    if (!(this.#areSpent.get(name) ?? (await this.#kv.get(key)) !== undefined)) return false;
    this.#areSpent.set(name, false);
    this.#batch.del(key);
    return true;
  }

  #takeUnspent(source: Source, index: number, address: string): void {
    this.#accounts.takeUnspent(this.#accounts.address(address, source), source, index, this.#batch);
  }

  #putUnspent(place: Place, index: number, { locktime }: TxOut, asset: Asset, address: string): void {
    const item = asset.kind === 'item' ? asset : { genesisHash: null, metadata: null };
    const { genesisHash, metadata } = item;
    const record = encodeUnspent({ amount: asset.amount, locktime, genesisHash, metadata });
    this.#accounts.addUnspent(this.#accounts.address(address, place), place, index, record, this.#batch);
  }

  /** Adds the changes of a transaction for one address. */
  async #move(address: string, movement: Movement, place: Place, kind: TransactionKind): Promise<void> {
    if (this.#isDue) await this.#slices.turn();
    const account = this.#accounts.address(address, place);
    account.transactions++;
    account.received += movement.received;
    account.sent += movement.sent;
    account.tokens += movement.received - movement.sent;
    account.last = place;
    const record = encodeMovement({ kind, ...movement.shown });
    this.#accounts.addMovement(account, place, record, this.#batch);
    for (const change of movement.items) {
      if (this.#isDue) await this.#slices.turn();
      await this.#accounts.hold(address, account, change, place, this.#batch);
    }
  }

  /** Adds the transfers of a transaction, for each item in it. */
  async #transfer(movements: Movements, place: Place, kind: TransactionKind, isNew: boolean): Promise<void> {
    for (const [genesisHash, transfer] of movements.byItem) {
      if (this.#isDue) await this.#slices.turn();
      const item = this.#accounts.item(genesisHash, place);
      item.transfers++;
      if (isNew) item.issued += transfer.amount;
      this.#batch.put(transferKey(item.number, place), encodeTransfer({ kind, ...transfer.shown }));
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
    this.#batch.put(tradeKey({ height, txNum }), encodeTrade(this.#trade));
  }

  /** True when a turn must be waited for before the next piece. */
  get #isDue(): boolean {
    return ++this.#pieces % PIECE === 0 && this.#slices.isUsedUp;
  }
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
