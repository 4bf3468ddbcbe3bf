/** The wallet commands for an account of the dev network, which is in no node's wallet: a mempool node is asked and paid directly. */

import { itemAsset, tokenAsset } from '../../chain/assets.js';
import { txOut } from '../../chain/builders.js';
import { transactionHash } from '../../chain/hash.js';
import { type CliContext, type FlagSpec, flag, type ParsedArgs, printed, UsageError } from '../command.js';
import { devAccount } from '../dev-account.js';
import { stillUnknown } from '../look-again.js';
import { IDEMPOTENCY_KEY_FLAG } from '../once.js';
import { right, table, whileWaiting } from '../output.js';
import { chooseInputs, draftOf } from '../tx/build.js';
import { summaryOf, transactionOf } from '../tx/draft.js';
import { connectToMempool, submit, unspentOf, waitForBlock } from '../tx/mempool-node.js';
import { signWith } from '../tx/sign.js';
import { showDisplay } from './amounts.js';
import { confirm } from './prompt.js';

export const DEV_ACCOUNT_FLAG: FlagSpec = flag(
  '--dev-account N',
  'Uses account 1 to 10, user or miner of `tessera dev` instead of the wallet of a node. --url then names a mempool node; ' +
    'default: the one on this machine.',
);

export interface DevOrder {
  readonly address: string;
  /** Amount in raw units, or number of items. */
  readonly amount: bigint;
  readonly locktime: number | null;
  readonly item: string | undefined;
}

export async function payFromDev(
  name: string,
  order: DevOrder,
  { args, context }: { readonly args: ParsedArgs; readonly context: CliContext },
): Promise<number> {
  const { address, amount, locktime, item } = order;
  if (args.value(IDEMPOTENCY_KEY_FLAG.name) !== undefined) {
    throw new UsageError(`--${IDEMPOTENCY_KEY_FLAG.name} is for the wallet of a node`);
  }
  const { address: own, keyPair } = devAccount(name);
  const client = connectToMempool(args, context);
  const asset = item === undefined ? tokenAsset(amount) : itemAsset(amount, item);
  const orders = { outputs: [txOut(asset, address, BigInt(locktime ?? 0))], total: amount, item };
  const unspent = await unspentOf([own], client);
  const draft = draftOf(chooseInputs(unspent, orders), orders);
  if (!args.has('yes')) {
    context.stderr.write(summaryOf(draft, { own: new Set([own]) }));
    await confirm('Pay?', context);
  }
  const transaction = transactionOf(signWith(new Map([[own, keyPair]]), draft));
  const hash = transactionHash(transaction);
  context.writes.advice = `check the balance before you pay again; the transaction is ${hash}`;
  await submit([transaction], client, context);
  const isWaited = args.has('wait');
  if (isWaited) {
    await whileWaiting('waiting for a block', waitForBlock([hash], client, context), context).catch((error) => {
      throw stillUnknown(error, hash);
    });
  }
  const report = { tx_hash: hash, to_address: address, amount, ...(isWaited ? { state: 'confirmed' } : {}) };
  const line = isWaited ? `${hash} confirmed` : hash;
  return printed(args, context, report, line);
}

export async function balanceOfDev(name: string, args: ParsedArgs, context: CliContext): Promise<number> {
  const { address } = devAccount(name);
  const client = connectToMempool(args, context);
  const unspent = await unspentOf([address], client);
  let tokens = 0n;
  const items: Record<string, bigint> = {};
  for (const { value } of unspent) {
    if (value.kind === 'token') tokens += value.amount;
    else items[value.genesisHash ?? ''] = (items[value.genesisHash ?? ''] ?? 0n) + value.amount;
  }
  const columns = [address, right('DISPLAY UNITS'), right('RAW UNITS')];
  const counted = Object.entries(items).map(([hash, count]) => [`items of ${hash}`, String(count), '']);
  const rows = [['tokens', showDisplay(tokens), String(tokens)], ...counted];
  return printed(args, context, { address, tokens, items }, table(columns, rows));
}
