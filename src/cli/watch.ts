/** `tessera watch`: prints the events of a node as they happen, and resumes after the last one if the connection breaks. */

import { setTimeout as sleep } from 'node:timers/promises';
import { readEvents } from '../client/events.js';
import { TesseraError } from '../lib/errors.js';
import { NODE_ROLES } from '../lib/roles.js';
import { TimeLimit } from '../lib/time-limit.js';
import type { CliContext, Command, CommandSpec, ParsedArgs } from './command.js';
import { jsonLine, textLine } from './event-lines.js';
import { printFailure } from './lifecycle.js';
import { accessNode, nodeFlags, type WantedNode, withAdvice } from './node-access.js';

/** Milliseconds before the first and the longest wait for another connection. */
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
/** Milliseconds of silence after which a connection is given up; a node sends something every 15 s. */
const SILENCE_MS = 45_000;

const spec: CommandSpec = {
  name: 'watch',
  summary: 'Prints the events of a node as they happen',
  description: [
    'Reads the event stream of a node (GET /v1/events) and prints a line for each event: blocks on any node, transactions ' +
      'on mempool nodes, payments and balance on nodes with a wallet, which needs an API key.',
    'If the connection breaks, it is reopened, and continues after the last event. A line "reset" says that some events ' +
      'are lost, because the node was restarted or there were too many. Ends at SIGINT.',
  ],
  flags: [
    ...nodeFlags(
      NODE_ROLES,
      'mempool (the default), storage, miner or user (the default for topic wallet).',
      'where the node of the data folder listens, else as configured: http://127.0.0.1:3003 for a mempool node.',
    ),
    {
      name: 'topics',
      short: 't',
      value: 'LIST',
      completes: ['blocks', 'transactions', 'wallet'],
      description: 'Topics, separated by commas: blocks, transactions, wallet. Default: all topics of the node.',
    },
    { name: 'json', description: 'Prints each event as a JSON object on a line: id, event, data.' },
  ],
  examples: [
    { line: 'tessera watch', does: 'Blocks and transactions of the mempool node on this machine.' },
    { line: 'tessera watch -u http://127.0.0.1:3000 -t wallet', does: 'Payments and balance of the user node.' },
    { line: 'tessera watch -t blocks --json | jq .data.block_num', does: 'Block numbers, for programs.' },
  ],
  exits: { 1: 'the node refuses: a wrong topic, or no API key' },
};

export const command: Command = { spec, run: watch };

async function watch(args: ParsedArgs, context: CliContext): Promise<number> {
  const topics = args.value('topics');
  const { url: base, apiKey, fetch } = accessNode(args, context, nodeFor(topics));
  const url = new URL('/v1/events', base);
  if (topics !== undefined) url.searchParams.set('topics', topics);
  const show = args.has('json') ? jsonLine : textLine;
  const stop = new AbortController();
  const removers = (['SIGINT', 'SIGTERM'] as const).map((name) => context.onSignal(name, () => stop.abort()));
  let lastEventId: string | undefined;
  let failures = 0;
  try {
    while (!stop.signal.aborted) {
      try {
        for await (const { id, event } of withWatchdog(stop.signal, (signal) =>
          readEvents({ url: url.href, apiKey, fetch, lastEventId, signal }),
        )) {
          failures = 0;
          if (id !== '') lastEventId = id;
          if (event !== undefined) context.stdout.write(`${show(event)}\n`);
        }
      } catch (error) {
        if (stop.signal.aborted) break;
        if (!mayPass(error)) throw withAdvice(error);
        printFailure(error, context);
      }
      const delay = Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS);
      failures++;
      await sleep(delay, undefined, { signal: stop.signal }).catch(() => undefined);
    }
    return 0;
  } finally {
    for (const remove of removers) remove();
  }
}

/** Any node has events; those of a wallet are looked for as `tessera wallet` does. */
function nodeFor(topics: string | undefined): WantedNode {
  const fallback = topics?.split(',').includes('wallet') === true ? 'user' : 'mempool';
  return { roles: NODE_ROLES, fallback, refusal: (role) => `${role} nodes have no events` };
}

/** What another attempt may not meet: the node is away, has too much to do, or is broken for now. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof TesseraError)) return false;
  const { status } = error.details;
  return typeof status === 'number' ? status >= 500 || status === 429 : error.code === 'node_unreachable';
}

/** Stops reading when nothing comes for too long: a broken network gives no error. */
async function* withWatchdog<T>(
  outer: AbortSignal,
  read: (signal: AbortSignal) => AsyncGenerator<T>,
): AsyncGenerator<T> {
  // The timer does not keep the process alive; the connection does.
  const limit = new TimeLimit(SILENCE_MS, outer, () => new Error(`nothing came for ${SILENCE_MS / 1_000} s`));
  try {
    for await (const value of read(limit.signal)) {
      limit.restart();
      yield value;
    }
  } finally {
    limit.end();
  }
}
