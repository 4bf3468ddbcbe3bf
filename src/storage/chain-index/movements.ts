/** Movements of one transaction: what it brings to and takes from each address, and its transfers of each item. */

import type { Asset } from '../../chain/types.js';
import type { Party } from './record-bytes.js';
import type { ItemChange, MovementRecord, TransferRecord } from './records.js';
import { MAX_ITEM_MOVEMENTS, MAX_PARTIES } from './service.js';

export class Movement {
  received = 0n;
  sent = 0n;
  readonly #items = new Map<string, ItemChange>();

  get items(): Iterable<ItemChange> {
    return this.#items.values();
  }

  /** Contents of the movement's record. */
  get shown(): Omit<MovementRecord, 'kind'> {
    const { received, sent } = this;
    const items = [...this.#items.values()].slice(0, MAX_ITEM_MOVEMENTS);
    return { received, sent, itemKinds: this.#items.size, items };
  }

  add(asset: Asset, way: 'received' | 'sent'): void {
    if (asset.kind === 'token') {
      this[way] += asset.amount;
      return;
    }
    const genesisHash = asset.genesisHash ?? '';
    const known = this.#items.get(genesisHash);
    const item = known ?? { genesisHash, received: 0n, sent: 0n };
    if (known === undefined) this.#items.set(genesisHash, item);
    item[way] += asset.amount;
  }
}

class Transfer {
  amount = 0n;
  readonly from = new Map<string, bigint>();
  readonly to = new Map<string, bigint>();

  get shown(): Omit<TransferRecord, 'kind'> {
    const { amount, from, to } = this;
    return { amount, fromCount: from.size, from: some(from), toCount: to.size, to: some(to) };
  }
}

export class Movements {
  readonly byAddress = new Map<string, Movement>();
  /** Transfers by genesis hash. */
  readonly byItem = new Map<string, Transfer>();

  /** Counts an input that spends an output of the address. */
  spend(address: string, asset: Asset): void {
    this.#movement(address).add(asset, 'sent');
    if (asset.kind === 'item') add(this.#transfer(asset.genesisHash).from, address, asset.amount);
  }

  /** Counts an output; without an address it belongs to nobody. */
  create(address: string | null, asset: Asset): void {
    if (address !== null) this.#movement(address).add(asset, 'received');
    if (asset.kind !== 'item') return;
    const transfer = this.#transfer(asset.genesisHash);
    transfer.amount += asset.amount;
    if (address !== null) add(transfer.to, address, asset.amount);
  }

  #movement(address: string): Movement {
    const known = this.byAddress.get(address);
    if (known !== undefined) return known;
    const movement = new Movement();
    this.byAddress.set(address, movement);
    return movement;
  }

  #transfer(genesisHash: string | null): Transfer {
    const name = genesisHash ?? '';
    const known = this.byItem.get(name);
    if (known !== undefined) return known;
    const transfer = new Transfer();
    this.byItem.set(name, transfer);
    return transfer;
  }
}

function add(amounts: Map<string, bigint>, address: string, amount: bigint): void {
  amounts.set(address, (amounts.get(address) ?? 0n) + amount);
}

function some(amounts: ReadonlyMap<string, bigint>): Party[] {
  const parties: Party[] = [];
  for (const [address, amount] of amounts) {
    if (parties.length === MAX_PARTIES) break;
    parties.push({ address, amount });
  }
  return parties;
}
