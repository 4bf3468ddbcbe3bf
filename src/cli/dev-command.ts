/** `tessera faucet` and `tessera mine`: tokens and blocks on request, from a dev network. */

import { makeBlocks, payFromFaucet } from '../api/routes/dev/operations.js';
import { MAX_BLOCKS_PER_REQUEST, MAX_TIME } from '../api/routes/dev/service.js';
import type { NodeClient } from '../client/client.js';
import { nodeFetch } from '../client/node-fetch.js';
import { JOINT_API_PORT } from '../config/placing.js';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import {
  type CliContext,
  type FlagSpec,
  flag,
  integerFlag,
  type OwnCommand,
  type ParsedArgs,
  printed,
  UsageError,
} from './command.js';
import { CommandClient, TIMEOUT_FLAG } from './command-client.js';
import { addressOrDev } from './dev-account.js';
import { checkUrl } from './node-access.js';
import { parseAmount, showAmount } from './wallet/amounts.js';

const DEFAULT_URL = `http://127.0.0.1:${JOINT_API_PORT}`;

const DEV_FLAGS: readonly FlagSpec[] = [
  flag('-u, --url URL', `The shared address of the network of \`tessera dev\`. Default: ${DEFAULT_URL}`),
  TIMEOUT_FLAG,
];

function devClient(args: ParsedArgs, context: CliContext): CommandClient {
  return new CommandClient({ url: checkUrl(args.value('url') ?? DEFAULT_URL), fetch: nodeFetch() }, args, context);
}

/** Does work that only dev networks do, and says so when the network is not a dev network. */
async function onDevNetwork<T>(client: NodeClient, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isTesseraError(error, 'not_found')) throw error;
    const message = `${client.url} is not the shared address of a dev network: only \`tessera dev\` does this`;
    throw new TesseraError('not_found', message, { cause: error });
  }
}

export const faucet: OwnCommand = {
  spec: {
    description: [
      'Pays from the miner’s wallet in a network of `tessera dev`, or with --from from any address. If blocks are made on ' +
        'demand, the payment is in a block when the command ends.',
    ],
    arguments: [
      { name: 'ADDRESS', required: true, description: 'The receiver. dev:1 is account 1 of the network.' },
      { name: 'AMOUNT', description: 'Display units, or raw units with --raw. Default: 1000 display units.' },
    ],
    flags: [
      ...DEV_FLAGS,
      flag('--from ADDRESS', 'Pays from this address without its key. Needs `tessera dev --impersonate`.'),
      flag('--set', 'AMOUNT is the balance that the address has afterwards. To lower it needs --impersonate, too.'),
      flag('--raw', 'AMOUNT is in raw units; 72,072,000 are one display unit.'),
    ],
    again: 'check the balance of the address before you run the command again: it would pay once more',
    examples: {
      'tessera faucet "$(tessera wallet address)"': 'Pays 1,000 display units to the wallet of a node.',
      'tessera faucet dev:3 2.5': 'Pays 2.5 display units to account 3.',
      'tessera faucet dev:3 2.5 --set': 'Gives account 3 what it lacks of 2.5 display units.',
    },
  },
  async run(args, context) {
    const [named = '', text] = args.positionals;
    const amount = text === undefined ? undefined : parseAmount(text, args.has('raw'));
    const from = args.value('from');
    const address = addressOrDev(named);
    const client = devClient(args, context);
    const body = {
      address,
      ...(amount === undefined ? {} : { amount }),
      ...(from === undefined ? {} : { from: addressOrDev(from) }),
      ...(args.has('set') ? { set: true } : {}),
    };
    const paid = await onDevNetwork(client, () => client.call(payFromFaucet, { body }));
    if (paid.tx_hash === null) return printed(args, context, paid, `${address} has that balance already`);
    const where = paid.block_num === null ? 'waits for a block' : `in block ${paid.block_num}`;
    const what = `paid ${showAmount(BigInt(paid.amount))} to ${paid.to_address}\n${paid.tx_hash} ${where}`;
    return printed(args, context, paid, args.has('set') ? `set the balance of ${address}: ${what}` : what);
  },
};

const MAX_BLOCKS = 100_000;

export const mine: OwnCommand = {
  spec: {
    description: [
      'Makes blocks now in a network of `tessera dev`, even empty ones. They are stored when the command ends. Waiting ' +
        'transactions are in the first of them.',
    ],
    arguments: [{ name: 'N', description: `Number of blocks, up to ${MAX_BLOCKS}. Default: 1.` }],
    flags: [
      ...DEV_FLAGS,
      flag(
        '--at SECONDS',
        'Time of the blocks, in Unix seconds, not before the last block. The clock goes on from there.',
      ),
    ],
    again: 'look at the last block (tessera call getLatestBlock) before you run the command again',
    examples: {
      'tessera mine': 'Makes a block.',
      'tessera mine 100': 'Makes 100 blocks, so that a coinbase can be spent.',
      'tessera mine --at 1800000000': 'Makes a block of 15 January 2027, 8 o’clock UTC.',
    },
  },
  async run(args, context) {
    const [text = '1'] = args.positionals;
    const count = Number(text);
    if (!/^[0-9]+$/.test(text) || count < 1 || count > MAX_BLOCKS) {
      throw new UsageError(`N must be a whole number from 1 to ${MAX_BLOCKS}, not "${text}"`);
    }
    const time = integerFlag(args, 'at', 0, MAX_TIME);
    const client = devClient(args, context);
    let first: bigint | undefined;
    let last = 0n;
    for (let left = count; left > 0; left -= MAX_BLOCKS_PER_REQUEST) {
      const body = { count: Math.min(left, MAX_BLOCKS_PER_REQUEST), ...(time === undefined ? {} : { time }) };
      const { block_nums: numbers } = await onDevNetwork(client, () => client.call(makeBlocks, { body }));
      first ??= BigInt(numbers[0] ?? 0);
      last = BigInt(numbers.at(-1) ?? 0);
    }
    const blocks = first === last ? `block ${last}` : `blocks ${first} to ${last}`;
    return printed(args, context, { first, last }, `made ${blocks}`);
  },
};
