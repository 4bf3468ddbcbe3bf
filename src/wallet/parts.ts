/** The parts of a wallet, put together bottom-up. */

import { TimeSlices } from '../lib/time-slices.js';
import { noMetrics } from '../observability/metrics.js';
import { BlockIntake } from './block-intake.js';
import { CoinStore } from './coins/coin-store.js';
import { Coverage } from './coverage.js';
import { DonationQuota, DonationRequests } from './donation-requests.js';
import { History } from './history/history.js';
import { HistoryPages } from './history/history-pages.js';
import { IdempotencyKeys } from './idempotency-keys.js';
import { Items } from './items.js';
import { isNewStore, KeyRing } from './keys/key-ring.js';
import { Keystore } from './keys/keystore.js';
import { OwnOutputs } from './keys/own-outputs.js';
import { Labels } from './labels.js';
import { MetaStore } from './meta.js';
import type { WalletModules, WalletOptions } from './options.js';
import { Merges } from './payments/merges.js';
import { Outgoing } from './payments/outgoing.js';
import { Payments } from './payments/payments.js';
import { Settlement } from './payments/settlement.js';
import { PeerAddresses } from './peer-addresses.js';
import { Trades } from './trades/trades.js';
import { WriteBuffer } from './write-buffer.js';

/** The most inputs of one transaction: about 200 KB and 100 ms of signing. */
const DEFAULT_MAX_INPUTS = 500;
/** Raw units below which change is avoided where possible: a thousandth of a display token. */
const DEFAULT_DUST = 72_072n;

export type Parts = Awaited<ReturnType<typeof openParts>>;

export async function openParts(options: WalletOptions, modules: WalletModules) {
  const { kv, clock, random, logger, metrics = noMetrics } = modules;
  const { keystoreFile: file, spendOwnChange = true, minOutputAmount = 1n } = options;
  const writes = new WriteBuffer(kv, modules.room);
  const keystore = await Keystore.open({ ...options, file, createIfMissing: await isNewStore(kv) }, modules);
  const keys = await KeyRing.open({ kv, writes, keystore });
  const meta = await MetaStore.open(kv, writes);
  const coins = await CoinStore.open({ spendOwnChange }, { kv, writes, meta, owns: (address) => keys.claim(address) });
  const ownOutputs = await OwnOutputs.open({ kv, writes, keys, isUsed: (address) => coins.isUsed(address) });
  const outgoing = await Outgoing.open(kv, writes, meta);
  const owns = (address: string): boolean => keys.owns(address);
  const isCovered = (address: string): boolean => keys.isCovered(address);
  const movements = await History.open(
    { kv, writes, meta, outgoing, owns, isCovered, logger, now: () => clock.now() },
    outgoing.inFlight().map(({ hash }) => hash),
  );
  const labels = await Labels.open(kv, writes);
  const own = { coins, history: movements, keys, meta, outgoing, ownOutputs, writes, clock, logger, metrics };
  const slices = new TimeSlices(clock);
  const settlement = new Settlement(own);
  const limits = { maxInputs: options.maxInputs ?? DEFAULT_MAX_INPUTS, dust: options.dust ?? DEFAULT_DUST };
  const funds = { limits, minOutputAmount, spendOwnChange };
  const donations = await DonationQuota.open(kv, writes, clock);
  const payments = new Payments(funds, { ...own, donations, settlement, slices });
  const merges = new Merges({ ...funds, aggregateAbove: options.aggregateAbove }, { ...own, payments });
  const items = new Items({ kv, coins, writes });
  const storedKeys = { maxKept: options.maxIdempotencyKeys };
  const idempotencyKeys = await IdempotencyKeys.open(storedKeys, { kv, writes, clock, logger });
  const rules = { network: options.networkName ?? '', minOutputAmount };
  return {
    writes,
    keystore,
    keys,
    meta,
    coins,
    movements,
    settlement,
    outgoing,
    payments,
    merges,
    labels,
    items,
    chain: new BlockIntake(options, { ...own, merges, settlement, slices }),
    history: new HistoryPages({ history: movements, idempotencyKeys, labels, outgoing, owns }),
    coverage: new Coverage(options, { ...own, keystore, labels, merges, random }),
    idempotencyKeys,
    trades: await Trades.open(rules, { ...own, kv, payments, settlement, items, random }),
    peerAddresses: await PeerAddresses.open({ kv, writes, keys, coins }),
    donationRequests: await DonationRequests.open({ kv, writes, clock }),
  };
}
