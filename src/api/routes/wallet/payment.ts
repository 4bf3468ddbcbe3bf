/** A payment of tokens or items from the wallet of the node, and its answer. */

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { passphraseCaller } from '../../http/access.js';
import { idempotencyKeyOf } from '../../http/idempotency-key.js';
import { temporaryAddressesView } from '../views.js';
import type { PaymentRequest } from './schemas.js';

/** `genesisHash`: pays items of this class instead of tokens. */
export async function pay(
  { user, wallet }: FastifyInstance['services'],
  request: FastifyRequest & { readonly body: PaymentRequest },
  genesisHash?: string,
) {
  const { kind, address, amount, locktime, passphrase } = request.body;
  const order = {
    address,
    amount: BigInt(amount),
    genesisHash,
    locktime: BigInt(locktime ?? 0),
    passphrase,
    caller: passphraseCaller(request),
    idempotencyKey: idempotencyKeyOf(request),
  };
  const made = kind === 'address' ? await user.payAddress(order) : await user.payPeer(order);
  return {
    to_address: address,
    amount:
      genesisHash === undefined
        ? { kind: 'token' as const, amount }
        : { kind: 'item' as const, amount, genesis_hash: genesisHash, metadata: null },
    tx_hash: made?.txHash ?? null,
    ...temporaryAddressesView(wallet.temporaryAddresses.has(address) ? [address] : []),
  };
}
