/** Compares the coins of a wallet, without its passphrase, with an archive or a running mempool node, which may be ahead. */

import type { BalancesResponse } from '../../api/routes/mempool/operations.js';
import { withFixedHash } from '../../chain/assets.js';
import { outPointKey } from '../../chain/transaction.js';
import type { NodeClient } from '../../client/client.js';
import { prefixRange } from '../../db/keys.js';
import type { Kv } from '../../db/kv.js';
import { TesseraError } from '../../lib/errors.js';
import { type Coin, decodeCoin } from '../../wallet/coins/coin.js';
import { keyText, PREFIX } from '../../wallet/layout.js';
import { readMeta } from '../../wallet/meta.js';
import { type ArchiveAccount, disagreement } from './archive-account.js';

/** Returns the number of common coins. Throws `data_corrupt` at the first coin that only one side has, `data_lost`, `aborted`. */
export async function holdWalletAgainst(
  archive: ArchiveAccount,
  kv: Kv,
  onProgress: (outputs: number) => void,
  signal: AbortSignal,
): Promise<number> {
  const { block, blockHash } = await readMeta(kv);
  await archive.holdHead('the wallet', block, blockHash);
  const later = await archive.after(block);
  const coins = await coinsIn(kv);
  const addresses = await addressesIn(kv);
  let same = 0;
  let seen = 0;
  for await (const [outPoint, txOut] of archive.unspent()) {
    if (signal.aborted) throw new TesseraError('aborted', 'the check was cancelled');
    onProgress(++seen);
    const { scriptPublicKey: address } = txOut;
    if (address === null || !addresses.has(address)) continue;
    const key = outPointKey(outPoint);
    const coin = coins.get(key);
    if (coin === undefined) {
      if (later.madeBy.has(outPoint.tHash)) continue;
      throw disagreement(`the wallet does not know ${key}, which is unspent at its address ${address}: refresh it`);
    }
    const { amount } = withFixedHash(txOut.value, outPoint);
    if (coin.amount !== amount || coin.address !== address) {
      throw disagreement(`the wallet has ${coin.amount} in ${key}, and the archive ${amount} at ${address}`);
    }
    coins.delete(key);
    same++;
  }
  for (const { key, inChain } of coins.values()) {
    if (inChain && !later.spent.has(key)) {
      throw disagreement(`the wallet counts ${key}, which is not unspent in the archive: refresh the wallet`);
    }
  }
  return same;
}

/** The coins of a wallet, by the keys of their outpoints. */
export async function coinsIn(kv: Kv): Promise<Map<string, Coin>> {
  const coins = new Map<string, Coin>();
  for await (const [key, record] of kv.entries(prefixRange(PREFIX.outpoint))) {
    coins.set(keyText(key), decodeCoin(keyText(key), record));
  }
  return coins;
}

/** The addresses of a wallet. */
export async function addressesIn(kv: Kv): Promise<Set<string>> {
  const addresses = new Set<string>();
  for await (const [key] of kv.entries(prefixRange(PREFIX.key))) addresses.add(keyText(key));
  return addresses;
}

const ADDRESSES_AT_ONCE = 100;

type Balances = BalancesResponse['balance']['address_list'];

/**
 * Gives the number of equal outputs, and of those that the wallet has not seen yet. Throws `data_corrupt` at a coin that the node does not
 * have or has otherwise, `node_unreachable`, `aborted`.
 */
export async function holdWalletAgainstNode(
  { api }: Pick<NodeClient, 'api'>,
  kv: Kv,
  onProgress: (outputs: number) => void,
  signal: AbortSignal,
) {
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
    // A spend by the wallet itself may be in a block by now.
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
