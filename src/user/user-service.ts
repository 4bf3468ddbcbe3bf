/** The user role: payments, donations, items and trades of the wallet, over links. The miner runs the same service (decision V22). */

import type { Producers } from '../chain/certificate.js';
import { type Era, eraAt } from '../chain/eras.js';
import { assetJson } from '../chain/json.js';
import { spentOutPoints } from '../chain/transaction.js';
import { sha3Hex } from '../crypto/sha3.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { requireSocketAddress } from '../lib/ip-address.js';
import { Mutex } from '../lib/mutex.js';
import { Failure, type Service } from '../lib/service.js';
import type { Signal } from '../lib/signal.js';
import { CALLERS, type FollowUp, type KeepKey } from '../wallet/idempotency-keys.js';
import type { DonationRequest, PassphraseCaller } from '../wallet/service.js';
import type { Wallet } from '../wallet/wallet.js';
import { MissedBlocks } from './block-source.js';
import { ChainFollower, type MinedBlock } from './chain-follower.js';
import type { UserModules } from './modules.js';
import { OutputProofs } from './output-proofs.js';
import { type AnnouncedPayment, PeerPayments } from './peer-payments.js';
import { Sender } from './sender.js';
import type { AddressPayment, DonationOptions, ItemRequest, TradeInfo, TradeOffer, UserService } from './service.js';
import {
  acceptOffer,
  completeTrade,
  makeOffer,
  sendOffer,
  TradeKeeper,
  type TradeModules,
  tradeInfo,
} from './trade-keeper.js';

/** Default limit of donations to all peers together in a day. */
const DEFAULT_DONATIONS_PER_DAY = 100;

export interface UserServiceOptions {
  /** Configured mempool nodes, `host:port`, as given to the network. Blocks of others are ignored. */
  readonly mempools: readonly string[];
  /** Configured storage nodes, which missed blocks are read from; none by default. */
  readonly storages?: readonly string[];
  /** Keys that must vouch for a mempool node; undefined in a network that names no producers. */
  readonly producers?: Producers | undefined;
  /** Rules by height; ours by default. */
  readonly eras?: readonly Era[];
  /** Raw units paid to a peer that asks for a donation; 0 refuses. */
  readonly donationAmount: bigint;
  readonly donationsPerPeerPerDay: number;
  readonly donationsPerDay?: number;
}

export interface UserServiceModules extends UserModules {
  readonly onRefresh?: ((done: number, total: number) => void) | undefined;
  readonly onMissed?: ((done: number, total: number) => void) | undefined;
}

export class RunningUserService implements UserService, Service {
  readonly #eras: readonly Era[];
  readonly #wallet: Wallet;
  readonly #proofs: OutputProofs | undefined;
  readonly #follower: ChainFollower;
  readonly #peers: PeerPayments;
  readonly #sender: Sender;
  readonly #keeper: TradeKeeper;
  readonly #trading: TradeModules;
  readonly #failure = new Failure();
  readonly #abandoning = new Mutex();
  #unsubscribe: (() => void) | undefined;

  /** Registers its message handlers at once, so construct it before the network starts. */
  constructor(options: UserServiceOptions, modules: UserServiceModules) {
    const { donationsPerDay = DEFAULT_DONATIONS_PER_DAY } = options;
    this.#eras = options.eras ?? [];
    this.#wallet = modules.wallet;
    const { mempools, storages = [], producers } = options;
    const missed = new MissedBlocks({ storages, producers }, modules);
    const canProve = storages.length > 0 && producers !== undefined;
    this.#proofs = canProve ? new OutputProofs({ storages, producers }, modules) : undefined;
    const chain = { missed, proofs: this.#proofs };
    this.#follower = new ChainFollower({ mempools, producers }, { ...modules, ...chain });
    this.#peers = new PeerPayments({ ...options, donationsPerDay }, modules);
    this.#sender = new Sender({
      ...modules,
      link: () => this.#follower.link,
      admitted: (transaction) => this.#peers.tell(transaction),
      contested: (hash, refusal) => this.#follower.investigate(hash, refusal),
      unreachable: (link) => this.#follower.doubt(link),
    });
    this.#keeper = new TradeKeeper({ ...modules, lookUp: (hash) => this.#follower.investigate(hash) });
    const { wallet, network, clock } = modules;
    this.#trading = { wallet, network, clock, keeper: this.#keeper };
  }

  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** True when the wallet is in step with the chain over a link to a mempool node. */
  get inStep(): boolean {
    return this.#follower.link !== undefined;
  }

  get problem(): string | null {
    return this.#follower.problem;
  }

  /** Outputs that a mempool node has named and no block has shown yet: they are not counted. */
  get unproven(): number {
    return this.#proofs?.open ?? 0;
  }

  /** Emits payments to this wallet that a peer announces. */
  get announced(): Signal<AnnouncedPayment> {
    return this.#peers.announced;
  }

  get blockMined(): Signal<MinedBlock> {
    return this.#follower.blockMined;
  }

  async start(): Promise<void> {
    this.#wallet.setRefresher(async (addresses) => this.#follower.requestRefresh(addresses));
    const offs = [
      this.#follower.ready.on(() => this.#sender.wake()),
      this.#follower.blockMined.on(() => this.#sender.blockCame()),
      this.#wallet.settlement.changed.on(() => this.#proofs?.wake()),
      ...(this.#proofs === undefined ? [] : [this.#proofs.taken.on(() => this.#follower.findMore())]),
    ];
    this.#unsubscribe = () => offs.forEach((off) => void off());
    this.#follower.start();
    this.#sender.start();
    this.#keeper.start();
  }

  /** Stops sending; queued payments are sent after the next start. Stop this before the network and the wallet. */
  async stop(): Promise<void> {
    this.#wallet.setRefresher(null);
    this.#unsubscribe?.();
    this.#peers.stop();
    await this.#keeper.stop();
    await this.#sender.stop();
    await this.#proofs?.stop();
    await this.#follower.stop();
  }

  async payAddress({
    passphrase,
    caller,
    idempotencyKey,
    ...order
  }: AddressPayment): Promise<{ readonly txHash: string }> {
    // The passphrase is checked first, for repetitions too, and is no part of the request that a key stands for.
    await this.#wallet.keystore.verify(passphrase, caller);
    const txHash = await this.#once(idempotencyKey, wordsOf('address', order), async (keep) => {
      const { hash } = await this.#wallet.payments.pay({ ...order, keep });
      return hash;
    });
    return { txHash };
  }

  async payPeer({ passphrase, caller, idempotencyKey, ...order }: AddressPayment): Promise<void> {
    // The passphrase comes first for both kinds of payment (docs/clients.md#payments).
    await this.#wallet.keystore.verify(passphrase, caller);
    requireSocketAddress(order.address);
    await this.#once(idempotencyKey, wordsOf('ip', order), async (keep) => {
      const { hash } = await this.#peers.payPeer({ ...order, keep });
      return hash;
    });
  }

  abandonPayment(txHash: string): Promise<void> {
    const modules = { wallet: this.#wallet, sender: this.#sender, follower: this.#follower };
    return this.#abandoning.run(() => abandonPayment(txHash, modules));
  }

  async requestDonation(peer: string, { idempotencyKey }: DonationOptions = {}): Promise<void> {
    if (idempotencyKey === undefined) return this.#peers.requestDonation(peer);
    const request = ['donation', peer];
    // The peer pays once for an id, so that a repetition after a crash is not paid again.
    const id = sha3Hex(JSON.stringify([...request, idempotencyKey]));
    const keyed = { scope: CALLERS, key: idempotencyKey, request };
    return this.#wallet.idempotencyKeys.onceDone(keyed, () => this.#peers.requestDonation(peer, id));
  }

  donationRequests(limit: number): readonly DonationRequest[] {
    return this.#wallet.donationRequests.list(limit);
  }

  async createItem({ idempotencyKey, ...order }: ItemRequest): Promise<{ readonly txHash: string }> {
    const { spec, amount, metadata } = order;
    if (eraAt(this.#eras, this.#wallet.chain.height + 1).isOriginal) {
      const message = 'this network takes new items only at POST /create_item_asset of an original mempool node';
      throw new TesseraError('payment_refused', message);
    }
    const txHash = await this.#once(idempotencyKey, ['item', spec, amount, metadata], async (keep) => {
      const { hash } = await this.#wallet.payments.createItem({ ...order, keep });
      return hash;
    });
    return { txHash };
  }

  async offerTrade({ passphrase, caller, idempotencyKey, ...offer }: TradeOffer): Promise<TradeInfo> {
    await this.#wallet.keystore.verify(passphrase, caller);
    const words = [
      'trade',
      offer.peer,
      offer.isReachable,
      offer.validFor,
      assetJson(offer.give),
      assetJson(offer.want),
    ];
    const { peer } = offer;
    const make = (keep?: KeepKey) => makeOffer(offer, keep, this.#trading);
    const send: FollowUp = async (made, free) => {
      if (peer !== null) await sendOffer(made, peer, free, this.#trading);
    };
    const id = await this.#once(idempotencyKey, words.map(String), make, send);
    return this.trade(id);
  }

  async acceptTrade(offer: unknown, passphrase: string, caller?: PassphraseCaller): Promise<TradeInfo> {
    await this.#wallet.keystore.verify(passphrase, caller);
    return acceptOffer(offer, this.#trading);
  }

  completeTrade(document: unknown): Promise<TradeInfo> {
    return completeTrade(document, this.#trading);
  }

  async cancelTrade(id: string): Promise<TradeInfo> {
    return tradeInfo(await this.#wallet.trades.cancel(id));
  }

  trades(): readonly TradeInfo[] {
    return this.#wallet.trades.list().map(tradeInfo);
  }

  trade(id: string): TradeInfo {
    return tradeInfo(this.#wallet.trades.get(id));
  }

  async #once(
    key: string | undefined,
    words: readonly (string | bigint | null)[],
    make: (keep?: KeepKey) => Promise<string>,
    follow?: FollowUp,
  ): Promise<string> {
    if (key === undefined) {
      const name = await make();
      await follow?.(name, () => undefined);
      return name;
    }
    const request = words.map((word) => (word === null ? word : String(word)));
    return this.#wallet.idempotencyKeys.once({ scope: CALLERS, key, request }, make, follow);
  }
}

/** Fields of a payment that tell whether a request repeats it. */
function wordsOf(
  kind: 'address' | 'ip',
  { address, amount, genesisHash, locktime }: Omit<AddressPayment, 'passphrase' | 'caller' | 'idempotencyKey'>,
): readonly (string | bigint)[] {
  const asset = genesisHash === undefined ? [] : [genesisHash];
  return ['payment', kind, address, amount, locktime, ...asset];
}

const REASON = 'abandoned before a mempool node had admitted it';

interface AbandonModules {
  readonly wallet: Wallet;
  readonly sender: Sender;
  readonly follower: ChainFollower;
}

/** Gives a payment up. Throws `payment_not_found`, `payment_sent`, `mempool_unreachable` for no word of the chain, `wallet_write_failed`. */
async function abandonPayment(hash: string, { wallet, sender, follower }: AbandonModules): Promise<void> {
  const family = wallet.settlement.familyOf(hash);
  const hashes = family.map((one) => one.hash);
  if (hashes.length === 0) {
    throw new TesseraError(
      'payment_not_found',
      `no payment ${hash.slice(0, 64)} waits to be sent; the history shows what became of it`,
    );
  }
  sender.withhold(hashes);
  try {
    const exposed = hashes.map((one) => sender.exposureOf(one));
    if (exposed.includes('out')) throw sent(hash);
    if (exposed.includes('refused')) {
      // A creation of items has no input whose spending would show in the chain.
      if (family.some(({ transaction }) => spentOutPoints(transaction).length === 0)) throw sent(hash);
      // The payment was refused. Only the chain can say that no block has it from an earlier attempt.
      const findings = await look(hashes, follower);
      if (hashes.some((one) => findings.get(one) !== 'absent')) throw sent(hash);
    }
    // Payments that spend its change are given up too: they cannot have been sent before it.
    if (wallet.settlement.familyOf(hash).some(({ state }) => state !== 'queued')) throw sent(hash);
    await wallet.settlement.markRejected(hash, REASON).catch(notWritten);
  } finally {
    sender.letGo(hashes);
  }
}

async function look(hashes: readonly string[], follower: ChainFollower): ReturnType<ChainFollower['look']> {
  try {
    return await follower.look(hashes);
  } catch (cause) {
    const why = `the mempool node cannot be asked now, so nothing was abandoned: ${errorMessage(cause)}`;
    throw new TesseraError('mempool_unreachable', why, { cause });
  }
}

/** Reports that the end of the payment is only in memory: the next write has it, and a crash before that leaves it queued. */
function notWritten(cause: unknown): never {
  if (!isTesseraError(cause, 'wallet_write_failed')) throw cause;
  const what = 'the payment is abandoned once it can be: the history says so then';
  throw new TesseraError('wallet_write_failed', `${cause.message}; ${what}`, { cause });
}

function sent(hash: string): TesseraError {
  return new TesseraError(
    'payment_sent',
    `${hash} was sent, and may be in a block yet: it cannot be abandoned; wait for the history to say what became of it`,
  );
}
