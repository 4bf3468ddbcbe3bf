/**
 * Payments between wallets (decision V15): a payer asks the payee for an address and pays it; for a donation a node offers an address, and
 * gets what the other operator allows. What a peer says is shown, not trusted: funds come from blocks.
 */

import { setMaxListeners } from 'node:events';
import { hasValidAddressLength } from '../chain/address.js';
import { decodeTransaction, encodeTransaction } from '../chain/codec.js';
import { transactionHash } from '../chain/hash.js';
import type { Transaction } from '../chain/types.js';
import { fromHex, toHex } from '../lib/bytes.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { FewLines } from '../lib/few-lines.js';
import { hasWallet } from '../lib/roles.js';
import { SignalSource } from '../lib/signal.js';
import { parseAddress } from '../peers/address.js';
import type { MessageBody } from '../peers/messages.js';
import type { Link, Reply } from '../peers/network.js';
import type { KeepKey } from '../wallet/idempotency-keys.js';
import type { OwnTransaction } from '../wallet/payments/outgoing.js';
import { checkAmount } from '../wallet/payments/payment-builder.js';
import type { PaymentOrder } from '../wallet/payments/payments.js';
import type { UserModules } from './modules.js';

/** Milliseconds to open a link (decision V15). */
const DIAL_TIMEOUT = 5_000;
/** Time limit for an answer of a peer, in ms. */
const ANSWER_TIMEOUT = 10_000;
/** Text instead of the hash of a donation. */
const NOT_PAID = '';

export interface PeerPaymentOptions {
  /** Raw units paid to a peer that asks; 0 refuses. */
  readonly donationAmount: bigint;
  readonly donationsPerPeerPerDay: number;
  /** Number of donations to all peers together. */
  readonly donationsPerDay: number;
}

export interface AnnouncedPayment {
  readonly hash: string;
  readonly peer: string;
}

type PeerOrder = Pick<PaymentOrder, 'address' | 'amount' | 'genesisHash' | 'keep' | 'locktime'>;

interface Waiting {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export class PeerPayments {
  readonly #options: PeerPaymentOptions;
  readonly #modules: UserModules;
  readonly #lines: FewLines;
  readonly #stopping = new AbortController();
  readonly #dialing: Waiting = { timeoutMs: DIAL_TIMEOUT, signal: this.#stopping.signal };
  readonly #waiting: Waiting = { timeoutMs: ANSWER_TIMEOUT, signal: this.#stopping.signal };
  readonly announced: SignalSource<AnnouncedPayment>;

  constructor(options: PeerPaymentOptions, modules: UserModules) {
    const { network, clock, logger } = modules;
    this.#lines = new FewLines(logger, clock);
    this.#options = options;
    this.#modules = modules;
    // Every request under way listens to this signal.
    setMaxListeners(0, this.#stopping.signal);
    this.announced = new SignalSource(logger);
    network.handle('address.get', async (link) => {
      const address = await modules.wallet.peerAddresses.addressFor(link.nodeKey);
      return { type: 'address', body: { address } };
    });
    network.handle('donation.request', (link, { body }) => this.#donate(link, body));
    network.handle('payment.sent', (link, { attachment, body }) => {
      this.#onPaymentSent(link, attachment, body);
      return undefined;
    });
  }

  async payPeer({ address: peer, amount, genesisHash, locktime, keep }: PeerOrder): Promise<OwnTransaction> {
    checkAmount(amount);
    this.#modules.wallet.payments.checkFunds(amount, genesisHash);
    const link = await this.#reach(peer);
    const answer = await this.#ask(peer, link.request('address.get', {}, this.#waiting), 'nothing was paid');
    const address = answer.type === 'address' ? (answer.body as MessageBody<'address'>).address : undefined;
    if (address === undefined || !hasValidAddressLength(address)) {
      throw new TesseraError('peer_unreachable', `${peer} did not answer with an address; nothing was paid`);
    }
    return this.#modules.wallet.payments.pay({ address, amount, genesisHash, locktime, peer, keep });
  }

  /** The peer pays once for an `id`, however often it is asked. What it says is kept with the wallet. */
  async requestDonation(peer: string, id?: string): Promise<void> {
    const { wallet, logger } = this.#modules;
    const link = await this.#reach(peer);
    const address = await wallet.peerAddresses.addressFor(link.nodeKey);
    try {
      const { accepted, reason } = await this.#askForDonation(peer, link, { address, ...(id && { id }) });
      logger.info({ peer, reason }, accepted ? 'a peer gives a donation' : 'a peer has declined to give a donation');
      await wallet.donationRequests.note(peer, accepted ? 'accepted' : 'declined', reason);
    } catch (error) {
      if (isTesseraError(error, 'peer_unreachable')) {
        await wallet.donationRequests.note(peer, 'unanswered', error.message);
      }
      throw error;
    }
  }

  async #askForDonation(
    peer: string,
    link: Link,
    question: MessageBody<'donation.request'>,
  ): Promise<MessageBody<'donation.reply'>> {
    const asked = link.request('donation.request', question, this.#waiting);
    const answer = await this.#ask(peer, asked, 'it may give the donation all the same');
    if (answer.type === 'donation.reply') return answer.body as MessageBody<'donation.reply'>;
    throw new TesseraError('peer_unreachable', `${peer} answered ${answer.type} to a request for a donation`);
  }

  /** Tells the payee of a payment that the mempool has admitted. A payee that cannot be reached will see it in its block. */
  tell({ peer, hash, kind, transaction }: OwnTransaction): void {
    const { network, logger } = this.#modules;
    // Only the mempool node sees a half of a trade. The DRUID is not signed, and without it the half is a payment.
    if (peer === null || kind === 'trade') return;
    if (kind === 'donation') {
      // The peer itself named this address, so it is only looked up, not dialed.
      const link = [...network.links].find((one) => one.address === peer && hasWallet(one.role));
      link?.send('payment.sent', {}, encodeTransaction(transaction));
      return;
    }
    // Another node may be at the address by now; it is told nothing.
    Promise.all([this.#reach(peer), this.#creationOf(transaction)])
      .then(([link, creation]) => link.send('payment.sent', creation, encodeTransaction(transaction)))
      .catch((error: unknown) =>
        logger.info({ peer, hash, error: errorMessage(error) }, 'the payee could not be told'),
      );
  }

  async #creationOf({ outputs: [paid] }: Transaction): Promise<MessageBody<'payment.sent'>> {
    const genesisHash = paid?.value.kind === 'item' ? paid.value.genesisHash : null;
    const creation = genesisHash === null ? undefined : await this.#modules.wallet.items.creationOf(genesisHash);
    return creation === undefined ? {} : { creation: toHex(encodeTransaction(creation)) };
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #reach(peer: string): Promise<Link> {
    parseAddress(peer);
    const link = await this.#modules.network.dial(peer, this.#dialing);
    if (hasWallet(link.role)) return link;
    throw new TesseraError('peer_unreachable', `${peer} is a ${link.role} node; it has no wallet`);
  }

  /** The peer's answer. Every failure is `peer_unreachable`: the peer's codes must not be taken for ours (decision V15). */
  async #ask<T>(peer: string, answer: Promise<T>, consequence: string): Promise<T> {
    try {
      return await answer;
    } catch (cause) {
      if (this.#stopping.signal.aborted) throw new TesseraError('shutting_down', 'the node is stopping', { cause });
      const why = errorMessage(cause);
      throw new TesseraError('peer_unreachable', `${peer} gave no answer: ${why}; ${consequence}`, { cause });
    }
  }

  async #donate(link: Link, { address, id }: MessageBody<'donation.request'>): Promise<Reply<'donation.reply'>> {
    const { wallet } = this.#modules;
    const { donationAmount, donationsPerPeerPerDay, donationsPerDay } = this.#options;
    if (donationAmount === 0n) return donationReply(false, 'this node gives no donations');
    if (!hasValidAddressLength(address)) throw new TesseraError('invalid_request', 'an address has 32 or 64 bytes');
    const limits = { perPeerPerDay: donationsPerPeerPerDay, perDay: donationsPerDay };
    const order = { address, amount: donationAmount, locktime: 0n, peer: link.address };
    const donate = async (keep?: KeepKey): Promise<string> => {
      const made = await wallet.payments.donate({ ...order, keep }, link.nodeKey, limits);
      return made?.hash ?? NOT_PAID;
    };
    try {
      const keyed = { scope: `donation to ${link.nodeKey}`, key: id ?? '', request: [] };
      const paid = await (id === undefined ? donate() : wallet.idempotencyKeys.once(keyed, donate));
      return paid !== NOT_PAID ? donationReply(true, '') : donationReply(false, 'no more donations today');
    } catch (error) {
      // A stranger learns that it is not paid, but nothing about the wallet.
      if (!isTesseraError(error)) throw error;
      this.#lines.about(link).info({ peer: link.address, error: error.message }, 'a donation could not be paid');
      return donationReply(false, 'the donation cannot be paid now');
    }
  }

  #onPaymentSent(link: Link, attachment: Uint8Array, { creation }: MessageBody<'payment.sent'>): void {
    const { wallet } = this.#modules;
    const transaction = decodeTransaction(attachment);
    const isOwn = transaction.outputs.some(({ scriptPublicKey: to }) => to !== null && wallet.keys.owns(to));
    if (!isOwn) return;
    if (creation !== undefined) wallet.items.tell(decodeTransaction(fromHex(creation)));
    const hash = transactionHash(transaction);
    const facts = { hash, peer: link.address };
    this.#lines.about(link).info(facts, 'a peer says that it has paid; the funds come with a block');
    this.announced.emit({ hash, peer: link.address });
  }
}

function donationReply(accepted: boolean, reason: string): Reply<'donation.reply'> {
  return { type: 'donation.reply', body: { accepted, reason } };
}
