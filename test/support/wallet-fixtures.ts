/** Wallets on real LevelDB in temporary folders, and blocks that pay them. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { coinbaseTransaction } from '../../src/chain/builders.js';
import { blockHash, merkleRoot, transactionHash, txsHash } from '../../src/chain/hash.js';
import type { FullBlock, OutPoint, Transaction, TxOut } from '../../src/chain/types.js';
import type { Kv } from '../../src/db/kv.js';
import { openLevelKv } from '../../src/db/level-kv.js';
import { type Clock, systemClock } from '../../src/lib/clock.js';
import { silentLogger } from '../../src/lib/logger.js';
import { systemRandom } from '../../src/lib/random.js';
import { createWallet, type Wallet, type WalletOptions } from '../../src/wallet/wallet.js';

/** Cheap on purpose: what scrypt costs is tested once, with the real parameters. */
export const TEST_SCRYPT = { n: 16, r: 1, p: 1 };
export const PASSPHRASE = 'a passphrase of the tests';
/** Where the matured coinbases of these tests go when they are nobody's. */
export const NOBODY = '0'.repeat(64);

const folders: string[] = [];

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-wallet-'));
  folders.push(folder);
  return folder;
}

/** Removes every folder that was made; call in `afterAll`. */
export async function removeFolders(): Promise<void> {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
}

export interface OpenWallet {
  readonly wallet: Wallet;
  readonly kv: Kv;
  readonly folder: string;
  close(): Promise<void>;
}

export interface OpenWalletOptions extends Partial<WalletOptions> {
  readonly clock?: Clock;
  /** Goes around the store. */
  readonly wrap?: (kv: Kv) => Kv;
}

export async function openWallet(folder: string, options: OpenWalletOptions = {}): Promise<OpenWallet> {
  const { clock = systemClock, wrap = (kv: Kv) => kv, ...rest } = options;
  const kv = wrap(await openLevelKv(join(folder, 'db'), { createIfMissing: true }));
  try {
    const wallet = await createWallet(
      {
        keystoreFile: join(folder, 'keystore.json'),
        passphrase: PASSPHRASE,
        allowBlankPassphrase: false,
        aggregateAbove: null,
        dust: 1n,
        scryptCost: TEST_SCRYPT,
        ...rest,
      },
      { kv, clock, random: systemRandom, logger: silentLogger },
    );
    const close = async (): Promise<void> => {
      await wallet.close();
      await kv.close();
    };
    return { wallet, kv, folder, close };
  } catch (error) {
    await kv.close();
    throw error;
  }
}

export async function newWallet(options: OpenWalletOptions = {}): Promise<OpenWallet> {
  return openWallet(await temporaryFolder(), options);
}

/** A block with a sound list and header; proof of work is nothing to a wallet. */
export function block(
  bNum: number,
  transactions: readonly Transaction[],
  miningTransaction: Transaction = coinbaseTransaction(BigInt(bNum), 1n, NOBODY),
): { readonly full: FullBlock; readonly hash: string } {
  const hashes = transactions.map((transaction) => transactionHash(transaction));
  const header = {
    version: 6,
    bits: 0n,
    nonce: Uint8Array.of(0),
    miningTxHash: transactionHash(miningTransaction),
    bNum: BigInt(bNum),
    timestamp: 0n,
    difficulty: new Uint8Array(0),
    seedValue: new Uint8Array(0),
    previousHash: null,
    merkleRoot: merkleRoot(hashes),
    txsHash: txsHash(hashes),
  };
  return {
    full: { block: { header, transactions: hashes }, transactions, miningTransaction },
    hash: blockHash(header),
  };
}

/** A transaction out of nowhere that pays these outputs: what others pay to the wallet. */
export function paymentFromOutside(outputs: readonly TxOut[], salt = Math.random()): Transaction {
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
  const { full, hash } = block(wallet.blockNum + 1, [paymentFromOutside(outputs)]);
  await wallet.applyBlock(full, hash);
}
