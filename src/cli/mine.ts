/** `tessera mine`: blocks on request, from a dev network. */

import { makeBlocks } from '../api/routes/dev/operations.js';
import { MAX_BLOCKS_PER_REQUEST } from '../api/routes/dev/service.js';
import { type OwnCommand, printed, UsageError } from './command.js';
import { DEV_FLAGS, devClient, onDevNetwork } from './dev-command.js';

const MAX_BLOCKS = 100_000;

export const command: OwnCommand = {
  spec: {
    description: [
      'Makes blocks now in a network of `tessera dev`, even empty ones. They are stored when the command ends. Waiting ' +
        'transactions are in the first of them.',
    ],
    arguments: [{ name: 'N', description: `Number of blocks, up to ${MAX_BLOCKS}. Default: 1.` }],
    flags: DEV_FLAGS,
    again: 'look at the last block (tessera call getLatestBlock) before you run the command again',
    examples: [
      { line: 'tessera mine', does: 'Makes a block.' },
      { line: 'tessera mine 100', does: 'Makes 100 blocks, so that a coinbase can be spent.' },
    ],
  },
  async run(args, context) {
    const [text = '1'] = args.positionals;
    const count = Number(text);
    if (!/^[0-9]+$/.test(text) || count < 1 || count > MAX_BLOCKS) {
      throw new UsageError(`N must be a whole number from 1 to ${MAX_BLOCKS}, not "${text}"`);
    }
    const client = devClient(args, context);
    let first: bigint | undefined;
    let last = 0n;
    for (let left = count; left > 0; left -= MAX_BLOCKS_PER_REQUEST) {
      const body = { count: Math.min(left, MAX_BLOCKS_PER_REQUEST) };
      const { block_nums: numbers } = await onDevNetwork(client, () => client.call(makeBlocks, { body }));
      first ??= BigInt(numbers[0] ?? 0);
      last = BigInt(numbers.at(-1) ?? 0);
    }
    const blocks = first === last ? `block ${last}` : `blocks ${first} to ${last}`;
    return printed(args, context, { first, last }, `made ${blocks}`);
  },
};
