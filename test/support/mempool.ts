/** What the tests of the mempool share: funded keys, payments, a state with rules, and a scripted miner and storage. */

import { addressOf } from '../../src/chain/address.js';
import { tokenAsset } from '../../src/chain/assets.js';
import { DEFAULT_BLOCK_RULES } from '../../src/chain/block-rules.js';
import { assemble, assembleSigned, coinbaseTransaction, txOut, unsignedInput } from '../../src/chain/builders.js';
import { decodeHeader, decodeTransaction, encodeTransaction } from '../../src/chain/codec.js';
import { transactionHash, transactionHashOfBytes } from '../../src/chain/hash.js';
import { proofOfWorkFault } from '../../src/chain/pow.js';
import { outPointKey } from '../../src/chain/transaction.js';
import type { BlockHeader, DruidInfo, OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import { createUnicorn, DEFAULT_MODULUS, type Unicorn } from '../../src/chain/unicorn.js';
import { type KeyPair, keyPairFromSeed } from '../../src/crypto/ed25519.js';
import { sha3Bytes } from '../../src/crypto/sha3.js';
import type { Kv } from '../../src/db/kv.js';
import type { Journal } from '../../src/journal/journal.js';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import type { ChainSyncOptions } from '../../src/mempool/blocks/chain-sync.js';
import type { CandidateTx } from '../../src/mempool/state/acceptance.js';
import { Applier } from '../../src/mempool/state/applier.js';
import type { IssuedTx } from '../../src/mempool/state/round.js';
import type { MempoolState, StateRules } from '../../src/mempool/state/state.js';
import { StateStore } from '../../src/mempool/state/state-store.js';
import { noMetrics } from '../../src/observability/metrics.js';
import type { Message, PeerNetwork } from '../../src/peers/network.js';

export interface Account {
  readonly key: KeyPair;
  readonly address: string;
}

export function account(name: string): Account {
  const key = keyPairFromSeed(sha3Bytes(`test account ${name}`));
  return { key, address: addressOf(key.publicKey) };
}

/** A genesis transaction `000000` with one output of `amount` for each account. */
function genesisFor(accounts: readonly Account[], amount = 1_000_000n): IssuedTx {
  const tx = assemble({ inputs: [], outputs: accounts.map(({ address }) => txOut(tokenAsset(amount), address)) });
  return { hash: '000000', bytes: encodeTransaction(tx), amount: amount * BigInt(accounts.length) };
}

export function rulesFor(accounts: readonly Account[], rest: Partial<StateRules> = {}): StateRules {
  return {
    genesis: [genesisFor(accounts)],
    issuances: new Map(),
    block: DEFAULT_BLOCK_RULES,
    partitionSize: 10,
    asertActivationHeight: 3,
    eras: [],
    druidLifetime: 3,
    ...rest,
  };
}

/** The rules by which a mempool checks the blocks of storage. */
export function chainFor({ genesis, block, eras, asertActivationHeight }: StateRules): ChainSyncOptions {
  const transactions = new Map(genesis.map(({ hash, bytes }) => [hash, decodeTransaction(bytes)]));
  return {
    rules: {
      genesis: { transactions, issuances: [], blockRules: block, eras },
      activationHeight: asertActivationHeight,
    },
    storageNodes: 0,
  };
}

/** Makes the storage node answer with the mempool's own tip. */
export function keepStep(storage: PeerNetwork, clock?: Pick<Clock, 'now'>): void {
  storage.handle('chain.tip.get', async (link) => {
    const { body } = (await link.request('chain.tip.get', {})) as Message<'chain.tip'>;
    return { type: 'chain.tip', body: { ...body, ...(clock && { time: clock.now() }) } };
  });
}

export const genesisOut = (n: number): OutPoint => ({ tHash: '000000', n });

export interface PaymentParts {
  readonly from: Account;
  readonly inputs: readonly OutPoint[];
  readonly outputs: readonly TxOut[];
  readonly druidInfo?: DruidInfo;
}

/** A signed transaction of one account. */
export function payment({ from, inputs, outputs, druidInfo }: PaymentParts): Transaction {
  const keys = new Map(inputs.map((outPoint) => [outPointKey(outPoint), from.key]));
  return assembleSigned(
    { inputs: inputs.map(unsignedInput), outputs, ...(druidInfo === undefined ? {} : { druidInfo }) },
    keys,
  );
}

export const pay = (to: Account, amount: bigint, locktime = 0n): TxOut =>
  txOut(tokenAsset(amount), to.address, locktime);

export function candidate(tx: Transaction): CandidateTx {
  const bytes = encodeTransaction(tx);
  return { hash: transactionHashOfBytes(bytes), bytes, tx };
}

export function unicornOf(seed: bigint): Unicorn {
  return createUnicorn(seed, { modulus: DEFAULT_MODULUS, iterations: 2 });
}

/** An applier on its own. */
export function applierOf(
  journal: Journal,
  kv: Kv,
  state: MempoolState,
  store = new StateStore(kv, systemClock),
): Applier {
  return new Applier({ journal, store, state, unicorn: unicornOf, clock: systemClock, metrics: noMetrics });
}

export interface Mined {
  readonly nonce: Uint8Array;
  readonly coinbase: Transaction;
}

/** The first nonce that meets the target, with a coinbase that pays `to`. */
export function mine(template: BlockHeader | Uint8Array, reward: bigint, to: Pick<Account, 'address'>): Mined {
  const header = template instanceof Uint8Array ? decodeHeader(template) : template;
  const coinbase = coinbaseTransaction(header.bNum, reward, to.address);
  const miningTxHash = transactionHash(coinbase);
  for (let i = 0; ; i++) {
    const nonce = Buffer.alloc(4);
    nonce.writeUInt32LE(i);
    if (proofOfWorkFault({ ...header, nonce, miningTxHash }) === null) return { nonce, coinbase };
  }
}
