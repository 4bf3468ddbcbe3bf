/**
 * The wallet routes of the original node (`envelope.wallet_routes`). Each has a twin under /v1 and needs the same key. The differences are
 * here: what a route takes, how it asks its twin, what it shows (docs/clients.md#wallet-routes).
 */

import { type Static, type TSchema, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { transactionView } from '../../../chain/json.js';
import type { Answerable } from '../../http/answers.js';
import type { Arguments, HttpMethod, Operation, Result } from '../../operation.js';
import { Address, EXAMPLE_ADDRESS, EXAMPLE_TX_HASH, MapOf } from '../../schemas/scalars.js';
import { EXAMPLE_TRANSACTION } from '../../schemas/transaction.js';
import { queryTransactionStatus } from '../mempool/operations.js';
import { getCurrentBlock } from '../mining/operations.js';
import { deserializeTransactions, serializeTransactions } from '../tools/operations.js';
import { requestDonation } from '../user/operations.js';
import { walletOperations } from '../wallet/operations.js';
import { Any, envelope, Nothing } from './operations.js';

const [getOutgoing, , getWallet, newAddress, keysOut, keysIn, passphrase, refresh, payment] = walletOperations;

interface Differences<Twin extends Operation, Body extends TSchema> {
  readonly reason: string;
  readonly content?: TSchema;
  readonly status?: 'InProgress';
  readonly body?: Body;
  readonly params?: TSchema;
  /** Parts of the request that the twin gets in place of the route's own. */
  readonly asks?: (body: Static<Body>, params: { readonly part: string }) => Partial<Arguments<Twin>>;
  /** Content of the answer, from the result of the twin; by default the whole result. */
  readonly shows?: (result: Answerable<Result<Twin>>, body: Static<Body>, request: FastifyRequest) => unknown;
  /** The answer for a payment that cannot be made, which the original node does not report as an error. */
  readonly fails?: (reason: string) => unknown;
}

/** An older route with a twin. */
export interface OlderOperation<Id extends string = string> extends Operation {
  readonly id: Id;
  readonly twin: Operation;
  // biome-ignore lint/suspicious/noExplicitAny: each route has its own twin and body, which its schemas have checked
  readonly differences: Differences<any, any>;
}

function older<const Twin extends Operation, const Id extends string, Body extends TSchema>(
  twin: Twin,
  id: Id,
  route: `${HttpMethod} /${string}`,
  differences: Differences<Twin, Body>,
): OlderOperation<Id> {
  const { params: _, query: __, headers: ___, body: ____, tooling: _____, ...shared } = twin as Operation;
  const [method, path = ''] = route.split(' ');
  const { params, body, content = Any } = differences;
  return {
    ...shared,
    ...(params && { params }),
    ...(body && { body: { schema: body } }),
    id,
    family: 'envelope',
    tag: 'Older wallet routes',
    description: `As ${twin.method} ${twin.path}.`,
    method: method as HttpMethod,
    path,
    success: { 200: { description: 'In an envelope.', schema: envelope(content) } },
    errors: [...twin.errors, 'idempotency_conflict'],
    twin,
    differences,
  };
}

function example<S extends TSchema>(schema: S, value: unknown): S {
  return { ...schema, examples: [value] };
}

/** The original's answer where there is no result. */
const nothing = { content: Type.String({ description: 'The text null.' }), shows: () => 'null' };
const { kind: _, ...members } = payment.body.schema.properties;
const PAYMENT = { address: EXAMPLE_ADDRESS, amount: 1_000, passphrase: '', locktime: null };
const PEER = '127.0.0.1:12360';
const LATEST = 100;
type Info = Answerable<Result<typeof getWallet>>;
const info = {
  reason: 'Wallet info successfully fetched',
  content: getWallet.success[200].schema,
  shows: ({ temporary_addresses: _, ...original }: Info) => original,
};

export const walletEnvelopes = [
  older(getWallet, 'envelopeWalletInfo', 'GET /wallet_info', { ...info, asks: () => ({ query: {} }) }),
  older(getWallet, 'envelopeWalletInfoPart', 'GET /wallet_info/{part}', {
    ...info,
    params: Type.Object({
      part: Type.String({ description: 'spent, or the number of a page.', maxLength: 32, examples: ['spent'] }),
    }),
    asks: (_, { part }) => ({
      query: /^\d+$/.test(part)
        ? { page: Math.min(Number(part), Number.MAX_SAFE_INTEGER) }
        : { spent: part === 'spent' },
    }),
  }),
  older(getOutgoing, 'envelopeOutgoingTransactions', 'GET /outgoing_transactions', {
    reason: 'Successfully fetched last constructed transaction',
    asks: () => ({ query: {} }),
    shows: ({ transactions }) => transactions,
  }),
  older(keysOut, 'envelopeExportKeypairs', 'GET /export_keypairs', {
    reason: 'Key-pairs successfully exported',
    content: keysOut.success[200].schema,
  }),
  older(keysIn, 'envelopeImportKeypairs', 'POST /import_keypairs', {
    reason: 'Key-pairs successfully imported',
    content: Type.Array(Address()),
    body: keysIn.body.schema,
    shows: ({ imported }) => imported,
  }),
  older(newAddress, 'envelopePaymentAddress', 'GET /payment_address', {
    reason: 'New payment address generated',
    content: Address(),
    shows: ({ address }) => address,
  }),
  older(payment, 'envelopeMakePayment', 'POST /make_payment', {
    reason: 'Payment processing',
    status: 'InProgress',
    content: Type.Object({ success: Type.Boolean(), reason: Type.String(), tx_hash: Type.String(), tx: Any }),
    body: example(Type.Object(members), PAYMENT),
    asks: (body) => ({ body: { ...body, kind: 'address' as const } }),
    async shows({ tx_hash: made }, _body, { server }) {
      const [, tx] = (await server.services.wallet.history.outgoing(LATEST)).find(([hash]) => hash === made) ?? [];
      const shown = { success: true, reason: 'Payment transaction pending', tx_hash: made };
      return { ...shown, tx: tx === undefined ? null : transactionView(tx) };
    },
    fails: (reason) => ({ success: false, reason, tx_hash: '', tx: null }),
  }),
  older(payment, 'envelopeMakeIpPayment', 'POST /make_ip_payment', {
    reason: 'IP payment processing',
    content: MapOf(Type.Object({ asset: Any, extra_info: Nothing })),
    body: example(Type.Object(members), { ...PAYMENT, address: PEER }),
    asks: (body) => ({ body: { ...body, kind: 'ip' as const } }),
    shows: (_, { address, amount }) => ({ [address]: { asset: { Token: amount }, extra_info: null } }),
  }),
  older(refresh, 'envelopeUpdateRunningTotal', 'POST /update_running_total', {
    ...nothing,
    reason: 'Running total updated',
    body: example(Type.Array(Address()), ['all']),
    asks: (addresses) => ({ body: { all: addresses[0] === 'all', addresses } }),
  }),
  older(passphrase, 'envelopeChangePassphrase', 'POST /change_passphrase', {
    ...nothing,
    reason: 'Passphrase changed successfully',
    body: passphrase.body.schema,
  }),
] as const;

export const userEnvelopes = [
  older(requestDonation, 'envelopeRequestDonation', 'POST /request_donation', {
    ...nothing,
    reason: 'Donation request sent',
    body: example(requestDonation.body.schema.properties.address, PEER),
    asks: (address) => ({ body: { address } }),
  }),
  older(serializeTransactions, 'envelopeSerializeTransactions', 'POST /serialize_transactions', {
    reason: 'Transaction(s) serialized',
    body: example(serializeTransactions.body.schema.properties.transactions, [EXAMPLE_TRANSACTION]),
    asks: (transactions) => ({ body: { transactions } }),
    shows: ({ transactions }) => transactions,
  }),
  older(deserializeTransactions, 'envelopeDeserializeTransactions', 'POST /deserialize_transactions', {
    reason: 'Transaction(s) deserialized',
    body: example(deserializeTransactions.body.schema.properties.transactions, [
      `${'00'.repeat(16)}06${'00'.repeat(16)}`,
    ]),
    asks: (transactions) => ({ body: { transactions } }),
    shows: ({ transactions }) => transactions,
  }),
] as const;

export const minerEnvelopes = [
  older(getCurrentBlock, 'envelopeCurrentMiningBlock', 'GET /current_mining_block', {
    reason: 'Current mining block successfully retrieved',
    shows: ({ block }) => block,
  }),
] as const;

export const poolEnvelopes = [
  older(queryTransactionStatus, 'envelopeTransactionStatus', 'POST /transaction_status', {
    reason: 'Transaction(s) status',
    body: example(queryTransactionStatus.body.schema.properties.hashes, [EXAMPLE_TX_HASH]),
    asks: (hashes) => ({ body: { hashes } }),
  }),
] as const;

export const olderWalletOperations = [
  ...poolEnvelopes,
  ...walletEnvelopes,
  ...userEnvelopes,
  ...minerEnvelopes,
] as const;
