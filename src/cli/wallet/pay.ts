/** `tessera wallet pay`: makes a payment after a question; with --wait, waits until a block has confirmed it. */

import type { Result } from '../../api/operation.js';
import {
  createItemPayment,
  createPayment,
  getWallet,
  getWalletItems,
  getWalletMovements,
} from '../../api/routes/wallet/operations.js';
import { hasValidAddressLength } from '../../chain/address.js';
import type { NodeClient } from '../../client/client.js';
import { type PaymentRequest, readPaymentUri, SCHEME } from '../../client/payment-uri.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { stringifyExact } from '../../lib/json.js';
import { printable } from '../../lib/printable.js';
import { parseAddress } from '../../peers/address.js';
import {
  type CliContext,
  type CliProcess,
  flag,
  integerFlag,
  type OwnCommand,
  type ParsedArgs,
  printed,
  UsageError,
} from '../command.js';
import type { CommandClient } from '../command-client.js';
import { addressOrDev, devWarning } from '../dev-account.js';
import { lookUntil, stillUnknown } from '../look-again.js';
import { doOnce, IDEMPOTENCY_KEY_FLAG } from '../once.js';
import { warnOfTemporary, whileWaiting } from '../output.js';
import { parseAmount, parseCount, showAmount } from './amounts.js';
import { ASKING_NODE_EXITS, connect, NODE_FLAGS, YES_FLAG } from './connection.js';
import { DEV_ACCOUNT_FLAG, type DevOrder, payFromDev } from './dev-funds.js';
import { askSecret, checkMayAsk, confirm } from './prompt.js';
import { givenSecret, PASSPHRASE, secretFlag } from './secrets.js';

interface Order extends DevOrder {
  readonly kind: 'address' | 'ip';
  /** Purpose of the request. */
  readonly label: string;
}

export const command: OwnCommand = {
  spec: {
    description: [
      'Pays AMOUNT to TO and prints the hash of the payment. An accepted payment is durable: the node keeps sending ' +
        'it until the mempool node has answered, even after a restart. TO is an address, or the HOST:PORT of a node, ' +
        'which the wallet asks for an address.',
      'AMOUNT is in display units and must be a whole number of raw units (72072000 to a display unit); with --raw ' +
        'it is in raw units. With --item it is a number of items.',
      'Before paying, the command shows the amount, the receiver and the funds, and asks; without a terminal it needs --yes. If ' +
        'an answer is lost, the request is repeated for two minutes; the node recognises it by its key, and pays once. A script ' +
        'that may run again sets the key itself: --idempotency-key.',
    ],
    arguments: [
      {
        name: 'TO',
        required: true,
        description:
          'Address, request for a payment (tessera:ADDRESS?amount=…), or HOST:PORT of a user or miner node; dev:1 is account 1 of ' +
          '`tessera dev`.',
      },
      {
        name: 'AMOUNT',
        description: 'Display units, such as 1.5; raw units with --raw. A request may name it instead.',
      },
    ],
    flags: [
      ...NODE_FLAGS,
      secretFlag(PASSPHRASE, 'the passphrase of the wallet'),
      flag('--raw', 'AMOUNT is in raw units.'),
      flag('--item GENESIS_HASH', 'Pays items of this class instead of tokens.'),
      flag('--locktime BLOCK', 'The first block in which the receiver can spend it.'),
      flag('-w, --wait', 'Waits until a block has confirmed it, or it was rejected (status 1).'),
      DEV_ACCOUNT_FLAG,
      IDEMPOTENCY_KEY_FLAG,
      YES_FLAG,
    ],
    examples: {
      'tessera wallet pay ADDRESS 1.5': 'Asks, then pays one and a half display units.',
      'tessera wallet pay 10.0.0.7:12360 1000 --raw': 'Pays the node there 1000 raw units.',
      'tessera wallet pay "tessera:ADDRESS?amount=72072000"':
        'Pays what a request asks for, such as that of a QR code.',
      'tessera wallet pay ADDRESS 3 --item GENESIS_HASH': 'Pays three items of that class.',
      'tessera wallet pay ADDRESS 1 --yes --wait --passphrase-file /run/secrets/wallet':
        'For a script: does not ask, and ends with status 0 when the payment is confirmed.',
    },
    again: 'the message says how to repeat it safely; or it was made, but whether a block has it is not known',
    exits: ASKING_NODE_EXITS,
  },
  async run(args, context) {
    const order = readOrder(args);
    if (args.has('wait') && order.kind === 'ip') throw new UsageError('--wait needs an address, not HOST:PORT');
    checkMayAsk(args, context, 'pays');
    const dev = args.value(DEV_ACCOUNT_FLAG.name);
    if (dev !== undefined) {
      if (order.kind === 'ip') throw new UsageError(`--${DEV_ACCOUNT_FLAG.name} needs an address, not HOST:PORT`);
      return payFromDev(dev, order, { args, context });
    }
    const warning = devWarning(args.positionals[0] ?? '');
    if (warning !== undefined) context.stderr.write(`warning: ${warning}\n`);
    const given = givenSecret(PASSPHRASE, args, context);
    const client = connect(args, context);
    if (!args.has('yes')) await confirm(await question(order, client, context), context);
    const passphrase = given ?? (await askSecret(PASSPHRASE.question, context));
    const answer = await send(order, passphrase, client, { args, context });
    if (args.has('yes')) warnOfTemporary(answer.temporary_addresses, context);
    const hash = answer.tx_hash;
    if (!args.has('wait') || hash === null) {
      return printed(args, context, answer, accepted(order, hash));
    }
    // Printed now, so that it is not lost if waiting is interrupted.
    context.stderr.write(`accepted as ${printable(hash)}\n`);
    const print = (state: string, reason: string | null): void => {
      const report = args.has('json') ? stringifyExact({ ...answer, state, reason }) : `${hash} ${state}`;
      context.stdout.write(`${report}\n`);
    };
    const waiting = whileWaiting('waiting for a block', settled(hash, client, context), context);
    const entry = await waiting.catch((error) => {
      print('unknown', errorMessage(error));
      throw stillUnknown(error, hash);
    });
    print(entry.state, entry.reason);
    if (entry.state === 'confirmed') return 0;
    throw new TesseraError(
      'transaction_rejected',
      `the payment was rejected: ${entry.reason}; its funds are back in the wallet`,
    );
  },
};

function readOrder(args: ParsedArgs): Order {
  const [named = '', given] = args.positionals;
  const request = requestIn(named);
  const to = addressOrDev(request?.address ?? named);
  const locktime = integerFlag(args, 'locktime', 0, Number.MAX_SAFE_INTEGER) ?? null;
  const item = args.value('item');
  if (item !== undefined && args.has('raw')) throw new UsageError('--raw is for tokens only: items are counted');
  const order = { kind: kindOf(to), address: to, locktime, item, label: request?.label ?? '' };
  if (request?.amount !== undefined) {
    if (given === undefined && item === undefined) return { ...order, amount: request.amount };
    throw new UsageError('the request names its amount of tokens: leave AMOUNT and --item out');
  }
  if (given === undefined) throw new UsageError('AMOUNT is missing');
  return { ...order, amount: item === undefined ? parseAmount(given, args.has('raw')) : parseCount(given) };
}

function requestIn(text: string): PaymentRequest | undefined {
  if (!text.startsWith(SCHEME)) return undefined;
  const request = readPaymentUri(text);
  if (request !== undefined) return request;
  throw new UsageError(`"${text}" is no request for a payment: ${SCHEME}ADDRESS?amount=RAW_UNITS&label=TEXT`);
}

function send(
  { item, label: _, ...order }: Order,
  passphrase: string,
  client: CommandClient,
  caller: { readonly args: ParsedArgs; readonly context: CliContext },
): Promise<Result<typeof createPayment>> {
  return item === undefined
    ? doOnce(createPayment, { body: { ...order, passphrase } }, client, caller)
    : doOnce(createItemPayment, { body: { ...order, genesis_hash: item, passphrase } }, client, caller);
}

function kindOf(to: string): Order['kind'] {
  if (!to.includes(':')) {
    if (hasValidAddressLength(to) && /^[0-9a-zA-Z]+$/.test(to)) return 'address';
    throw new UsageError(`TO must be an address of 64 characters (32 in the short form) or HOST:PORT, not "${to}"`);
  }
  try {
    parseAddress(to);
    return 'ip';
  } catch {
    throw new UsageError(`TO must be an address or HOST:PORT, not "${to}"`);
  }
}

async function question(order: Order, client: CommandClient, context: CliContext): Promise<string> {
  const { address, kind, locktime, label } = order;
  const info = await client.call(getWallet, { query: { page: 0 } });
  warnOfTemporary(
    info.temporary_addresses?.filter((one) => one === address),
    context,
  );
  const later = locktime === null ? '' : `, spendable from block ${locktime} on`;
  return [
    `Wallet of ${client.url}`,
    `  available  ${await available(order, info, client)}`,
    `  payment    ${shown(order)}${later}`,
    `  to ${kind === 'ip' ? 'the node ' : ''}${address}`,
    ...(label === '' ? [] : [`  for        ${printable(label)}`]),
    'Pay?',
  ].join('\n');
}

async function available({ item }: Order, info: Result<typeof getWallet>, client: CommandClient): Promise<string> {
  if (item === undefined) return showAmount(BigInt(info.available_total_tokens));
  const { items } = await client.call(getWalletItems, {});
  const held = items.find(({ genesis_hash: hash }) => hash === item);
  const metadata = held?.metadata ?? null;
  return `${held?.available ?? 0} items${metadata === null ? '' : ` (${printable(metadata)})`}`;
}

function shown({ item, amount }: Order): string {
  return item === undefined ? showAmount(amount) : `${amount} items ${printable(item)}`;
}

function accepted(order: Order, hash: string | null): string {
  return order.kind === 'address' ? `${hash}` : `accepted: ${shown(order)} to the node ${order.address}`;
}

const MOVEMENTS_PAGE = 1_000;

type Movement = Result<typeof getWalletMovements>['movements'][number];

/** Resolves with the payment as the history has it. A node that cannot answer for a while is asked again. */
export async function settled(
  hash: string,
  client: Pick<NodeClient, 'call'>,
  context: Pick<CliProcess, 'stderr'>,
): Promise<Movement> {
  let known: Movement | undefined;
  return lookUntil(async () => {
    known = await look(hash, client, known);
    return known?.state === 'confirmed' || known?.state === 'rejected' ? known : undefined;
  }, context);
}

/** Looks at the movement's old place, or else from the newest on: its number in the history does not change. */
async function look(
  hash: string,
  client: Pick<NodeClient, 'call'>,
  known: Movement | undefined,
): Promise<Movement | undefined> {
  let query = known === undefined ? { limit: MOVEMENTS_PAGE } : { limit: 1, cursor: known.number };
  for (;;) {
    const { movements, next } = await client.call(getWalletMovements, { query });
    const found = movements.find(
      ({ tx_hash, kind }) => tx_hash === hash && kind !== 'import' && kind !== 'unexplained',
    );
    if (found !== undefined || next === null || known !== undefined) return found;
    query = { limit: MOVEMENTS_PAGE, cursor: next };
  }
}
