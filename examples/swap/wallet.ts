/** The wallet of the page: one key, what it owns, and what it has in trades. In memory only. */

import type { TesseraClient } from 'tessera-node/client';
import {
  type Acceptance,
  type AcceptedOffer,
  type Amount,
  acceptOffer,
  addressOf,
  balanceOf,
  type Confirmation,
  type ConfirmedTrade,
  completeTrade,
  confirmTrade,
  createOffer,
  type Funds,
  HdKeys,
  type KeyPair,
  type Offer,
  proveOutputs,
  type SignedTransaction,
  signItemCreation,
  submitTransactions,
  type UnspentOutput,
  unspentOutputs,
} from 'tessera-node/wallet';

/** Seconds in which an offer can be accepted. */
const VALID_FOR = 3600;

/** What somebody has of a kind of items. */
export interface HeldItem {
  readonly item: string;
  readonly amount: bigint;
  /** Text of whoever has created them. */
  readonly metadata: string | null;
}

export interface Holdings {
  readonly tokens: bigint;
  readonly items: readonly HeldItem[];
}

/** What the next step of a trade gives: a document for the other page, and a transaction that is on its way. */
export interface Step {
  readonly document?: Acceptance | Confirmation;
  readonly sent?: string;
}

interface Confirmed extends ConfirmedTrade {
  readonly offer: Offer;
  readonly acceptance: Acceptance;
}

export class PageWallet {
  readonly address: string;
  readonly #client: TesseraClient;
  readonly #network: string;
  readonly #key: KeyPair;
  /** Outputs that a transaction under way spends, by name. */
  readonly #busy = new Set<string>();
  /** The own offers that nobody has been promised yet, as they were made. */
  readonly #offers = new Map<string, Offer>();
  /** What was confirmed, until the half is sent, by the offer. Another half of other coins could take place beside the first. */
  readonly #confirmed = new Map<string, Confirmed>();
  /** What was accepted, with the half that is kept back until the confirmation comes; by the acceptance. */
  readonly #accepted = new Map<string, AcceptedOffer & { readonly offer: Offer }>();
  readonly #metadata = new Map<string, string | null>();

  private constructor(key: KeyPair, client: TesseraClient, network: string) {
    this.#key = key;
    this.#client = client;
    this.#network = network;
    this.address = addressOf(key.publicKey);
  }

  /** Throws for words that are none. */
  static async open(words: string, client: TesseraClient, network: string): Promise<PageWallet> {
    const keys = await HdKeys.fromMnemonic(words);
    const wallet = new PageWallet(keys.keyPair('receive', 0), client, network);
    keys.wipe();
    return wallet;
  }

  async holdings(): Promise<Holdings> {
    const { unspent } = await this.#funds();
    const names = new Set(unspent.flatMap(({ value }) => (value.kind === 'item' ? [value.genesisHash ?? ''] : [])));
    const items = [...names].map(async (item) => ({
      item,
      amount: balanceOf(unspent, item),
      metadata: await this.#metadataOf(item),
    }));
    return { tokens: balanceOf(unspent), items: await Promise.all(items) };
  }

  async createItems(amount: bigint, metadata: string): Promise<string> {
    const created = await this.#client.createItem(signItemCreation({ amount, metadata }, this.#key));
    if (!('tx_hash' in created)) throw new Error('the node has made them for itself');
    await this.#client.waitForTransaction(created.tx_hash);
    return created.tx_hash;
  }

  offer(give: Amount, want: Amount): Offer {
    const expiresAt = Math.floor(Date.now() / 1000) + VALID_FOR;
    const offer = createOffer({ give, want, key: this.#key, network: this.#network, expiresAt });
    this.#offers.set(offer.nonce, offer);
    return offer;
  }

  /** True for an offer of somebody else, which the user has to agree to. */
  isForeign(offer: Offer): boolean {
    return offer.to !== this.address;
  }

  async accept(offer: Offer): Promise<Step> {
    const parties = { key: this.#key, network: this.#network };
    const accepted = acceptOffer(offer, { ...parties, ...(await this.#funds()) });
    this.#accepted.set(accepted.acceptance.from, { ...accepted, offer });
    this.#take(accepted.half);
    return { document: accepted.acceptance };
  }

  /** Confirms the first acceptance of an own offer, and sends the own half. The same one again sends the same half. */
  async confirm(acceptance: Acceptance): Promise<Step> {
    const funds = await this.#funds();
    const { offer, confirmation, half, ...first } =
      this.#confirmed.get(acceptance.offer) ?? this.#confirmFirst(acceptance, funds);
    if (acceptance.from !== first.acceptance.from) throw new Error('somebody else has accepted this offer before');
    const sent = await this.#send(half);
    // Not before: when the answer is lost, the half is needed again.
    this.#confirmed.delete(acceptance.offer);
    this.#offers.delete(offer.nonce);
    return { document: confirmation, sent };
  }

  #confirmFirst(acceptance: Acceptance, funds: Funds): Confirmed {
    for (const offer of this.#offers.values()) {
      try {
        const confirmed = { ...confirmTrade(acceptance, { offer, key: this.#key, ...funds }), offer, acceptance };
        this.#confirmed.set(acceptance.offer, confirmed);
        this.#take(confirmed.half);
        return confirmed;
      } catch (error) {
        if (!isOfAnotherOffer(error)) throw error;
      }
    }
    throw new Error('this accepts no offer of this page');
  }

  /** Sends the half that was kept back. The same confirmation again sends the same half, until a node has it. */
  async complete(confirmation: Confirmation): Promise<Step> {
    for (const [from, accepted] of this.#accepted) {
      const half = completed(confirmation, accepted);
      if (half === undefined) continue;
      const sent = await this.#send(half);
      // Not before: when the answer is lost, the half is needed again.
      this.#accepted.delete(from);
      return { sent };
    }
    throw new Error('this confirms nothing that this page has accepted');
  }

  async #send(half: SignedTransaction): Promise<string> {
    this.#take(half);
    // Of an output that holds more than the node has said, the rest would be lost.
    await proveOutputs(this.#client, half.spent);
    await submitTransactions(this.#client, [half.transaction]);
    return half.hash;
  }

  #take({ spent }: SignedTransaction): void {
    for (const output of spent) this.#busy.add(nameOf(output));
  }

  async #funds(): Promise<Funds> {
    const unspent = unspentOutputs(await this.#client.getBalances({ address: [this.address] }));
    return { unspent: unspent.filter((output) => !this.#busy.has(nameOf(output))), keys: [this.#key] };
  }

  async #metadataOf(item: string): Promise<string | null> {
    const known = this.#metadata.get(item);
    if (known !== undefined) return known;
    const { metadata } = await this.#client.getItem({ genesis_hash: item }).catch(() => ({ metadata: null }));
    this.#metadata.set(item, metadata);
    return metadata;
  }
}

/** Undefined when the confirmation is of something else. */
function completed(confirmation: Confirmation, accepted: AcceptedOffer & { readonly offer: Offer }) {
  try {
    return completeTrade(confirmation, accepted);
  } catch (error) {
    if (!isOfAnotherOffer(error)) throw error;
    return undefined;
  }
}

function isOfAnotherOffer(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'trade_refused';
}

function nameOf({ outPoint }: UnspentOutput): string {
  return `${outPoint.n}-${outPoint.tHash}`;
}
