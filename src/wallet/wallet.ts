/**
 * The wallet of a node: keys, funds and own transactions behind one interface, for the API (`WalletService`), for the user
 * service, which sends what is queued and reports what the chain says, and for the miner, which asks for addresses. It
 * knows no network. Every write is durable when its promise resolves.
 */

import { addressOf } from '../chain/address.js';
import { tokenAsset } from '../chain/assets.js';
import { txOut } from '../chain/builders.js';
import type { WalletSeed } from '../chain/genesis.js';
import type { Transaction } from '../chain/types.js';
import type { ScryptCost } from '../crypto/scrypt.js';
import type { Kv } from '../db/kv.js';
import type { Clock } from '../lib/clock.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import type { Logger } from '../lib/logger.js';
import { createMutex } from '../lib/mutex.js';
import type { Random } from '../lib/random.js';
import { createSignal } from '../lib/signal.js';
import { checkBlock } from './block-check.js';
import { type FundTotals, groupByAddress, openFundBook, type SpentElsewhere } from './coins/fund-book.js';
import { createGuessLimiter } from './keys/guess-limiter.js';
import { openKeyRing } from './keys/key-ring.js';
import { openKeystore } from './keys/keystore.js';
import { FORMAT_KEY } from './layout.js';
import { openMeta } from './meta.js';
import type { Refresher, Wallet } from './node-wallet.js';
import { openDonationLedger } from './payments/donation-ledger.js';
import { type OwnTransaction, openOutgoing } from './payments/outgoing.js';
import { isSamePayment } from './payments/payment-builder.js';
import { Payments } from './payments/payments.js';
import type { KeyPairRecord } from './service.js';
import { createStagedWrites } from './staged-writes.js';

export type { Refresher, Wallet } from './node-wallet.js';

/** Inputs of one transaction: about 200 KB and 30 ms of signing. */
const DEFAULT_MAX_INPUTS = 500;
/** Raw units: a thousandth of a display token. Change below it is avoided where possible. */
const DEFAULT_DUST = 72_072n;

export interface WalletOptions {
  /** Path of the keystore file. */
  readonly keystoreFile: string;
  /** Opens the wallet, or becomes its passphrase when it is new. */
  readonly passphrase: string;
  /** A new wallet may have a blank passphrase: development networks only (decision V25). */
  readonly allowBlankPassphrase: boolean;
  /** Merge small outputs when more spendable token outputs than this are held; null never does. */
  readonly aggregateAbove: number | null;
  readonly maxInputs?: number;
  /** Raw units. */
  readonly dust?: bigint;
  /** Funds and keys that a new wallet starts with (development and test networks). */
  readonly seeds?: readonly WalletSeed[];
  readonly seedKeyPairs?: ReadonlyMap<string, KeyPairRecord>;
  /** Cost of new seals; tests only. */
  readonly scryptCost?: ScryptCost;
}

export interface WalletModules {
  /** The wallet's own store; the wallet does not close it. */
  readonly kv: Kv;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Opens the wallet, or makes it. Throws `wrong_passphrase`, `wallet_unreadable`, `blank_passphrase`, `malformed_key_pair`. */
export async function createWallet(options: WalletOptions, modules: WalletModules): Promise<Wallet> {
  const { kv, clock, random, logger } = modules;
  const writes = createStagedWrites(kv);
  const guesses = createGuessLimiter(clock);
  const keystoreOptions = {
    file: options.keystoreFile,
    passphrase: options.passphrase,
    createIfMissing: (await kv.get(FORMAT_KEY)) === undefined,
    allowBlankPassphrase: options.allowBlankPassphrase,
    ...(options.scryptCost ? { scryptCost: options.scryptCost } : {}),
  };
  const keystore = await openKeystore(keystoreOptions, { random, guesses });
  const keys = await openKeyRing({ kv, writes, keystore, random });
  const meta = await openMeta(kv, writes);
  const book = await openFundBook({ kv, writes, meta, owns: (address) => keys.addresses.has(address) });
  const outgoing = await openOutgoing(kv, writes, meta);
  const donations = await openDonationLedger(kv, writes, clock);
  const limits = { maxInputs: options.maxInputs ?? DEFAULT_MAX_INPUTS, dust: options.dust ?? DEFAULT_DUST };
  const payments = new Payments(
    { limits, aggregateAbove: options.aggregateAbove },
    { book, keys, outgoing, writes, meta, clock },
  );

  const onListenerError = (error: unknown): void => {
    logger.error({ error: errorMessage(error) }, 'a listener of the wallet failed');
  };
  const queued = createSignal<OwnTransaction>(onListenerError);
  const settled = createSignal<OwnTransaction>(onListenerError);
  const changed = createSignal<FundTotals>(onListenerError);
  const merges = createMutex();
  let refresher: Refresher | null = null;
  let closed = false;

  function checkOpen(): void {
    if (closed) throw new TesseraError('shutting_down', 'the wallet is closed');
  }

  async function queue(make: Promise<OwnTransaction>): Promise<OwnTransaction> {
    const made = await make;
    queued.emit(made);
    changed.emit(book.totals());
    return made;
  }

  /** Makes the changes durable and tells of them. */
  async function commit(done: readonly OwnTransaction[] = []): Promise<void> {
    await writes.flush();
    for (const transaction of done) settled.emit(transaction);
    changed.emit(book.totals());
  }

  function settle(hash: string, state: 'confirmed' | 'rejected', reason = ''): readonly OwnTransaction[] {
    const entry = outgoing.mark(hash, state, reason);
    return entry ? [entry] : [];
  }

  /**
   * A block has spent an input of an own transaction by another one. Its signatures cover inputs and outputs only, so one
   * with the same outputs is the same payment under another hash: it is confirmed. Anything else proves that the own
   * transaction can never be in the chain; inputs that are left come back.
   */
  function settleDisplaced({ hash, byHash, by }: SpentElsewhere): readonly OwnTransaction[] {
    const entry = outgoing.get(hash);
    if (entry === undefined) return [];
    book.release(hash, entry.transaction);
    if (isSamePayment(entry.transaction, by)) return settle(hash, 'confirmed');
    return settle(hash, 'rejected', `an input was spent by another transaction: ${byHash}`);
  }

  /** Joins small coins in the background, one merge after the other. */
  function mergeLater(): void {
    void merges.run(async () => {
      if (closed) return;
      try {
        for (const made of await payments.merge()) queued.emit(made);
      } catch (error) {
        logger.warn({ error: errorMessage(error) }, 'small outputs could not be merged; the next block tries again');
      }
    });
  }

  async function requestRefresh(addresses: readonly string[]): Promise<void> {
    if (refresher === null) throw new TesseraError('refresh_failed', 'no mempool node is linked; try again later');
    try {
      await refresher(addresses);
    } catch (cause) {
      throw new TesseraError('refresh_failed', `the refresh could not be requested: ${errorMessage(cause)}`, { cause });
    }
  }

  function loadSeeds(): void {
    const seeds = (options.seeds ?? []).map((seed) => ({
      seed,
      address: addressOf(seed.publicKey, seed.addressVersion),
    }));
    const pairs = new Map<string, KeyPairRecord>(options.seedKeyPairs ?? []);
    for (const { seed, address } of seeds) pairs.set(address, seed);
    keys.importPairs(pairs);
    for (const { seed, address } of seeds)
      book.add({ tHash: seed.tHash, n: seed.n }, txOut(tokenAsset(seed.amount), address));
    meta.update({ seeded: true });
  }

  if (!meta.current.seeded) {
    loadSeeds();
    await writes.flush();
  }

  const concerns = ({ outputs, fees }: Transaction): boolean =>
    [...outputs, ...fees].some(({ scriptPublicKey: to }) => to !== null && keys.addresses.has(to));

  return {
    async info({ page, spent }) {
      const list = spent === true ? await book.spent() : book.unspent(page);
      const { running, available, locked } = book.totals();
      return { addresses: groupByAddress(list), running, available, locked, items: book.items() };
    },
    async newAddress() {
      checkOpen();
      const address = keys.create();
      writes.onFailure(() => keys.discard([address]));
      await writes.flush();
      return address;
    },
    exportKeyPairs: async () => {
      checkOpen();
      return keys.exportPairs();
    },
    async importKeyPairs(pairs) {
      checkOpen();
      const added = [...pairs.keys()].filter((address) => !keys.addresses.has(address));
      const imported = keys.importPairs(pairs);
      writes.onFailure(() => keys.discard(added));
      await writes.flush();
      if (imported.length > 0) await requestRefresh(imported);
      return imported;
    },
    changePassphrase: (oldPassphrase, newPassphrase) => keystore.changePassphrase(oldPassphrase, newPassphrase),
    async outgoing() {
      return (await outgoing.history()).map(({ hash, transaction }) => [hash, transaction] as const);
    },
    async payments({ limit } = {}) {
      return (await outgoing.history(limit)).map(({ transaction, ...entry }) => ({
        ...entry,
        outputs: transaction.outputs.map(({ value, scriptPublicKey: address }) => ({
          address,
          value,
          own: address !== null && keys.addresses.has(address),
        })),
      }));
    },
    async refresh(target) {
      checkOpen();
      const wanted = 'all' in target ? [...keys.addresses.keys()] : target.addresses;
      // Addresses of others are nothing to this wallet; asking for them would only tell the mempool node about them.
      const own = [...new Set(wanted)].filter((address) => keys.addresses.has(address));
      if ('addresses' in target && own.length === 0) {
        throw new TesseraError('no_addresses', 'addresses must name at least one address of this wallet');
      }
      await requestRefresh(own);
    },

    verifyPassphrase: (passphrase) => keystore.verify(passphrase),
    async pay(order) {
      checkOpen();
      return queue(payments.pay(order));
    },
    async donate(order, nodeKey, donationLimits) {
      checkOpen();
      if (!donations.take(nodeKey, donationLimits)) return undefined;
      try {
        return await queue(payments.pay({ ...order, kind: 'donation' }));
      } catch (error) {
        donations.giveBack(nodeKey);
        throw error;
      }
    },
    async createItem(order) {
      checkOpen();
      return queue(payments.createItem(order));
    },

    addresses: () => [...keys.addresses.keys()],
    owns: (address) => keys.addresses.has(address),
    isUsed: (address) => book.isUsed(address),
    totals: () => book.totals(),
    get blockNum() {
      return book.blockNum;
    },

    inFlight: () => [...outgoing.inFlight()],
    inFlightByHash: (hash) => outgoing.get(hash),
    addressesOf(hash) {
      const entry = outgoing.get(hash);
      return entry === undefined ? [] : book.addressesOf(hash, entry.transaction);
    },
    history: () => outgoing.history(),
    takeQueued: () => outgoing.takeQueued(),
    putBack: (hash) => outgoing.putBack(hash),
    async markSent(hash) {
      if (outgoing.mark(hash, 'sent')) await writes.flush();
    },
    async requeue(hash) {
      const entry = outgoing.mark(hash, 'queued');
      if (entry === undefined) return;
      await writes.flush();
      queued.emit(entry);
    },
    async markRejected(hash, reason) {
      const entry = outgoing.get(hash);
      if (entry === undefined) return [];
      const addresses = book.release(hash, entry.transaction);
      await commit(settle(hash, 'rejected', reason));
      return addresses;
    },
    async markConfirmed(hash, { asCopy = false } = {}) {
      const entry = outgoing.get(hash);
      if (entry === undefined) return;
      if (asCopy) book.dropExpected(hash, entry.transaction);
      book.settle(hash, entry.transaction);
      await commit(settle(hash, 'confirmed'));
    },

    async applyBlock(block, hash) {
      checkOpen();
      checkBlock(block, hash, concerns);
      const displaced = book.spentElsewhere(block);
      const outcome = book.applyBlock(block);
      if (outcome === 'gap') return outcome;
      if (outcome === 'known') {
        // A refresh was ahead of the blocks and has brought the funds; the own transactions settle here.
        const late = block.block.transactions.flatMap((name) => outgoing.get(name) ?? []);
        for (const { hash: name, transaction } of late) book.settle(name, transaction);
        for (const { by } of displaced) book.takeSpent(by);
        const done = late.flatMap((entry) => settle(entry.hash, 'confirmed'));
        if (late.length + displaced.length > 0) await commit([...done, ...displaced.flatMap(settleDisplaced)]);
        return outcome;
      }
      const rewarded = block.miningTransaction.outputs.some(
        (output) => output.scriptPublicKey === meta.current.rewardAddress,
      );
      if (meta.current.rewardAddress !== null && rewarded) meta.update({ rewardAddress: null });
      const confirmed = block.block.transactions.flatMap((name) => settle(name, 'confirmed'));
      await commit([...confirmed, ...displaced.flatMap(settleDisplaced)]);
      mergeLater();
      return outcome;
    },
    async replaceAddresses(addresses, utxos, blockNum) {
      checkOpen();
      const own = new Set(addresses.filter((address) => keys.addresses.has(address)));
      if (!book.replaceAddresses(own, utxos, blockNum)) return false;
      await commit();
      return true;
    },
    async advanceTo(blockNum) {
      checkOpen();
      book.advanceTo(blockNum);
      await commit();
      mergeLater();
    },

    setRefresher(next) {
      refresher = next;
    },
    rewards: {
      async address() {
        checkOpen();
        const address = meta.current.rewardAddress ?? keys.create();
        if (meta.current.rewardAddress === null) meta.update({ rewardAddress: address });
        await writes.flush();
        return address;
      },
    },
    queued,
    settled,
    changed,
    async close() {
      if (closed) return;
      closed = true;
      guesses.close();
      await merges.run(() => undefined);
      await writes.flush().finally(() => keystore.close());
    },
  };
}
