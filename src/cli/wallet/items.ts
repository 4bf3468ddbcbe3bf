/** `tessera wallet items`: the items that the wallet holds, with their metadata. */

import { getItem } from '../../api/routes/storage/operations.js';
import { getWalletItems } from '../../api/routes/wallet/operations.js';
import type { NodeClient } from '../../client/client.js';
import { isTesseraError } from '../../lib/errors.js';
import { flag, type OwnCommand, printed } from '../command.js';
import { checkUrl, publicClient } from '../node-access.js';
import { right, table } from '../output.js';
import { connect, NODE_EXITS, NODE_FLAGS } from './connection.js';

type Item = Awaited<ReturnType<typeof read>>[number];

export const command: OwnCommand = {
  spec: {
    description: [
      'Items of a class share a genesis hash: the hash of the transaction that created them. Only that transaction ' +
        'has their metadata. The wallet knows the metadata if it created the items, or if their payer has shown it. ' +
        'With --storage it asks a storage node for the others.',
    ],
    flags: [...NODE_FLAGS, flag('--storage URL', 'Base URL of a storage node, such as http://127.0.0.1:3001.')],
    examples: {
      'tessera wallet items': 'Shows the items of the user node on this machine.',
      'tessera wallet items --storage http://127.0.0.1:3001': 'The same, with the metadata of all of them.',
    },
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const client = connect(args, context);
    const named = args.value('storage');
    const storage = named === undefined ? undefined : publicClient(checkUrl(named, 'storage'), args, context);
    const items = await read(client, storage);
    return printed(args, context, { items }, items.length === 0 ? 'no items' : shown(items));
  },
};

async function read(client: NodeClient, storage: NodeClient | undefined) {
  const { items } = await client.call(getWalletItems, {});
  if (storage === undefined) return items;
  const found = [];
  for (const item of items) {
    found.push(item.metadata === null ? { ...item, metadata: await ask(storage, item.genesis_hash) } : item);
  }
  return found;
}

/** The metadata of a class; null where it has none, and where the node does not know the class. */
async function ask(storage: NodeClient, genesisHash: string): Promise<string | null> {
  try {
    return (await storage.call(getItem, { params: { genesis_hash: genesisHash } })).metadata;
  } catch (error) {
    if (isTesseraError(error, 'item_not_found')) return null;
    throw error;
  }
}

function shown(items: readonly Item[]): string {
  return table(
    ['ITEM', right('AMOUNT'), right('AVAILABLE'), 'METADATA'],
    items.map(({ genesis_hash: hash, amount, available, metadata }) => [
      hash,
      String(amount),
      String(available),
      metadata ?? '',
    ]),
  );
}
