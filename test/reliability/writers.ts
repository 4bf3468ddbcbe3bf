/** Writers beside those of the soak test: wallets that make an address for each payment, and a client that creates items. */

import { itemAsset } from '../../src/chain/assets.js';
import { assetSignable } from '../../src/chain/signable.js';
import type { NodeClient } from '../../src/client/client.js';
import type { DevAccount } from '../../src/config/dev-accounts.js';
import { sign } from '../../src/crypto/ed25519.js';
import { toHex } from '../../src/lib/bytes.js';
import type { Writer } from '../soak/writers.js';
import type { Effects } from './effects.js';

/** Raw units of a payment. */
const PAYMENT = 50_000n;
const ITEMS = 10n;

/** The wallet of one node pays the wallet of another, to a new address each time. */
export class AddressWriter implements Writer {
  readonly name: string;
  readonly #payer: NodeClient;
  readonly #payee: { readonly name: string; readonly client: NodeClient };
  readonly #effects: Effects;

  constructor(name: string, payer: NodeClient, payee: { name: string; client: NodeClient }, effects: Effects) {
    this.name = name;
    this.#payer = payer;
    this.#payee = payee;
    this.#effects = effects;
  }

  async send(): Promise<string> {
    const { address } = await this.#payee.client.api.createWalletAddress();
    this.#effects.addressMade(this.#payee.name, address);
    const { tx_hash: hash } = await this.#payer.api.createPayment({
      body: { kind: 'address', address, amount: PAYMENT, passphrase: '' },
    });
    if (hash === null) throw new Error('a payment without a hash');
    return hash;
  }
}

/** A client that signs item creations; each makes a class of items of its own. */
export class ItemWriter implements Writer {
  readonly name = 'items';
  readonly #mempool: NodeClient;
  readonly #owner: DevAccount;
  readonly #effects: Effects;

  constructor(mempool: NodeClient, owner: DevAccount, effects: Effects) {
    this.#mempool = mempool;
    this.#owner = owner;
    this.#effects = effects;
  }

  async send(): Promise<string> {
    const { keyPair, address } = this.#owner;
    const answer = await this.#mempool.api.createItem({
      body: {
        genesis_hash_spec: 'Create',
        item_amount: Number(ITEMS),
        public_key: toHex(keyPair.publicKey),
        script_public_key: address,
        signature: toHex(sign(keyPair.seed, assetSignable(itemAsset(ITEMS, null)))),
      },
    });
    if (!('tx_hash' in answer)) throw new Error('an item without a hash');
    this.#effects.itemsMade(answer.tx_hash, ITEMS);
    return answer.tx_hash;
  }
}
