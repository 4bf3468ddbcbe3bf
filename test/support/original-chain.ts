/** Chains as original nodes make them: two that real ones made, as data, and one that a test makes by their rules. */

import { readFileSync } from 'node:fs';
import { tokenAsset } from '../../src/chain/assets.js';
import { assemble, coinbaseTransaction, txOut } from '../../src/chain/builders.js';
import { blockReward } from '../../src/chain/coinbase.js';
import { type Era, eraAt } from '../../src/chain/eras.js';
import { type Genesis, issuanceTransactions, parseGenesis } from '../../src/chain/genesis.js';
import { blockHash, merkleRoot, transactionHash, txsHash } from '../../src/chain/hash.js';
import { blockJson, transactionJson } from '../../src/chain/json.js';
import { compactToBytes, MAX_COMPACT_TARGET } from '../../src/chain/pow.js';
import { pay2pkhScript } from '../../src/chain/script/builders.js';
import { outPointSignable } from '../../src/chain/signable.js';
import type { BlockHeader, FullBlock, OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { keyPairFromSeed, sign } from '../../src/crypto/ed25519.js';
import { compareUtf8 } from '../../src/lib/bytes.js';
import { type JsonValue, parseExactJson } from '../../src/lib/json.js';
import { inputSignable } from '../vectors/reference-library.js';
import { ADDRESS, MINER, mine } from './storage/test-chain.js';

const OWNER = keyPairFromSeed(new Uint8Array(32).fill(3));
const ACTIVATION_HEIGHT = 3;

/** One entry of the API of a storage node: key, JSON and its place. */
export type Entry = readonly [key: string, data: JsonValue, meta: JsonValue];

export interface OriginalChain {
  readonly blocks: readonly Entry[];
  readonly transactions: readonly Entry[];
}

export const FIXTURES = new URL('../fixtures/original/', import.meta.url);

/** A chain of real nodes. */
export function realChain(name: 'one-miner' | 'two-mempool-nodes'): OriginalChain {
  const read = (file: string) =>
    parseExactJson(readFileSync(new URL(`${name}/${file}.json`, FIXTURES)), { anyName: true });
  return { blocks: read('blocks') as unknown as Entry[], transactions: read('transactions') as unknown as Entry[] };
}

/** The genesis file of a chain of `createOriginalChain`: 300 outputs of 1,000 raw units, and eras as given. */
export function originalGenesis(eras: readonly object[], more: object = {}): Genesis {
  return parseGenesis(originalGenesisFile(eras, more));
}

export function originalGenesisFile(eras: readonly object[], more: object = {}) {
  const outputs = Array.from({ length: 300 }, () => ({ address: ADDRESS, amount: 1_000, locktime: 0 }));
  return { mempool_seed_utxo: { '000000': outputs }, mempool_genesis_tx_in: 'an older network', eras, ...more };
}

/** A transaction of the owner; `signatures` as in the era. */
export function spend(
  inputs: readonly OutPoint[],
  outputs: readonly TxOut[],
  {
    fees = [],
    signatures = 'outputs',
  }: { readonly fees?: readonly TxOut[]; readonly signatures?: Era['signatures'] } = {},
): Transaction {
  const signed = inputs.map((previousOut) => {
    const signable = signatures === 'outpoint' ? outPointSignable(previousOut) : inputSignable(outputs, previousOut);
    return { previousOut, script: pay2pkhScript(signable, sign(OWNER.seed, signable), OWNER.publicKey, null) };
  });
  return { ...assemble({ inputs: signed, outputs }), fees };
}

/** Spends output `n` of block 0. */
export function payment(n: number, options: Parameters<typeof spend>[2] = {}): Transaction {
  const paid = (options.fees ?? []).reduce((sum, { value }) => sum + value.amount, 0n);
  return spend(
    [{ tHash: '000000', n }],
    [txOut(tokenAsset(10n), ADDRESS), txOut(tokenAsset(990n - paid), ADDRESS)],
    options,
  );
}

/** A chain that grows by the rules of the eras of its genesis file. */
export function createOriginalChain(
  genesis: Genesis,
  { eras = genesis.eras }: { readonly eras?: readonly Era[] } = {},
) {
  const blocks: FullBlock[] = [];
  let issued = genesis.initialIssuance;
  const next = (
    given: readonly Transaction[],
    change: Partial<BlockHeader>,
    coinbase: Partial<Transaction>,
  ): FullBlock => {
    const height = blocks.length;
    const era = eraAt(eras, height);
    const last = blocks.at(-1);
    const sorted = given.toSorted(
      (a, b) =>
        order(a) - order(b) ||
        compareUtf8(a.druidInfo?.druid ?? '', b.druidInfo?.druid ?? '') ||
        compareUtf8(transactionHash(a), transactionHash(b)),
    );
    const due = issuanceTransactions(genesis, BigInt(height));
    const transactions = height === 0 ? [...genesis.transactions.values()] : [...sorted, ...due];
    const names = height === 0 ? [...genesis.transactions.keys()] : transactions.map((tx) => transactionHash(tx));
    const miningTransaction = { ...coinbaseTransaction(BigInt(height), blockReward(issued, era), MINER), ...coinbase };
    const isTargeted = era.header === 'current' && height > ACTIVATION_HEIGHT;
    const header = mine({
      ...(era.header !== 'current' && { layout: era.header }),
      ...(era.isOriginal && { isOriginal: true }),
      version: 6,
      bits: era.header === 'prime' && height > ACTIVATION_HEIGHT ? BigInt(MAX_COMPACT_TARGET) : 0n,
      nonce: new Uint8Array(0),
      miningTxHash: transactionHash(miningTransaction),
      bNum: BigInt(height),
      timestamp: era.header === 'oldest' ? 0n : 1_700_000_000n + BigInt(height),
      difficulty: isTargeted ? compactToBytes(MAX_COMPACT_TARGET) : new Uint8Array(0),
      seedValue: Buffer.from(`${height}-9`),
      previousHash: last ? blockHash(last.block.header) : null,
      merkleRoot: merkleRoot(names),
      txsHash: txsHash(names),
      ...change,
    });
    return { block: { header, transactions: names }, transactions, miningTransaction };
  };
  return {
    blocks,
    /** The next block, not added, with what a test breaks. */
    next: (
      given: readonly Transaction[] = [],
      change: Partial<BlockHeader> = {},
      coinbase: Partial<Transaction> = {},
    ) => next(given, change, coinbase),
    add(
      given: readonly Transaction[] = [],
      change: Partial<BlockHeader> = {},
      coinbase: Partial<Transaction> = {},
    ): FullBlock {
      const block = next(given, change, coinbase);
      blocks.push(block);
      const due = issuanceTransactions(genesis, block.block.header.bNum);
      for (const tx of [block.miningTransaction, ...due]) issued += tx.outputs[0]?.value.amount ?? 0n;
      return block;
    },
    get issued() {
      return issued;
    },
    /** The answers of a storage node that has it. */
    answers: (): OriginalChain => answersOf(blocks),
  };
}

/** Sets come first. */
const order = ({ druidInfo }: Transaction): number => (druidInfo === null ? 1 : 0);

function answersOf(blocks: readonly FullBlock[]): OriginalChain {
  const json = (text: string): JsonValue => parseExactJson(text, { anyName: true });
  return {
    blocks: blocks.map(({ block, transactions }, height) => [
      blockHash(block.header),
      { block: json(blockJson(block)) },
      { Block: { block_num: height, tx_len: transactions.length + 1 } },
    ]),
    transactions: blocks.flatMap(({ block, transactions, miningTransaction }, height) =>
      [...transactions, miningTransaction].map((tx, i): Entry => {
        const name = block.transactions[i] ?? block.header.miningTxHash;
        return [name, json(transactionJson(tx)), { Tx: { block_num: height, tx_num: i } }];
      }),
    ),
  };
}
