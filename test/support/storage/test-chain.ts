/** Small valid chains for the tests of the archive, mined for real: a proof of work needs 256 hashes. */

import { addressOf } from '../../../src/chain/address.js';
import { tokenAsset } from '../../../src/chain/assets.js';
import { assemble, assembleSigned, coinbaseTransaction, txOut, unsignedInput } from '../../../src/chain/builders.js';
import { blockReward } from '../../../src/chain/coinbase.js';
import { type Genesis, issuanceTransactions, parseGenesis } from '../../../src/chain/genesis.js';
import { blockHash, merkleRoot, transactionHash, txsHash } from '../../../src/chain/hash.js';
import { compactToBytes, MAX_COMPACT_TARGET, proofOfWorkFault } from '../../../src/chain/pow.js';
import { createAssetScript } from '../../../src/chain/script/builders.js';
import { assetSignable } from '../../../src/chain/signable.js';
import { outPointKey } from '../../../src/chain/transaction.js';
import type { BlockHeader, FullBlock, OutPoint, Transaction, TxOut } from '../../../src/chain/types.js';
import { type KeyPair, keyPairFromSeed, sign } from '../../../src/crypto/ed25519.js';
import type { ChainRules } from '../../../src/ledger/block/rules.js';

/** The owner of everything: the key that pays and creates. */
const OWNER = keyPairFromSeed(new Uint8Array(32).fill(3));
export const ADDRESS = addressOf(OWNER.publicKey);
export const MINER = 'm'.repeat(64);
const ACTIVATION_HEIGHT = 3;

/** Raw units in each output for `payment`. */
const FUND = 1_000n;
/**
 * Outputs of the genesis transaction `000001` that pay the owner, from index 1 on: the first for `payment`, the rest for
 * `add`.
 */
const FUNDS = 300;
const FIRST_OF_CHAIN = 256;

/** A genesis with funds; `initial_issuances` as given. */
export function genesisWith(issuances: readonly { address: string; amount: number; block_height: number }[]): Genesis {
  const funds = Array.from({ length: FUNDS }, () => ({ address: ADDRESS, amount: Number(FUND), locktime: 0 }));
  return parseGenesis({
    mempool_seed_utxo: {
      '000000': [{ address: ADDRESS, amount: 90_090_000_000_000_000n, locktime: 0 }],
      '000001': [{ address: MINER, amount: 7_000, locktime: 5 }, ...funds],
    },
    mempool_genesis_tx_in: 'a "quoted" beginning',
    initial_issuances: issuances,
  });
}

export const GENESIS: Genesis = genesisWith([]);
export const RULES: ChainRules = { genesis: GENESIS, activationHeight: ACTIVATION_HEIGHT };

/** A transaction that the owner signs, or another key. */
export function signed(inputs: readonly OutPoint[], outputs: readonly TxOut[], key: KeyPair = OWNER): Transaction {
  const keys = new Map(inputs.map((outPoint) => [outPointKey(outPoint), key]));
  return assembleSigned({ inputs: inputs.map(unsignedInput), outputs }, keys);
}

/** A payment of the owner to itself, out of a genesis output of its own for each `seed` from 1 to 255. */
export function payment(seed: number, amount = 5n): Transaction {
  const outputs = [txOut(tokenAsset(amount), ADDRESS), txOut(tokenAsset(FUND - amount), ADDRESS)];
  return signed([{ tHash: '000001', n: seed }], outputs);
}

/** A creation signed by a key of our own. Another `seed`, another hash. */
export function itemCreation(seed: number, amount: bigint, genesisHash: string | null, metadata: string): Transaction {
  const value = { kind: 'item' as const, amount, genesisHash, metadata };
  const signable = assetSignable(value);
  const script = createAssetScript(BigInt(seed), signable, sign(OWNER.seed, signable), OWNER.publicKey);
  return assemble({ inputs: [{ previousOut: null, script }], outputs: [txOut(value, ADDRESS)] });
}

/** The header with the first nonce that meets its target. */
export function mine(header: BlockHeader): BlockHeader {
  for (let n = 0; ; n++) {
    const nonce = new Uint8Array(4);
    new DataView(nonce.buffer).setUint32(0, n, true);
    const mined = { ...header, nonce };
    if (proofOfWorkFault(mined) === null) return mined;
  }
}

/** A nonce that does not meet the target. */
export function spoil(header: BlockHeader): BlockHeader {
  for (let n = 0; ; n++) {
    const spoiled = { ...header, nonce: Uint8Array.of(n) };
    if (proofOfWorkFault(spoiled) !== null) return spoiled;
  }
}

export interface Parts {
  readonly bNum: number;
  readonly previousHash: string | null;
  readonly names: readonly string[];
  readonly transactions: readonly Transaction[];
  readonly miningTransaction: Transaction;
  readonly difficulty?: Uint8Array;
}

/** A mined block of these parts, whether they are right or not. */
export function assembleBlock(parts: Parts, change: Partial<BlockHeader> = {}): FullBlock {
  const { bNum, names, transactions, miningTransaction } = parts;
  const target = bNum > ACTIVATION_HEIGHT ? compactToBytes(MAX_COMPACT_TARGET) : new Uint8Array(0);
  const header = mine({
    version: 6,
    bits: 0n,
    nonce: new Uint8Array(0),
    miningTxHash: transactionHash(miningTransaction),
    bNum: BigInt(bNum),
    timestamp: 1_700_000_000n,
    difficulty: parts.difficulty ?? target,
    seedValue: Buffer.from(`${bNum}-9`),
    previousHash: parts.previousHash,
    merkleRoot: merkleRoot(names),
    txsHash: txsHash(names),
    ...change,
  });
  return { block: { header, transactions: names }, transactions, miningTransaction };
}

/** A chain that grows; `salt` makes another chain from the same genesis. */
export function createTestChain(salt = 0, genesis: Genesis = GENESIS) {
  const blocks: FullBlock[] = [];
  /** What the payments of `add` spend, the oldest first. */
  const coins = Array.from({ length: FUNDS - FIRST_OF_CHAIN + 1 }, (_, i) => ({
    outPoint: { tHash: '000001', n: FIRST_OF_CHAIN + i },
    amount: FUND,
  }));
  let issued = genesis.initialIssuance;

  const nextPayment = (): Transaction => {
    const coin = coins.shift();
    if (coin === undefined) throw new Error('the owner of the test chain has nothing left');
    const amount = 5n + BigInt(salt % 2);
    const rest = coin.amount - amount;
    const tx = signed([coin.outPoint], [txOut(tokenAsset(amount), ADDRESS), txOut(tokenAsset(rest), ADDRESS)]);
    coins.push({ outPoint: { tHash: transactionHash(tx), n: 1 }, amount: rest });
    return tx;
  };

  const parts = (transactions: readonly Transaction[]): Parts => {
    const bNum = blocks.length;
    const last = blocks.at(-1);
    const all = bNum === 0 ? [...genesis.transactions.values()] : transactions;
    return {
      bNum,
      previousHash: last ? blockHash(last.block.header) : null,
      names: bNum === 0 ? [...genesis.transactions.keys()] : all.map(transactionHash),
      transactions: all,
      miningTransaction: coinbaseTransaction(BigInt(bNum), blockReward(issued), MINER),
    };
  };
  /** The next block, with issuances that fall due; without transactions it has two payments. */
  const add = (given?: readonly Transaction[]): FullBlock => {
    const bNum = blocks.length;
    const ordinary = given ?? (bNum === 0 ? [] : [nextPayment(), nextPayment()]);
    const due = issuanceTransactions(genesis, BigInt(bNum));
    const block = assembleBlock(parts([...ordinary, ...due]));
    blocks.push(block);
    for (const tx of [block.miningTransaction, ...due]) issued += tx.outputs[0]?.value.amount ?? 0n;
    return block;
  };

  return {
    blocks,
    add,
    /** The parts of the next block, for a test to break. */
    parts: (transactions: readonly Transaction[] = [payment(salt + 7)]) => parts(transactions),
    get issued() {
      return issued;
    },
    hash: (bNum: number) => {
      const block = blocks[bNum];
      if (block === undefined) throw new Error(`no block ${bNum}`);
      return blockHash(block.block.header);
    },
    block: (bNum: number): FullBlock => {
      const block = blocks[bNum];
      if (block === undefined) throw new Error(`no block ${bNum}`);
      return block;
    },
    grow(to: number) {
      while (blocks.length < to) add();
      return this;
    },
  };
}

export type TestChain = ReturnType<typeof createTestChain>;
