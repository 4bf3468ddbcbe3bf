/** `tessera tx build`: an unsigned transaction out of what a mempool node, or a listing of one, says is unspent. */

import { BURN_ADDRESS, isPayableAddress } from '../../chain/address.js';
import { itemAsset, tokenAsset } from '../../chain/assets.js';
import { txOut } from '../../chain/builders.js';
import type { Asset, TxOut } from '../../chain/types.js';
import { TesseraError } from '../../lib/errors.js';
import { assertSound } from '../../lib/fault.js';
import { chooseUnspent, type Unspent } from '../../wallet/coins/unspent.js';
import { flag, integerFlag, type OwnCommand, type ParsedArgs, UsageError } from '../command.js';
import { addressOrDev } from '../dev-account.js';
import { parseAmount, parseCount } from '../wallet/amounts.js';
import { NODE_EXITS } from '../wallet/connection.js';
import { type Draft, type DraftInput, draftFault, draftText, outPointName, summaryOf } from './draft.js';
import { MEMPOOL_FLAGS, readUnspent } from './mempool-node.js';
import { GENESIS_FLAG, STORAGE_FLAG, UNPROVEN_FLAG, withProofs } from './previous.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Asks a mempool node for the unspent outputs of the addresses of --from, chooses as few of them as --to and ' +
        '--burn need, and prints the unsigned transaction. Change goes back to the address of the first input, or to ' +
        '--change. There is no fee.',
      'The file also has the transactions that made the inputs, so that the signer can check their amounts. They ' +
        'come from a storage node (--storage), which need not be trusted. A mempool node keeps no transactions.',
      '--input names the outputs to spend, as N-HASH; then exactly these are spent. --utxos reads the unspent outputs from a ' +
        'file instead of a node: the answer of `tessera call getBalances --json`. The file does not show locked outputs; a node ' +
        'refuses to spend them.',
      'AMOUNT is in display units; with --raw in raw units; with --item it is a number of items.',
    ],
    flags: [
      flag('--to ADDRESS=AMOUNT', 'Pays the address the amount.', { repeatable: true }),
      flag('--burn AMOUNT', 'Pays the amount to the address that nobody can spend from.'),
      flag('--from ADDRESS', 'An address whose outputs may be spent.', { repeatable: true }),
      flag('--input N-HASH', 'Spends this output of an address of --from.', { repeatable: true }),
      flag('--change ADDRESS', 'Address for the change.'),
      flag('--utxos FILE', 'A file of unspent outputs, instead of a node.'),
      flag('--item GENESIS_HASH', 'Pays items of this class instead of tokens.'),
      flag('--raw', 'AMOUNT is in raw units.'),
      flag('--locktime BLOCK', 'The first block in which the receivers can spend it.'),
      STORAGE_FLAG,
      GENESIS_FLAG,
      UNPROVEN_FLAG,
      ...MEMPOOL_FLAGS,
    ],
    json: 'Prints the transaction on one line.',
    examples: {
      'tessera tx build --from ADDRESS --to OTHER=1.5 > payment.json':
        'Builds a payment of one and a half display units, to be signed elsewhere.',
      'tessera tx build --utxos unspent.json --from ADDRESS --input 0-HASH --burn 1 --raw':
        'Without a node: burns one raw unit of the named output.',
    },
    exits: {
      ...NODE_EXITS,
      1: 'the funds do not suffice, an output is missing or different, or a node cannot be reached',
    },
  },
  async run(args, context) {
    const orders = readOrders(args);
    const addresses = [...new Set(args.values('from').map((text) => payable(addressOrDev(text), '--from')))];
    const unspent = await readUnspent(addresses, args, context);
    const named = args.value('change');
    const change = named === undefined ? undefined : payable(addressOrDev(named), '--change');
    const built = draftOf(chooseInputs(unspent, orders, args.values('input')), orders, change);
    const draft = args.has(UNPROVEN_FLAG.name) ? built : await withProofs(built, args, context);
    context.stdout.write(draftText(draft, args.has('json')));
    // A listing may have outputs of anybody, so only payments to a named address are change.
    const own = new Set([...addresses, ...(change === undefined ? [] : [change])]);
    context.stderr.write(summaryOf(draft, addresses.length === 0 ? {} : { own }));
    return 0;
  },
};

export interface Orders {
  readonly outputs: readonly TxOut[];
  readonly total: bigint;
  readonly item: string | undefined;
}

function readOrders(args: ParsedArgs): Orders {
  const item = args.value('item');
  if (item !== undefined && args.has('raw')) throw new UsageError('--raw is for tokens only: items are counted');
  const amountOf = (text: string): bigint =>
    item === undefined ? parseAmount(text, args.has('raw')) : parseCount(text);
  const locktime = BigInt(integerFlag(args, 'locktime', 0, Number.MAX_SAFE_INTEGER) ?? 0);
  const paid = args.values('to').map((text) => {
    const [address = '', amount = ''] = text.split(/=(.*)/s);
    return { address: payable(addressOrDev(address), '--to'), amount: amountOf(amount), locktime };
  });
  const burn = args.value('burn');
  const burnt = burn === undefined ? [] : [{ address: BURN_ADDRESS, amount: amountOf(burn), locktime: 0n }];
  const all = [...paid, ...burnt];
  if (all.length === 0) throw new UsageError('say what to pay: --to ADDRESS=AMOUNT or --burn AMOUNT');
  return {
    outputs: all.map((one) => txOut(assetOf(item, one.amount), one.address, one.locktime)),
    total: all.reduce((sum, { amount }) => sum + amount, 0n),
    item,
  };
}

function assetOf(item: string | undefined, amount: bigint): Asset {
  return item === undefined ? tokenAsset(amount) : itemAsset(amount, item);
}

function payable(address: string, flag: string): string {
  if (isPayableAddress(address)) return address;
  throw new UsageError(
    `${flag}: "${address}" is not an address: write 64 or 32 lower-case hexadecimal digits, H and 63 digits, or dev:N`,
  );
}

/** The outputs with these names, or else as few as cover the total. Throws `unknown_input`, `insufficient_funds`. */
export function chooseInputs(
  unspent: readonly Unspent[],
  { total, item }: Orders,
  names: readonly string[] = [],
): readonly Unspent[] {
  if (names.length > 0) {
    return names.map((name) => {
      const found = unspent.find(({ outPoint }) => outPointName(outPoint) === name);
      if (found !== undefined) return found;
      throw new TesseraError('unknown_input', `${name} is not among the unspent outputs of the addresses`);
    });
  }
  return chooseUnspent(unspent, total, item);
}

/** An unsigned draft; the rest goes to `change`, or to the address of the first input. Throws `malformed_transaction`. */
export function draftOf(inputs: readonly Unspent[], { outputs, total, item }: Orders, change?: string): Draft {
  const to = change ?? inputs[0]?.address;
  const spent = inputs.reduce((sum, { value }) => sum + value.amount, 0n);
  // The check of the whole draft names items that are missing or of another kind.
  const rest = spent > total && to !== undefined ? [txOut(assetOf(item, spent - total), to)] : [];
  const draft = {
    inputs: inputs.map((one): DraftInput => ({ ...one, signature: null })),
    outputs: [...outputs, ...rest],
    previous: new Map(),
  };
  assertSound(draftFault(draft));
  return draft;
}
