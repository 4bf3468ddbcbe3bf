/** Answers of the index about blocks and transactions; `holdings.ts` has addresses and items, `search.ts` the search. */

import { withFixedHash } from '../../chain/assets.js';
import { createdOutPoints, createdOutput, paidOf } from '../../chain/transaction.js';
import type { OutPoint, Transaction, TxOut } from '../../chain/types.js';
import type { Kv } from '../../db/kv.js';
import type { ArchiveLookups } from '../archive/lookups.js';
import type { TransactionRecord } from '../archive/records.js';
import { present } from '../archive/records.js';
import { kindOf } from './block-to-index.js';
import { Holdings } from './holdings.js';
import {
  blockKey,
  blocksBelow,
  heightOfBlockKey,
  type Place,
  spentKey,
  tradeKey,
  transactionKey,
  transactionsIn,
  txNumOfKey,
} from './layout.js';
import { cursorOf, keyOfCursor } from './pages.js';
import { readBlock, readSpent, readTrade } from './records.js';
import { searchIn } from './search.js';
import {
  type BlockSummary,
  type ChainTip,
  type ChainView,
  type Found,
  type IndexedInput,
  type IndexedOutput,
  type IndexedTransaction,
  MAX_LISTED,
  MAX_PARTNERS,
  type Page,
  type PageQuery,
  type Spender,
  type TransactionPart,
  type TransactionSummary,
} from './service.js';
import type { AnswerReads } from './transaction-reads.js';

type Output = Omit<IndexedOutput, 'spender'>;

export interface IndexViewModules {
  readonly kv: Kv;
  readonly archive: ArchiveLookups;
  readonly reads: AnswerReads;
  readonly tip: ChainTip | undefined;
}

export class IndexView extends Holdings implements ChainView {
  readonly tip: ChainTip | undefined;
  readonly #kv: Kv;
  readonly #archive: ArchiveLookups;
  readonly #reads: AnswerReads;

  constructor({ kv, archive, reads, tip }: IndexViewModules) {
    super(kv, archive);
    this.#kv = kv;
    this.#archive = archive;
    this.#reads = reads;
    this.tip = tip;
  }

  async blocks(limit: number, before = Number.MAX_SAFE_INTEGER, step = 1): Promise<readonly BlockSummary[]> {
    const blocks: BlockSummary[] = [];
    const end = Math.min(before, this.#next);
    if (step > 1) {
      const last = Math.floor((end - 1) / step);
      const heights = Array.from({ length: Math.min(limit, last + 1) }, (_, i) => (last - i) * step);
      const records = await this.#kv.getMany(heights.map(blockKey));
      return heights.map((height, i) => readBlock(height, present(records[i], `the summary of block ${height}`)));
    }
    for await (const [key, record] of this.#kv.entries({ ...blocksBelow(end), limit })) {
      blocks.push(readBlock(heightOfBlockKey(key), record));
    }
    return blocks;
  }

  async block(name: number | string): Promise<BlockSummary | undefined> {
    const height = typeof name === 'number' ? name : (await this.#archive.block(name))?.height;
    if (height === undefined || height >= this.#next) return undefined;
    const record = await this.#kv.get(blockKey(height));
    return record && readBlock(height, record);
  }

  async blockTransactions(block: BlockSummary, { limit, cursor }: PageQuery): Promise<Page<TransactionSummary>> {
    const { height, transactions } = block;
    const list = transactionsIn(height);
    const first = cursor === undefined ? 0 : txNumOfKey(keyOfCursor(cursor, list)) + 1;
    const end = Math.min(first + limit, transactions);
    const places = Array.from({ length: Math.max(end - first, 0) }, (_, i) => ({ height, txNum: first + i }));
    const hashes = await this.#archive.namesAt(places);
    const entries: TransactionSummary[] = [];
    while (entries.length < hashes.length && !this.#reads.isUsedUp) {
      const txNum = first + entries.length;
      const hash = hashes[entries.length] ?? '';
      entries.push(await this.#reads.pick(hash, (record) => summaryOf(block, txNum, record)));
    }
    const shown = first + entries.length;
    const next = shown < transactions ? cursorOf(transactionKey({ height, txNum: shown - 1 })) : null;
    return { entries, next };
  }

  async transaction(hash: string, part: TransactionPart): Promise<IndexedTransaction | undefined> {
    const record = await this.#reads.find(hash, (found) => found);
    const block = record && (await this.block(record.height));
    if (record === undefined || block === undefined) return undefined;
    const { transaction } = record;
    const { firstInput, firstOutput } = part;
    const inputs = transaction.inputs.slice(firstInput, firstInput + MAX_LISTED);
    const outputs = createdOutPoints(transaction, hash).slice(firstOutput, firstOutput + MAX_LISTED);
    return {
      ...summaryOf(block, record.txNum, record),
      blockHash: block.hash,
      confirmations: this.#next - block.height,
      transaction,
      ...part,
      inputList: await this.#inputs(inputs),
      outputList: await this.#outputs(
        record,
        outputs.map(({ outPoint, txOut }) => outputOf(transaction, outPoint, txOut)),
      ),
      partners: await this.#partners(record),
    };
  }

  async output(outPoint: OutPoint): Promise<(IndexedOutput & { readonly height: number }) | undefined> {
    const found = await this.#reads.find(outPoint.tHash, (record) => {
      const txOut = record && createdOutput(record.transaction, outPoint.n);
      if (record === undefined || txOut === undefined) return undefined;
      return { height: record.height, txNum: record.txNum, output: outputOf(record.transaction, outPoint, txOut) };
    });
    if (found === undefined || found.height >= this.#next) return undefined;
    const [output] = await this.#outputs(found, [found.output]);
    return output && { ...output, height: found.height };
  }

  search(text: string): Promise<readonly Found[]> {
    return searchIn(text, { kv: this.#kv, archive: this.#archive, reads: this.#reads, view: this, next: this.#next });
  }

  /** Number of blocks indexed. */
  get #next(): number {
    return this.tip === undefined ? 0 : this.tip.height + 1;
  }

  async #inputs(inputs: Transaction['inputs']): Promise<IndexedInput[]> {
    const spent = new Map<string, OutPoint[]>();
    for (const { previousOut } of inputs) {
      if (previousOut === null) continue;
      const same = spent.get(previousOut.tHash);
      if (same === undefined) spent.set(previousOut.tHash, [previousOut]);
      else same.push(previousOut);
    }
    const sources = new Map<OutPoint, IndexedInput['source']>();
    for (const [hash, outPoints] of spent) {
      if (this.#reads.isUsedUp) break;
      await this.#reads.pick(hash, ({ transaction, height }) => {
        for (const outPoint of outPoints) {
          const txOut = present(createdOutput(transaction, outPoint.n), `output ${outPoint.n} of ${hash}`);
          sources.set(outPoint, { ...outputOf(transaction, outPoint, txOut), height });
        }
      });
    }
    const end = inputs.findIndex(({ previousOut }) => previousOut !== null && !sources.has(previousOut));
    return inputs.slice(0, end < 0 ? undefined : end).map(({ previousOut, script }) => {
      return { script, source: previousOut && (sources.get(previousOut) ?? null) };
    });
  }

  async #outputs(place: Place, outputs: readonly Output[]): Promise<IndexedOutput[]> {
    const records = await this.#kv.getMany(outputs.map(({ outPoint }) => spentKey(place, outPoint.n)));
    const spent = records.map((one) => one && readSpent(one));
    const names = await this.#archive.namesAt(spent.flatMap((one) => one?.place ?? []));
    let named = 0;
    return outputs.map((output, i) => {
      const one = spent[i];
      const spender: Spender | null =
        one === undefined ? null : { hash: names[named++] ?? '', input: one.input, height: one.place.height };
      return { ...output, spender };
    });
  }

  /** The other transactions of a transaction's trade. */
  async #partners({ transaction, height, txNum: own }: TransactionRecord): Promise<string[]> {
    const record = transaction.druidInfo && (await this.#kv.get(tradeKey({ height, txNum: own })));
    if (!record) return [];
    const { firstTxNum, participants } = readTrade(record);
    const length = Math.min(participants, MAX_PARTNERS + 1);
    const members = Array.from({ length }, (_, i) => ({ height, txNum: firstTxNum + i }));
    return this.#archive.namesAt(members.filter(({ txNum }) => txNum !== own).slice(0, MAX_PARTNERS));
  }
}

function summaryOf(block: BlockSummary, txNum: number, record: TransactionRecord): TransactionSummary {
  const { hash, transaction, bytes } = record;
  const { inputs, outputs, fees } = transaction;
  const tokensIn = (list: readonly TxOut[]): bigint[] =>
    list.flatMap(({ value }) => (value.kind === 'token' ? [value.amount] : []));
  const tokens = tokensIn([...outputs, ...fees]).reduce((sum, amount) => sum + amount, 0n);
  const spends = inputs.some(({ previousOut }) => previousOut !== null);
  return {
    hash,
    height: block.height,
    txNum,
    time: block.time,
    kind: kindOf(transaction, block.height, txNum === block.transactions - 1),
    bytes: bytes.length,
    inputs: inputs.length,
    outputs: outputs.length + fees.length,
    tokens,
    paid: paidOf(spends, tokensIn(outputs)),
  };
}

function outputOf(transaction: Transaction, outPoint: OutPoint, txOut: TxOut): Output {
  return {
    outPoint,
    asset: withFixedHash(txOut.value, outPoint),
    locktime: txOut.locktime,
    address: txOut.scriptPublicKey,
    isFee: transaction.feesReplace ? transaction.fees.includes(txOut) : outPoint.n >= transaction.outputs.length,
  };
}
