/** `tessera watch`: prints the events of a node as they happen, and resumes after the last one if the connection breaks. */

import { isObject } from '../chain/json-fields.js';
import { followEvents, type ReceivedEvent } from '../client/events.js';
import { type JsonValue, parseExactJson, stringifyExact } from '../lib/json.js';
import { printable, printableJson } from '../lib/printable.js';
import { NODE_ROLES, rolesWithTopics } from '../lib/roles.js';
import { type CliContext, flag, type OwnCommand, type OwnSpec, type ParsedArgs } from './command.js';
import { withAdvice } from './command-client.js';
import { printFailure } from './lifecycle.js';
import { accessNode, nodeFlags, type WantedNode } from './node-access.js';
import { interruptible } from './output.js';

const spec: OwnSpec = {
  description: [
    'Reads the event stream of a node (GET /v1/events) and prints a line for each event: blocks on any node, transactions on ' +
      'mempool nodes, payments and balance on nodes with a wallet, which needs an API key.',
    'If the connection breaks, it is reopened, and continues after the last event. A line "reset" means that events ' +
      'were lost, because the node restarted or there were too many. Ends at SIGINT.',
  ],
  flags: [
    ...nodeFlags(
      NODE_ROLES,
      'mempool (the default), storage, miner or user (the default for topic wallet).',
      'where the node of the data folder listens, else as configured: http://127.0.0.1:3003 for a mempool node.',
    ),
    flag(
      '-t, --topics LIST',
      'Topics, separated by commas: blocks, transactions, wallet. Default: all topics of the node.',
      { completes: ['blocks', 'transactions', 'wallet'] },
    ),
  ],
  json: 'Prints each event as a JSON object on a line: id, event, data.',
  examples: {
    'tessera watch': 'Prints blocks and transactions of the mempool node on this machine.',
    'tessera watch -u http://127.0.0.1:3000 -t wallet': 'Prints payments and balance of the user node.',
    'tessera watch -t blocks --json | jq .data.block_num': 'Prints block numbers, for programs.',
  },
  exits: { 1: 'the node refuses: a wrong topic, or no API key' },
};

export const command: OwnCommand = { spec, run: watch };

async function watch(args: ParsedArgs, context: CliContext): Promise<number> {
  const topics = args.value('topics');
  const { url: base, apiKey, fetch } = accessNode(args, context, nodeFor(topics));
  const url = new URL('/v1/events', base);
  if (topics !== undefined) url.searchParams.set('topics', topics);
  const show = args.has('json') ? jsonLine : textLine;
  const onLost = (error: unknown): void => printFailure(error, context);
  return interruptible(context, async (signal) => {
    const events = followEvents({ url: url.href, apiKey, fetch, signal }, onLost);
    for await (const event of events) context.stdout.write(`${show(event)}\n`);
    return 0;
  }).catch((error) => {
    throw withAdvice(error);
  });
}

function nodeFor(topics: string | undefined): WantedNode {
  const roles = [...rolesWithTopics(topics?.split(',')), ...NODE_ROLES];
  return { roles, refusal: (role) => `${role} nodes have no events` };
}

/** An event as a line of JSON: `{"id":"7-1","event":"block","data":{"block_num":7}}`; data that is not JSON is shown as a text. */
export function jsonLine({ id, name, data }: ReceivedEvent): string {
  const value = jsonOf(data);
  return printableJson(stringifyExact({ id, event: name, data: value === undefined ? data : value }));
}

/** An event as a line of text: `12:00:01 block block_num=7 hash=b1… transactions=2`. */
export function textLine({ name, data }: ReceivedEvent): string {
  const value = jsonOf(data);
  const members = isObject(value)
    ? Object.entries(value)
        .filter(([, member]) => member !== null)
        .map(([member, of]) => `${member}=${typeof of === 'object' ? stringifyExact(of) : String(of)}`)
    : [data];
  return [new Date().toISOString().slice(11, 19), name, ...members].map((text) => printable(text)).join(' ');
}

/** The data of an event; undefined where it is not JSON. */
function jsonOf(data: string): JsonValue | undefined {
  try {
    return parseExactJson(data, { anyName: true });
  } catch {
    return undefined;
  }
}
