/** Movements of one transaction: what it brings to and takes from each address, and its transfers of each item. */

import type { Asset } from '../../chain/types.js';
import type { Party } from './record-bytes.js';
import type { AddressAccount, ItemChange, MovementRecord, TransferRecord } from './records.js';
import { MAX_ITEM_MOVEMENTS, MAX_PARTIES, type TransactionKind } from './service.js';

export class Movement {
  received = 0n;
  sent = 0n;
  /** Undefined without items, as most are. */
  #items: Map<string, ItemChange> | undefined;

  get items(): Iterable<ItemChange> {
    return this.#items?.values() ?? [];
  }

  /** Contents of the movement's record. */
  record(kind: TransactionKind): MovementRecord {
    const { received, sent } = this;
    const items = this.#items === undefined ? [] : [...this.#items.values()].slice(0, MAX_ITEM_MOVEMENTS);
    return { kind, received, sent, itemKinds: this.#items?.size ?? 0, items };
  }

  add(asset: Asset, way: 'received' | 'sent'): void {
    if (asset.kind === 'token') {
      this[way] += asset.amount;
      return;
    }
    const genesisHash = asset.genesisHash ?? '';
    this.#items ??= new Map();
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
  readonly byAccount = new Map<AddressAccount, Movement>();
  #transfers: Map<string, Transfer> | undefined;

  /** Transfers by genesis hash. */
  get byItem(): Iterable<readonly [genesisHash: string, transfer: Transfer]> {
    return this.#transfers ?? [];
  }

  /** Counts an input that spends an output of the account. */
  spend(account: AddressAccount, asset: Asset): void {
    this.#movement(account).add(asset, 'sent');
    if (asset.kind === 'item') add(this.#transfer(asset.genesisHash).from, account.address, asset.amount);
  }

  /** Counts an output; without an account it belongs to nobody. */
  create(account: AddressAccount | null, asset: Asset): void {
    if (account !== null) this.#movement(account).add(asset, 'received');
    if (asset.kind !== 'item') return;
    const transfer = this.#transfer(asset.genesisHash);
    transfer.amount += asset.amount;
    if (account !== null) add(transfer.to, account.address, asset.amount);
  }

  #movement(account: AddressAccount): Movement {
    const known = this.byAccount.get(account);
    if (known !== undefined) return known;
    const movement = new Movement();
    this.byAccount.set(account, movement);
    return movement;
  }

  #transfer(genesisHash: string | null): Transfer {
    const name = genesisHash ?? '';
    this.#transfers ??= new Map();
    const known = this.#transfers.get(name);
    if (known !== undefined) return known;
    const transfer = new Transfer();
    this.#transfers.set(name, transfer);
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
