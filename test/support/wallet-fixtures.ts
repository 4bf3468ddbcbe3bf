/** Wallets on real LevelDB in temporary folders, and blocks that pay them. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { coinbaseTransaction } from '../../src/chain/builders.js';
import { blockHash, merkleRoot, transactionHash, txsHash } from '../../src/chain/hash.js';
import { proofOfWorkFault } from '../../src/chain/pow.js';
import type { BlockHeader, FullBlock, OutPoint, Transaction, TxOut, Utxo } from '../../src/chain/types.js';
import type { Kv } from '../../src/db/kv.js';
import { LevelKv } from '../../src/db/level-kv.js';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { systemRandom } from '../../src/lib/random.js';
import { type Metrics, noMetrics } from '../../src/observability/metrics.js';
import type { ToldBlock } from '../../src/wallet/block-check.js';
import type { WalletOptions } from '../../src/wallet/options.js';
import { loadWallet, type Wallet } from '../../src/wallet/wallet.js';

/** Cheap on purpose: one test uses the real parameters. */
const TEST_SCRYPT = { n: 16, r: 1, p: 1 };
export const PASSPHRASE = 'a passphrase of the tests';
/** The receiver of coinbases that no wallet of a test owns. */
export const NOBODY = '0'.repeat(64);

const folders: string[] = [];
/** Ends the wallets that a test has left open. */
const closers = new Set<() => Promise<void>>();

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-wallet-'));
  folders.push(folder);
  return folder;
}

/** Closes what is open and removes every folder that was made; call in `afterAll`. */
export async function removeFolders(): Promise<void> {
  // Wallets whose disk has failed cannot be closed cleanly.
  await Promise.allSettled([...closers].map((close) => close()));
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
}

export interface OpenWallet {
  readonly wallet: Wallet;
  readonly kv: Kv;
  readonly folder: string;
  close(): Promise<void>;
}

export interface OpenWalletOptions extends Partial<WalletOptions> {
  readonly syncFolder?: (folder: string) => Promise<void>;
  readonly clock?: Clock;
  readonly metrics?: Metrics;
  /** Bypasses the store. */
  readonly wrap?: (kv: Kv) => Kv;
}

export async function openWallet(folder: string, options: OpenWalletOptions = {}): Promise<OpenWallet> {
  const { clock = systemClock, wrap = (kv: Kv) => kv, syncFolder, metrics = noMetrics, ...rest } = options;
  const kv = wrap(await LevelKv.open(join(folder, 'db'), { createIfMissing: true }));
  try {
    const wallet = await loadWallet(
      {
        keystoreFile: join(folder, 'keystore.json'),
        passphrase: PASSPHRASE,
        allowBlankPassphrase: false,
        aggregateAbove: null,
        dust: 1n,
        scryptCost: TEST_SCRYPT,
        ...rest,
      },
      { kv, clock, random: systemRandom, logger: silentLogger, metrics, ...(syncFolder ? { syncFolder } : {}) },
    );
    const close = async (): Promise<void> => {
      closers.delete(close);
      await wallet.close();
      await kv.close();
    };
    closers.add(close);
    return { wallet, kv, folder, close };
  } catch (error) {
    await kv.close();
    throw error;
  }
}

export async function newWallet(options: OpenWalletOptions = {}): Promise<OpenWallet> {
  return openWallet(await temporaryFolder(), options);
}

export interface BlockOptions {
  readonly mining?: Transaction;
  /** Hash of the block before. */
  readonly previous?: string | null | undefined;
  /** What the list calls the transactions; their hashes by default. */
  readonly names?: readonly string[];
}

/** A block that a wallet is told of, with all of its transactions at hand. */
export interface WholeBlock extends ToldBlock {
  readonly full: FullBlock;
}

/** A block with a sound list, header and proof of work. */
export function block(
  bNum: number,
  transactions: readonly Transaction[],
  { mining = coinbaseTransaction(BigInt(bNum), 1n, NOBODY), previous = null, names }: BlockOptions = {},
): WholeBlock {
  const hashes = names ?? transactions.map((transaction) => transactionHash(transaction));
  const header = withProofOfWork({
    version: 6,
    bits: 0n,
    nonce: new Uint8Array(4),
    miningTxHash: transactionHash(mining),
    bNum: BigInt(bNum),
    timestamp: 0n,
    difficulty: new Uint8Array(0),
    seedValue: new Uint8Array(0),
    previousHash: previous,
    merkleRoot: merkleRoot(hashes),
    txsHash: txsHash(hashes),
  });
  return {
    full: { block: { header, transactions: hashes }, transactions, miningTransaction: mining },
    hash: blockHash(header),
  };
}

/** The first valid nonce; one in 256 is. */
export function withProofOfWork(header: BlockHeader): BlockHeader {
  for (let i = 0; ; i++) {
    const nonce = Uint8Array.of(i & 0xff, (i >>> 8) & 0xff, (i >>> 16) & 0xff, 0);
    if (proofOfWorkFault({ ...header, nonce }) === null) return { ...header, nonce };
  }
}

/** The block that the wallet takes next. */
export function nextBlock(wallet: Wallet, transactions: readonly Transaction[], mining?: Transaction): WholeBlock {
  const height = wallet.chain.height + 1;
  const options = { previous: wallet.chain.tipHash, ...(mining === undefined ? {} : { mining }) };
  return block(height, transactions, options);
}

/** A refresh of one page; false when the wallet is ahead of the block. */
export async function refreshOnce(
  wallet: Wallet,
  addresses: readonly string[],
  utxos: readonly Utxo[],
  height: number,
): Promise<boolean> {
  const refresh = wallet.chain.beginRefresh(addresses, { height, hash: null });
  if (refresh === undefined) return false;
  await refresh.add(utxos);
  await refresh.finish();
  return true;
}

/** Payments from outside so far: no two are alike, and they are the same ones in every run. */
let fromOutside = 0;

/** A transaction of somebody else that pays these outputs. */
export function paymentFromOutside(outputs: readonly TxOut[], salt = fromOutside++): Transaction {
  const previousOut: OutPoint = { tHash: `outside ${salt}`, n: 0 };
  return { inputs: [{ previousOut, script: [] }], outputs, version: 6n, fees: [], druidInfo: null };
}

export function tokens(address: string, amount: bigint, locktime = 0n): TxOut {
  return { value: { kind: 'token', amount }, locktime, scriptPublicKey: address };
}

/** Gives the wallet coins of these amounts, each to an address of its own, in the next block. */
export async function fund(wallet: Wallet, amounts: readonly bigint[]): Promise<void> {
  const outputs: TxOut[] = [];
  for (const amount of amounts) outputs.push(tokens(await wallet.newAddress(), amount));
  const { full, hash } = nextBlock(wallet, [paymentFromOutside(outputs)]);
  await wallet.chain.apply({ full, hash });
}
