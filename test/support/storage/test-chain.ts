/** Small valid chains for the tests of the archive, mined for real: a proof of work needs 256 hashes. */

import { assemble, coinbaseTransaction, txOut } from '../../../src/chain/builders.js';
import { type Genesis, issuanceTransactions, parseGenesis } from '../../../src/chain/genesis.js';
import { blockHash, merkleRoot, transactionHash, txsHash } from '../../../src/chain/hash.js';
import { compactToBytes, MAX_COMPACT_TARGET, proofOfWorkFault } from '../../../src/chain/pow.js';
import { blockReward } from '../../../src/chain/reward.js';
import { createAssetScript } from '../../../src/chain/script/builders.js';
import { assetSignable } from '../../../src/chain/signable.js';
import type { BlockHeader, FullBlock, Transaction } from '../../../src/chain/types.js';
import { keyPairFromSeed, sign } from '../../../src/crypto/ed25519.js';
import type { ChainRules } from '../../../src/ledger/block/verify-block.js';

export const ADDRESS = 'a'.repeat(64);
const CREATOR = keyPairFromSeed(new Uint8Array(32).fill(3));
export const MINER = 'm'.repeat(64);
const ACTIVATION_HEIGHT = 3;

export const GENESIS: Genesis = parseGenesis({
  mempool_seed_utxo: {
    '000000': [{ address: ADDRESS, amount: 90_090_000_000_000_000n, locktime: 0 }],
    '000001': [{ address: MINER, amount: 7_000, locktime: 5 }],
  },
  mempool_genesis_tx_in: 'a "quoted" beginning',
  initial_issuances: [],
});
export const RULES: ChainRules = { genesis: GENESIS, activationHeight: ACTIVATION_HEIGHT };

/** A payment that nobody signed; the archive does not check what payments spend. Another `seed`, another hash. */
export function payment(seed: number, amount = 5n): Transaction {
  return {
    inputs: [
      {
        previousOut: { tHash: '000000', n: seed },
        script: [
          { kind: 'signature', bytes: new Uint8Array(64).fill(seed) },
          { kind: 'pubkey', bytes: new Uint8Array(32).fill(seed) },
          { kind: 'op', op: 35 },
          { kind: 'bytes', text: 'é "x"' },
        ],
      },
    ],
    outputs: [{ value: { kind: 'token', amount }, locktime: 0n, scriptPublicKey: ADDRESS }],
    version: 6n,
    fees: [],
    druidInfo: null,
  };
}

/** A creation signed by a key of our own. Another `seed`, another hash. */
export function itemCreation(seed: number, amount: bigint, genesisHash: string | null, metadata: string): Transaction {
  const value = { kind: 'item' as const, amount, genesisHash, metadata };
  const signable = assetSignable(value);
  const script = createAssetScript(BigInt(seed), signable, sign(CREATOR.seed, signable), CREATOR.publicKey);
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
  let issued = genesis.initialIssuance;

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
    const ordinary = given ?? [payment(salt + bNum * 10 + 1), payment(salt + bNum * 10 + 2)];
    const due = issuanceTransactions(genesis, BigInt(bNum));
    const block = assembleBlock(parts([...ordinary, ...due]));
    blocks.push(block);
    for (const tx of [block.miningTransaction, ...due]) issued += tx.outputs[0]?.value.amount ?? 0n;
    return block;
  };

  return {
    blocks,
    add,
    /** What the next block is made of, to be broken by a test. */
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
