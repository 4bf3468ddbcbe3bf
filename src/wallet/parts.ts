/** The parts of a wallet, put together bottom-up. */

import type { Producers } from '../chain/certificate.js';
import type { Transaction } from '../chain/types.js';
import type { ScryptCost } from '../crypto/scrypt.js';
import type { Room } from '../db/disk-room.js';
import type { Kv } from '../db/kv.js';
import type { Clock } from '../lib/clock.js';
import type { Logger } from '../lib/logger.js';
import type { Random } from '../lib/random.js';
import { TimeSlices } from '../lib/time-slices.js';
import { DoubleSigning } from '../observability/double-signing.js';
import { type Metrics, noMetrics } from '../observability/metrics.js';
import { BlockIntake } from './block-intake.js';
import { CoinStore } from './coins/coin-store.js';
import { Coverage } from './coverage.js';
import { DonationRequests } from './donation-requests.js';
import { History } from './history/history.js';
import { Records } from './history/records.js';
import { Items } from './items.js';
import { KeyRing } from './keys/key-ring.js';
import { Keystore } from './keys/keystore.js';
import { OwnOutputs } from './keys/own-outputs.js';
import { PassphraseLimiter } from './keys/passphrase-limiter.js';
import { Labels } from './labels.js';
import { FORMAT_KEY } from './layout.js';
import { MetaStore } from './meta.js';
import { DonationQuota } from './payments/donation-quota.js';
import { Intents } from './payments/intents.js';
import { Outgoing } from './payments/outgoing.js';
import { Payments } from './payments/payments.js';
import { Settlement } from './payments/settlement.js';
import { PeerAddresses } from './peer-addresses.js';
import type { NewWallet } from './seeds.js';
import { Trades } from './trades/trades.js';
import { Transfers } from './transfers.js';
import { WriteBuffer } from './write-buffer.js';

/** Inputs of one transaction: about 200 KB and 100 ms of signing. */
const DEFAULT_MAX_INPUTS = 500;
/** Raw units: a thousandth of a display token. Change below it is avoided where possible. */
const DEFAULT_DUST = 72_072n;

export interface WalletOptions extends NewWallet {
  /** Path of the keystore file. */
  readonly keystoreFile: string;
  /** Stands in its backup files; empty in tests. */
  readonly networkName?: string;
  /** Opens the wallet; for a new wallet, becomes its passphrase. */
  readonly passphrase: string;
  /** A new wallet may have a blank passphrase: development networks only (decision V25). */
  readonly allowBlankPassphrase: boolean;
  /** The file keeps its passphrase, and a change of it holds until the wallet is closed: development networks only. */
  readonly keepsPassphrase?: boolean;
  /** Merge small outputs when more spendable token outputs than this are held; null never does. */
  readonly aggregateAbove: number | null;
  /** Spend outputs of own transactions that no block has yet; true by default. */
  readonly spendOwnChange?: boolean;
  /** Blocks after this one carry a difficulty target; without it none does. */
  readonly activationHeight?: number;
  /** Who signs blocks; undefined in a network that names none. */
  readonly producers?: Producers | undefined;
  /** The transactions of the genesis file, which block 0 must have. */
  readonly genesis?: ReadonlyMap<string, Transaction>;
  readonly maxInputs?: number;
  /** Raw units. */
  readonly dust?: bigint;
  /** Raw units that a token output has at least in this network; 1 by default (decision B18). */
  readonly minOutputAmount?: bigint;
  /** Idempotency keys that are kept at most. */
  readonly maxIntents?: number;
  /** Cost of new seals; tests only. */
  readonly scryptCost?: ScryptCost;
}

export interface WalletModules {
  /** The wallet's own store; the wallet does not close it. */
  readonly kv: Kv;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** Room on the disk; unlimited when left out. */
  readonly room?: Room;
  /** How the folder of the keystore is synced; tests make it fail. */
  readonly syncFolder?: (folder: string) => Promise<void>;
}

export interface Parts {
  readonly writes: WriteBuffer;
  readonly limiter: PassphraseLimiter;
  readonly keystore: Keystore;
  readonly keys: KeyRing;
  readonly meta: MetaStore;
  readonly coins: CoinStore;
  readonly history: History;
  readonly coverage: Coverage;
  readonly records: Records;
  readonly settlement: Settlement;
  readonly transfers: Transfers;
  readonly intents: Intents;
  readonly items: Items;
  readonly trades: Trades;
  readonly chain: BlockIntake;
  readonly peerAddresses: PeerAddresses;
  readonly donationRequests: DonationRequests;
}

export async function openParts(options: WalletOptions, modules: WalletModules): Promise<Parts> {
  const { kv, clock, random, logger, metrics = noMetrics } = modules;
  const writes = new WriteBuffer(kv, modules.room);
  const limiter = new PassphraseLimiter(clock);
  const keystore = await Keystore.open(
    {
      file: options.keystoreFile,
      passphrase: options.passphrase,
      createIfMissing: (await kv.get(FORMAT_KEY)) === undefined,
      allowBlankPassphrase: options.allowBlankPassphrase,
      keepsPassphrase: options.keepsPassphrase === true,
      words: options.words,
      ...(options.scryptCost ? { scryptCost: options.scryptCost } : {}),
    },
    { random, limiter, logger, ...(modules.syncFolder ? { syncFolder: modules.syncFolder } : {}) },
  );
  const keys = await KeyRing.open({ kv, writes, keystore });
  const meta = await MetaStore.open(kv, writes);
  const { spendOwnChange = true, minOutputAmount = 1n, aggregateAbove, networkName: network = '' } = options;
  const coins = await CoinStore.open({ spendOwnChange }, { kv, writes, meta, owns: (address) => keys.claim(address) });
  const ownOutputs = await OwnOutputs.open({ kv, writes, keys, isUsed: (address) => coins.isUsed(address) });
  const peerAddresses = await PeerAddresses.open({ kv, writes, keys, coins });
  const outgoing = await Outgoing.open(kv, writes, meta);
  const owns = (address: string): boolean => keys.owns(address);
  const isCovered = (address: string): boolean => keys.isCovered(address);
  const inFlight = [...outgoing.inFlight()].map(({ hash }) => hash);
  const history = await History.open(
    { kv, writes, meta, outgoing, owns, isCovered, logger, now: () => clock.now() },
    inFlight,
  );
  const labels = await Labels.open(kv, writes);
  const records = new Records({ history, labels, outgoing, writes, owns });
  const donations = await DonationQuota.open(kv, writes, clock);
  const donationRequests = await DonationRequests.open({ kv, writes, clock });
  const intents = await Intents.open({ maxKept: options.maxIntents }, { kv, writes, clock, logger });
  const slices = new TimeSlices(clock);
  const limits = { maxInputs: options.maxInputs ?? DEFAULT_MAX_INPUTS, dust: options.dust ?? DEFAULT_DUST };
  const own = { coins, keys, ownOutputs, outgoing, history, writes, clock };
  const payments = new Payments({ limits, aggregateAbove, minOutputAmount, spendOwnChange }, { ...own, meta, slices });
  const settlement = new Settlement({ coins, outgoing, ownOutputs, history, writes, metrics, logger });
  const transfers = new Transfers({ coins, outgoing, donations, payments, settlement, writes, logger });
  const coverage = new Coverage(options, { coins, keys, keystore, labels, meta, transfers, writes, random, clock });
  const doubleSigning = new DoubleSigning({ logger, metrics });
  const following = { coins, history, keys, meta, settlement, slices, transfers, writes, doubleSigning };
  const chain = new BlockIntake(options, following);
  const items = new Items({ kv, coins, writes });
  const trading = { ...own, kv, payments, settlement, items, random, logger };
  const trades = await Trades.open({ network, minOutputAmount }, trading);
  const answers = {
    coverage,
    records,
    settlement,
    transfers,
    intents,
    items,
    trades,
    chain,
    peerAddresses,
    donationRequests,
  };
  return { writes, limiter, keystore, keys, meta, coins, history, ...answers };
}
