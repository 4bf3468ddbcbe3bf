/** The creation of items: on mempool nodes the client signs, on others the wallet. At an address of both, the request says which. */

import type { FastifyInstance, FastifyPluginCallback } from 'fastify';
import { TesseraError } from '../../../lib/errors.js';
import { addressGroup } from '../../../lib/ip-address.js';
import { clientAddress } from '../../http/client-address.js';
import { idempotencyKeyOf } from '../../http/idempotency-key.js';
import { addRoutes, type Handler } from '../../http/route.js';
import type { Operation } from '../../operation.js';
import { genesisHashSpecOf, itemCreationOf } from '../mempool/handlers.js';
import type { CreateItemRequest } from '../mempool/operations.js';
import { createItem, createTransactions } from '../mempool/operations.js';
import { apiAssetView } from '../views.js';
import { getWallet } from '../wallet/operations.js';

type CreateItem = Handler<typeof createItem>;

/** Operation for the check of keys alone: `api.open_item_creation` opens `createItem` by its id, and never a wallet. */
const createOwnItem: Operation = { ...createItem, id: 'createOwnItem' };

export const itemRoutes: FastifyPluginCallback = (app, _options, done) => {
  const byClient = signedByClient(app);
  const byWallet = signedByWallet(app);

  addRoutes(app, [createItem] as const, {
    createItem(request, reply) {
      if (!isForWallet(app, request.body)) return byClient(request, reply);
      app.authorize(createOwnItem, request);
      return byWallet(request, reply);
    },
  });
  done();
};

/** True for an item that the wallet of this node signs: any item, but beside a mempool node only an item that no client has signed. */
export function isForWallet({ operations }: FastifyInstance, item: Partial<CreateItemRequest>): boolean {
  const { public_key: publicKey, script_public_key: scriptPublicKey, signature } = item;
  const isSigned = Boolean(publicKey || scriptPublicKey || signature);
  return operations.has(getWallet) && !(operations.has(createTransactions) && isSigned);
}

function signedByClient({ services }: FastifyInstance): CreateItem {
  return async (request) => {
    const { body } = request;
    if (idempotencyKeyOf(request) !== undefined) throw noKeysHere();
    const sender = addressGroup(clientAddress(request));
    const { asset, toAddress, txHash } = await services.mempool.createItem(itemCreationOf(body), sender);
    return { asset: apiAssetView(asset), to_address: toAddress, tx_hash: txHash };
  };
}

/** The error for an idempotency key, whose guarantee would be false here: each block has its own transaction for the same item. */
function noKeysHere(): TesseraError {
  return new TesseraError(
    'invalid_request',
    'A mempool node keeps no Idempotency-Key: send the request without it, or to a node with a wallet.',
  );
}

function signedByWallet({ services }: FastifyInstance): CreateItem {
  return async (request, reply) => {
    const { body } = request;
    await services.user.createItem({
      spec: genesisHashSpecOf(body.genesis_hash_spec),
      amount: BigInt(body.item_amount),
      metadata: body.metadata ?? null,
      idempotencyKey: idempotencyKeyOf(request),
    });
    reply.code(202);
    return { item_amount: body.item_amount };
  };
}
