/**
 * The coins of a wallet against a mempool node that runs, by its API, without the passphrase of the wallet: for when no archive is at
 * hand. The node is where the chain is now, and the wallet where it was stopped, so the node may have more.
 */

import type { BalancesResponse } from '../../api/routes/mempool/schemas.js';
import { outPointKey } from '../../chain/transaction.js';
import type { NodeClient } from '../../client/client.js';
import type { Kv } from '../../db/kv.js';
import { TesseraError } from '../../lib/errors.js';
import { disagreement } from './archive-account.js';
import { addressesIn, coinsIn } from './wallet-against-archive.js';

/** Addresses in one question. */
const ADDRESSES_AT_ONCE = 100;

type Balances = BalancesResponse['balance']['address_list'];

export interface ComparedWallet {
  /** Coins that both have. */
  readonly same: number;
  /** Outputs of the node at addresses of the wallet that the wallet does not know. */
  readonly unknown: number;
}

/** Throws `data_corrupt` at a coin that the node does not have or has otherwise, `node_unreachable`, `aborted`. */
export async function holdWalletAgainstNode(
  { api }: Pick<NodeClient, 'api'>,
  kv: Kv,
  onProgress: (outputs: number) => void,
  signal: AbortSignal,
): Promise<ComparedWallet> {
  const coins = await coinsIn(kv);
  const addresses = [...(await addressesIn(kv))];
  let same = 0;
  let unknown = 0;
  for (let from = 0; from < addresses.length; from += ADDRESSES_AT_ONCE) {
    if (signal.aborted) throw new TesseraError('aborted', 'the check was cancelled');
    const asked = addresses.slice(from, from + ADDRESSES_AT_ONCE);
    const { balance } = await api.queryBalances({ body: { addresses: asked } }, { signal });
    for (const { key, address, amount } of outputsIn(balance.address_list)) {
      const coin = coins.get(key);
      if (coin !== undefined && (coin.amount !== amount || coin.address !== address)) {
        throw disagreement(`the wallet has ${coin.amount} in ${key}, and the node ${amount} at ${address}`);
      }
      if (coin === undefined) unknown++;
      else same++;
      coins.delete(key);
      onProgress(same + unknown);
    }
  }
  for (const { key, state } of coins.values()) {
    // What the wallet has spent itself may be in a block meanwhile.
    if (state !== 'unspent') continue;
    throw disagreement(
      `the wallet counts on ${key}, which is not unspent on the node: start it, then refresh the wallet`,
    );
  }
  return { same, unknown };
}

function* outputsIn(balances: Balances) {
  for (const [address, outputs] of Object.entries(balances)) {
    for (const { out_point: outPoint, value } of outputs) {
      const amount = 'Token' in value ? value.Token : value.Item.amount;
      yield { key: outPointKey({ tHash: outPoint.t_hash, n: outPoint.n }), address, amount: BigInt(amount) };
    }
  }
}
