/** Routes of mempool nodes alone. */

import type { FastifyPluginCallback } from 'fastify';
import { decodeTransaction } from '../../../chain/codec.js';
import { parseCreateTransaction } from '../../../chain/create-transaction.js';
import type { Transaction } from '../../../chain/types.js';
import { fromHex, isHex } from '../../../lib/bytes.js';
import { TesseraError } from '../../../lib/errors.js';
import { addressGroup } from '../../../lib/ip-address.js';
import {
  type Balances,
  type ItemCreation,
  MAX_LISTED_AHEAD,
  type MempoolService,
  type SubmittedTransaction,
  type TxStatus,
  type WaitingTx,
} from '../../../mempool/service.js';
import { clientAddress } from '../../http/client-address.js';
import { PlannedAnswer } from '../../http/long-answers.js';
import { addRoutes } from '../../http/route.js';
import { apiAssetView, balanceView } from '../views.js';
import type { CreateItemRequest } from './operations.js';
import { EncodedBody, poolOperations } from './operations.js';

const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

export const mempoolRoutes: FastifyPluginCallback = (app, _options, done) => {
  const { services, slices } = app;
  const supply = new SupplyAnswer();

  addRoutes(app, poolOperations, {
    getBalances: ({ query }) =>
      balanceAnswer(services.mempool, query.address, (balance) => ({ balance: balanceView(balance) })),
    queryBalances: ({ body }) =>
      balanceAnswer(services.mempool, body.addresses, (balance) => ({ balance: balanceView(balance) })),
    getSupply: (_request, reply) => reply.stored(supply.bytes(services.mempool.supply())),

    async getMempool(request) {
      await slices.turn(addressGroup(clientAddress(request)));
      const { count, bytes, blocks } = services.mempool.waiting();
      return {
        transactions: count,
        bytes,
        blocks: blocks.map(({ height, isBeingMade, ...block }) => ({
          block_num: height,
          being_made: isBeingMade,
          transactions: block.count,
          bytes: block.bytes,
          first: block.first.map(waitingView),
        })),
      };
    },
    async getWaitingTransaction(request) {
      await slices.turn(addressGroup(clientAddress(request)));
      const found = services.mempool.waitingPlace(request.params.tx_hash);
      if (found === undefined) throw new TesseraError('entry_not_found', 'No transaction waits under this hash.');
      return waitingPlaceView(found);
    },

    createTransactions(request) {
      const { mempool } = services;
      const { body } = request;
      const sender = addressGroup(clientAddress(request));
      const submit = (transactions: readonly Transaction[]) => mempool.submit(transactions, sender).then(admittedView);
      if (body instanceof EncodedBody) return submit(body.transactions);
      const read = readTransactions(
        body.transactions,
        (index) => `transactions[${index}]`,
        () => slices.turn(sender),
      );
      // This function is not `async`: each promise adds much to our share of a post's cost.
      return read instanceof Promise ? read.then(submit) : submit(read);
    },

    async getTransactionStatus({ query }) {
      const hashes = [...(query.hash ?? []), ...(query.tx_hash ?? [])];
      if (hashes.length === 0) throw new TesseraError('invalid_request', 'query: hash is required.');
      return statusesView(await services.mempool.statuses(hashes));
    },
    async queryTransactionStatus({ body }) {
      return statusesView(await services.mempool.statuses(body.hashes));
    },
  });
  done();
};

function waitingPlaceView(found: NonNullable<ReturnType<MempoolService['waitingPlace']>>) {
  const { place, behind, info } = found;
  const { outputs, fees } = decodeTransaction(found.bytes);
  const listed = [...outputs, ...fees];
  return {
    ...waitingView(found),
    info,
    place: place && { block_num: place.height, being_made: place.isBeingMade, ahead: place.ahead },
    behind,
    outputs: listed
      .slice(0, MAX_LISTED_AHEAD)
      .map(({ scriptPublicKey, value }) => ({ address: scriptPublicKey, asset: apiAssetView(value) })),
    output_count: listed.length,
  };
}

function waitingView({ hash, bytes, time }: WaitingTx) {
  return { tx_hash: hash, bytes: bytes.length, time };
}

function admittedView(submitted: readonly SubmittedTransaction[]) {
  const transactions = new Map<string, ReturnType<typeof outputSummary>>();
  for (const { hash, transaction } of submitted) transactions.set(hash, outputSummary(transaction));
  return { transactions };
}

/** The first output of a transaction stands for it in the answer (decision V2). */
function outputSummary({ outputs }: SubmittedTransaction['transaction']) {
  const [first] = outputs;
  return {
    address: first?.scriptPublicKey ?? '',
    asset: first === undefined ? { kind: 'token' as const, amount: 0n } : apiAssetView(first.value),
  };
}

function statusesView(statuses: ReadonlyMap<string, TxStatus>) {
  return new Map(
    [...statuses].map(([hash, { status, timestamp, additionalInfo }]) => [
      hash,
      { status, timestamp, additional_info: additionalInfo },
    ]),
  );
}

/** Keeps the bytes of the answer until the issued supply changes, which is once a block. */
class SupplyAnswer {
  #issued: bigint | undefined;
  #bytes = Buffer.alloc(0);

  bytes({ total, issued }: { readonly total: bigint; readonly issued: bigint }): Buffer {
    if (this.#issued !== issued) {
      this.#issued = issued;
      this.#bytes = Buffer.from(`{"total":${total},"issued":${issued}}`, 'utf8');
    }
    return this.#bytes;
  }
}

/** The item creation that a client has signed (Item creation, rule 1). */
export function itemCreationOf(body: CreateItemRequest): ItemCreation {
  const { public_key: publicKey, script_public_key: scriptPublicKey, signature } = body;
  if (!publicKey || !scriptPublicKey || !signature) {
    throw new TesseraError(
      'invalid_request',
      'script_public_key, public_key and signature are required to create an item on a mempool node.',
    );
  }
  return {
    spec: genesisHashSpecOf(body.genesis_hash_spec),
    amount: BigInt(body.item_amount),
    metadata: body.metadata ?? null,
    scriptPublicKey,
    publicKey: hexBytes(publicKey, PUBLIC_KEY_BYTES, 'public_key'),
    signature: hexBytes(signature, SIGNATURE_BYTES, 'signature'),
  };
}

/** The specification; clients write it in upper or lower case (decision V16). */
export function genesisHashSpecOf(text: string): ItemCreation['spec'] {
  return text.toLowerCase() === 'create' ? 'Create' : 'Default';
}

function hexBytes(hex: string, length: number, name: string): Uint8Array {
  if (!isHex(hex, length)) {
    throw new TesseraError('invalid_request', `${name} must be ${length * 2} hexadecimal digits.`);
  }
  return fromHex(hex);
}

/** Answers with this many outputs or more are planned; copying fewer takes less than a millisecond. */
const MANY_OUTPUTS = 1_000;

export function balanceAnswer<T>(
  mempool: MempoolService,
  addresses: readonly string[],
  view: (balances: Balances) => T,
): T | PlannedAnswer<T> {
  const make = (): T => view(mempool.balances(addresses));
  return mempool.countOutputs(addresses, MANY_OUTPUTS) < MANY_OUTPUTS ? make() : new PlannedAnswer(make);
}

const READ_AT_ONCE = 32;

/** The transactions in bodies, read at once when they are few. Throws `malformed_transaction` with the place of the fault. */
export function readTransactions(
  bodies: readonly unknown[],
  placeOf: (index: number) => string,
  turn: () => Promise<void>,
): Transaction[] | Promise<Transaction[]> {
  if (bodies.length > READ_AT_ONCE) return readInTurns(bodies, placeOf, turn);
  return bodies.map((body, index) => parseCreateTransaction(body, placeOf(index)));
}

async function readInTurns(
  bodies: readonly unknown[],
  placeOf: (index: number) => string,
  turn: () => Promise<void>,
): Promise<Transaction[]> {
  const transactions: Transaction[] = [];
  for (const [index, body] of bodies.entries()) {
    if (index > 0 && index % READ_AT_ONCE === 0) await turn();
    transactions.push(parseCreateTransaction(body, placeOf(index)));
  }
  return transactions;
}
