/** Routes of the index of the chain, for blocks, transactions and the search, and the views of its answers. */

import type { FastifyPluginCallback, FastifyReply } from 'fastify';
import { shownTotal } from '../../../chain/assets.js';
import { opcodeName } from '../../../chain/script/opcodes.js';
import type { Asset, DruidInfo, StackEntry } from '../../../chain/types.js';
import { toHex } from '../../../lib/bytes.js';
import { TesseraError } from '../../../lib/errors.js';
import { addressGroup } from '../../../lib/ip-address.js';
import { stringifyExact } from '../../../lib/json.js';
import {
  type AddressMovement,
  type AddressOutput,
  type AddressSummary,
  type BlockSummary,
  type ChainIndexService,
  type ChainView,
  type Found,
  type HeldItem,
  type IndexedInput,
  type IndexedOutput,
  type IndexedTransaction,
  type ItemHolder,
  type ItemSummary,
  type ItemTransfer,
  MAX_LISTED,
  type PageQuery,
  type TransactionPlace,
  type TransactionSummary,
} from '../../../storage/chain-index/service.js';
import type { StoredOptions } from '../../http/answers.js';
import { clientAddress } from '../../http/client-address.js';
import { addRoutes, routesOf } from '../../http/route.js';
import type { ApiModules } from '../../options.js';
import type { ExactInteger } from '../../schemas/scalars.js';
import { holdingOperations } from './holding-operations.js';
import { chainOperations, DEFAULT_BLOCKS } from './operations.js';
import { DEFAULT_ENTRIES } from './parts.js';

/** Numbers of blocks that a path can name; no chain has more. */
const BLOCK_NUMBER = /^\d{1,15}$/;

export const chainRoutes: FastifyPluginCallback<Pick<ApiModules, 'isRevertible'>> = (app, options, done) => {
  const { services } = app;
  /** A block that is named by its hash is the same for ever, where it cannot be taken back. */
  const isForEver = (name: string, hash: string): boolean => options.isRevertible !== true && name === hash;

  addRoutes(app, chainOperations, {
    async getChainIndex() {
      const { state, height, blocks, problem } = services.indexStatus();
      return { state, block_num: height, blocks, problem };
    },

    async getChainBlocks({ query }, reply) {
      return answerNow(reply, services.chainIndex, async (chain) => {
        const blocks = await chain.blocks(Number(query.limit ?? DEFAULT_BLOCKS), safe(query.before), safe(query.step));
        const last = blocks.at(-1)?.height ?? 0;
        return { blocks: blocks.map(blockView), next: last === 0 ? null : last };
      });
    },

    async getChainBlock({ params }, reply) {
      const block = await readChain(reply, services.chainIndex, (chain) => blockNamed(chain, params.block));
      return sendAnswer(reply, blockView(block), {
        etag: block.hash,
        immutable: isForEver(params.block, block.hash),
      });
    },

    async getBlockTransactions({ params, query }, reply) {
      const { block, page } = await readChain(reply, services.chainIndex, async (chain) => {
        const found = await blockNamed(chain, params.block);
        return { block: found, page: await chain.blockTransactions(found, pageOf(query)) };
      });
      const answer = { transactions: page.entries.map(summaryView), next: page.next };
      return sendAnswer(reply, answer, { etag: block.hash, immutable: isForEver(params.block, block.hash) });
    },

    async getChainTransaction({ params, query }, reply) {
      const part = { firstInput: safe(query.first_input) ?? 0, firstOutput: safe(query.first_output) ?? 0 };
      return answerNow(reply, services.chainIndex, async (chain) => {
        const found = await chain.transaction(params.tx_hash, part);
        if (found === undefined) throw new TesseraError('entry_not_found', 'No transaction is stored under this hash.');
        return transactionView(found);
      });
    },

    async getChainOutput({ params }, reply) {
      return answerNow(reply, services.chainIndex, async (chain) => {
        const found = await chain.output({ tHash: params.tx_hash, n: Number(params.n) });
        if (found === undefined) throw new TesseraError('entry_not_found', 'No stored transaction has this output.');
        return spendableView(found);
      });
    },

    async searchChain({ query }, reply) {
      const found = await readChain(reply, services.chainIndex, (chain) => chain.search(query.q));
      return { found: found.map(foundView) };
    },
  });
  done();
};

export const holdingRoutes = routesOf(holdingOperations, ({ services }) => ({
  async getChainAddress({ params }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => addressView(await chain.address(params.address)));
  },

  async getAddressItems({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      const { entries, next } = await chain.addressItems(params.address, pageOf(query));
      return { items: entries.map(heldItemView), next };
    });
  },

  async getAddressOutputs({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      const { entries, next } = await chain.addressOutputs(params.address, pageOf(query));
      return { outputs: entries.map(addressOutputView), next };
    });
  },

  async getAddressTransactions({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      const { entries, next } = await chain.addressTransactions(params.address, pageOf(query));
      return { transactions: entries.map(movementView), next };
    });
  },

  async getTokenHolders({ query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      const { entries, next } = await chain.tokenHolders(pageOf(query));
      return { holders: entries.map(holderView), next };
    });
  },

  async getChainItem({ params }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) =>
      itemView(await itemNamed(chain, params.genesis_hash)),
    );
  },

  async getItemHolders({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      await itemNamed(chain, params.genesis_hash);
      const { entries, next } = await chain.itemHolders(params.genesis_hash, pageOf(query));
      return { holders: entries.map(holderView), next };
    });
  },

  async getItemTransfers({ params, query }, reply) {
    return answerNow(reply, services.chainIndex, async (chain) => {
      await itemNamed(chain, params.genesis_hash);
      const { entries, next } = await chain.itemTransfers(params.genesis_hash, pageOf(query));
      return { transfers: entries.map(transferView), next };
    });
  },
}));

async function blockNamed(chain: ChainView, name: string) {
  const block = await chain.block(BLOCK_NUMBER.test(name) ? Number(name) : name);
  if (block === undefined) throw new TesseraError('block_not_found', 'No block is stored with this number or hash.');
  return block;
}

const NO_BLOCK = 'none';

/** Reads the chain; long reads share the turns of the client's address. */
function readChain<T>(
  { request }: FastifyReply,
  index: ChainIndexService,
  read: (chain: ChainView) => Promise<T>,
): Promise<T> {
  return index.at(read, addressGroup(clientAddress(request)));
}

/** Sends an answer about the chain as it is now, with the number of its last block. */
async function answerNow(
  reply: FastifyReply,
  index: ChainIndexService,
  read: (chain: ChainView) => Promise<object>,
): Promise<FastifyReply> {
  const { answer, etag } = await readChain(reply, index, async (chain) => {
    const { tip } = chain;
    return { answer: { ...(await read(chain)), as_of_block: tip?.height ?? null }, etag: tip?.hash ?? NO_BLOCK };
  });
  return sendAnswer(reply, answer, { etag });
}

function sendAnswer(reply: FastifyReply, answer: object, options: StoredOptions): FastifyReply {
  return reply.stored(Buffer.from(stringifyExact(answer)), options);
}

function pageOf({ limit, cursor }: { limit?: ExactInteger; cursor?: string }): PageQuery {
  return { limit: Number(limit ?? DEFAULT_ENTRIES), cursor };
}

/** The number as a safe integer: the largest of them, which no chain reaches, stands for those beyond. */
function safe(value: ExactInteger | undefined): number | undefined {
  return typeof value === 'bigint' ? Number.MAX_SAFE_INTEGER : value;
}

async function itemNamed(chain: ChainView, genesisHash: string) {
  const item = await chain.item(genesisHash);
  if (item === undefined) throw new TesseraError('item_not_found', 'No item was created under this genesis hash.');
  return item;
}

const NO_TOKENS = { genesis_hash: null, metadata: null };

function blockView(block: BlockSummary) {
  return {
    block_num: block.height,
    hash: block.hash,
    previous_hash: block.previousHash,
    time: block.time,
    transactions: block.transactions,
    transactions_so_far: block.payments,
    bytes: block.bytes,
    difficulty: toHex(block.difficulty),
    reward: block.reward,
    issued: block.issued,
    miner: block.miner,
    coinbase: block.coinbase,
  };
}

function placeView({ hash, height, txNum, time }: TransactionPlace) {
  return { tx_hash: hash, block_num: height, tx_num: txNum, time };
}

function assetView(asset: Asset) {
  const { kind, amount } = asset;
  if (kind === 'token') return { asset: kind, amount, ...NO_TOKENS };
  return { asset: kind, amount, genesis_hash: asset.genesisHash, metadata: asset.metadata };
}

function summaryView(transaction: TransactionSummary) {
  const { kind, bytes, inputs, outputs, tokens, paid } = transaction;
  return { ...placeView(transaction), kind, bytes, input_count: inputs, output_count: outputs, tokens, paid };
}

type Output = Omit<IndexedOutput, 'spender'>;

function outputView({ outPoint, address, asset, locktime, isFee }: Output) {
  return { n: outPoint.n, address, ...assetView(asset), locktime, fee: isFee };
}

function spentView({ spender }: IndexedOutput) {
  return spender && { tx_hash: spender.hash, input: spender.input, block_num: spender.height };
}

function entryView(entry: StackEntry) {
  switch (entry.kind) {
    case 'op':
      return { kind: entry.kind, value: String(opcodeName(entry.op)) };
    case 'signature':
    case 'pubkey':
      return { kind: entry.kind, value: toHex(entry.bytes) };
    case 'num':
      return { kind: entry.kind, value: String(entry.value) };
    case 'bytes':
      return { kind: entry.kind, value: entry.text };
  }
}

function inputView({ source, script }: IndexedInput) {
  return {
    source: source && { tx_hash: source.outPoint.tHash, ...outputView(source), block_num: source.height },
    script: script.map(entryView),
  };
}

function tradeView({ druid, participants, expectations }: DruidInfo, partners: readonly string[]) {
  return {
    druid,
    participants,
    partners,
    expectations: expectations.slice(0, MAX_LISTED).map(({ from, to, asset }) => ({ from, to, ...assetView(asset) })),
  };
}

function transactionView(indexed: IndexedTransaction) {
  const { druidInfo, version } = indexed.transaction;
  return {
    ...summaryView(indexed),
    block_hash: indexed.blockHash,
    confirmations: indexed.confirmations,
    version,
    first_input: indexed.firstInput,
    inputs: indexed.inputList.map(inputView),
    first_output: indexed.firstOutput,
    outputs: indexed.outputList.map((output) => ({ ...outputView(output), spent_by: spentView(output) })),
    trade: druidInfo && tradeView(druidInfo, indexed.partners),
  };
}

function spendableView(output: IndexedOutput & { readonly height: number }) {
  const tx_hash = output.outPoint.tHash;
  return { tx_hash, ...outputView(output), block_num: output.height, spent_by: spentView(output) };
}

function addressView(summary: AddressSummary) {
  return {
    address: summary.address,
    tokens: summary.tokens,
    received: String(summary.received),
    sent: String(summary.sent),
    transaction_count: summary.transactions,
    unspent_count: summary.unspentOutputs,
    item_count: summary.itemKinds,
    first_seen: summary.first && placeView(summary.first),
    last_seen: summary.last && placeView(summary.last),
  };
}

function addressOutputView(output: AddressOutput) {
  const { tHash, n } = output.outPoint;
  return {
    out_point: { t_hash: tHash, n },
    ...assetView(output.asset),
    locktime: output.locktime,
    ...placeView(output),
  };
}

function heldItemView({ genesisHash, amount }: HeldItem) {
  return { genesis_hash: genesisHash, amount: shownTotal(amount) };
}

function movementView(movement: AddressMovement) {
  const { kind, received, sent, items, itemKinds } = movement;
  return {
    ...placeView(movement),
    kind,
    received,
    sent,
    items: items.map((item) => ({
      genesis_hash: item.genesisHash,
      received: shownTotal(item.received),
      sent: shownTotal(item.sent),
    })),
    item_count: itemKinds,
  };
}

function itemView(item: ItemSummary) {
  return {
    genesis_hash: item.genesisHash,
    metadata: item.metadata,
    creator: item.creator,
    issued: String(item.issued),
    created: placeView(item.created),
    holder_count: item.holders,
    transfer_count: item.transfers,
  };
}

function holderView({ address, amount }: ItemHolder) {
  return { address, amount: shownTotal(amount) };
}

function transferView(transfer: ItemTransfer) {
  const { kind, amount, from, to, fromCount, toCount } = transfer;
  return {
    ...placeView(transfer),
    kind,
    amount: shownTotal(amount),
    from: from.map(holderView),
    from_count: fromCount,
    to: to.map(holderView),
    to_count: toCount,
  };
}

function foundView(found: Found) {
  switch (found.kind) {
    case 'block':
    case 'transaction':
      return { kind: found.kind, name: found.hash, block_num: found.height };
    case 'item':
      return { kind: found.kind, name: found.genesisHash, block_num: null };
    case 'address':
      return { kind: found.kind, name: found.address, block_num: null };
  }
}
