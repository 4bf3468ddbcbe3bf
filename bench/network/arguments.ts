/** What `npm run bench:network` is asked for: its options and its help. */

import { parseArgs } from 'node:util';
import { errorMessage } from '../../src/lib/errors.js';
import type { Said } from '../arguments.js';

const HELP = `npm run bench:network -- [options]
  --seconds N             how long each phase posts (20)
  --rounds N              admission alone and all at once take turns so often; medians count (2)
  --block-transactions N  transactions of a block at most, a rule of the network (20000)
  --interval MS           longest time between two blocks (5000)
  --batch N               payments of one post (100)
  --connections N         of the load generator (32)
  --share N               of what was confirmed, for the steady load, in percent (70)
                          the steady load lasts six intervals at least
  --apart                 the mempool node has the first processor for itself, and all others share the rest, as if
                          they were two machines; needs Linux
  --short                 3 seconds, one round, blocks of 500 every second: shows that it works
  --node-option TEXT      argument of Node.js for the nodes, such as --max-semi-space-size=64; may be repeated
  --original FILE         beside the node that Tessera replaces: its program, built in release mode of its Network 1.1.2. Each round
                          starts both networks anew, one after the other, and posts and confirms; blocks of 2000 every 500 ms
  --json FILE             writes all figures
  --cpu-prof FOLDER       writes a profile of every thread of every node
  --help                  shows this`;

export interface NetworkArguments {
  /** How long each phase posts. */
  readonly seconds: number;
  readonly rounds: number;
  /** Transactions of a block at most. */
  readonly transactions: number;
  readonly intervalMs: number;
  /** Payments of one post. */
  readonly batch: number;
  readonly connections: number;
  /** Of what was confirmed, in percent. */
  readonly share: number;
  readonly apart: boolean;
  readonly nodeOptions: readonly string[];
  /** The program of the original node. */
  readonly original: string | undefined;
  readonly json: string | undefined;
  /** The folder of profiles. */
  readonly profiles: string | undefined;
}

export function readNetworkArguments(args: readonly string[]): NetworkArguments | Said {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', default: false },
        short: { type: 'boolean', default: false },
        apart: { type: 'boolean', default: false },
        seconds: { type: 'string' },
        rounds: { type: 'string' },
        'block-transactions': { type: 'string' },
        interval: { type: 'string' },
        batch: { type: 'string' },
        connections: { type: 'string' },
        share: { type: 'string' },
        'node-option': { type: 'string', multiple: true, default: [] },
        original: { type: 'string' },
        json: { type: 'string' },
        'cpu-prof': { type: 'string' },
      },
    });
    if (values.help) return { text: HELP, status: 0 };
    const { short, apart, original } = values;
    // The original has no setting for the size of a block.
    const [transactions, interval] = original === undefined ? [20_000, 5_000] : [2_000, 500];
    const number = (name: NumberOption, usual: number): number => readNumber(name, values[name], usual);
    return {
      seconds: number('seconds', short ? 3 : 20),
      rounds: number('rounds', short ? 1 : 2),
      transactions: number('block-transactions', short ? 500 : transactions),
      intervalMs: number('interval', short ? 1_000 : interval),
      batch: number('batch', 100),
      connections: number('connections', 32),
      share: number('share', 70),
      apart,
      nodeOptions: values['node-option'],
      original,
      json: values.json,
      profiles: values['cpu-prof'],
    };
  } catch (error) {
    return { text: `${errorMessage(error)}\nnpm run bench:network -- --help shows the options.`, status: 2 };
  }
}

type NumberOption = 'seconds' | 'rounds' | 'block-transactions' | 'interval' | 'batch' | 'connections' | 'share';

function readNumber(name: NumberOption, text: string | undefined, usual: number): number {
  if (text === undefined) return usual;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${name} takes a whole number from 1 on, not ${text}.`);
  return Number(text);
}
