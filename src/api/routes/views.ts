/** Views of the results of services, for clients: assets, outpoints, balances. Maps stay maps and keep their order. */

import { assetView, outPointView } from '../../chain/json.js';
import type { Asset, OutPoint } from '../../chain/types.js';
import type { Balances } from '../../mempool/service.js';
import { LazyList, LazyMap } from '../http/long-answers.js';

/** An asset in the tagged form of the /v1 family. */
export function apiAssetView(asset: Asset) {
  if (asset.kind === 'token') return { kind: 'token' as const, amount: asset.amount };
  const { amount, genesisHash, metadata } = asset;
  return { kind: 'item' as const, amount, genesis_hash: genesisHash, metadata };
}

function outpointEntryView({ outPoint, value }: { readonly outPoint: OutPoint; readonly value: Asset }) {
  return { out_point: outPointView(outPoint), value: assetView(value) };
}

/** Outpoints by address, in the order of the map. */
export function addressListView(
  addresses: ReadonlyMap<string, Iterable<{ readonly outPoint: OutPoint; readonly value: Asset }>>,
) {
  return LazyMap.of(addresses, (outputs) => LazyList.of(outputs, outpointEntryView));
}

/** A balance in the form of both route families (decisions V5, V6). */
export function balanceView({ addresses, tokens, items }: Balances) {
  return { address_list: addressListView(addresses), total: { tokens, items } };
}

const MAX_TEMPORARY = 1_000;

/** The member of an answer that names temporary addresses; absent when there are none. */
export function temporaryAddressesView(addresses: Iterable<string>): { readonly temporary_addresses?: string[] } {
  const named = [...addresses].slice(0, MAX_TEMPORARY);
  return named.length === 0 ? {} : { temporary_addresses: named };
}
