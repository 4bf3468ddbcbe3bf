/** `tessera watch`: prints the events of a node as they happen, and resumes after the last one if the connection breaks. */

import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_PORTS } from '../config/ports.js';
import { errorMessage, isTesseraError, TesseraError } from '../lib/errors.js';
import { printable } from '../lib/printable.js';
import { TimeLimit } from '../lib/time-limit.js';
import { type CliContext, type Command, type CommandSpec, type ParsedArgs, UsageError } from './command.js';
import { jsonLine, textLine } from './event-lines.js';
import { readEvents } from './event-source.js';

const DEFAULT_URL = `http://127.0.0.1:${API_PORTS.mempool}`;
const API_KEY_FILE_ENV = 'TESSERA_API_KEY_FILE';
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
    { name: 'url', short: 'u', value: 'URL', description: `Base URL of the node. Default: ${DEFAULT_URL}.` },
    {
      name: 'topics',
      short: 't',
      value: 'LIST',
      description: 'Topics, separated by commas: blocks, transactions, wallet. Default: all topics of the node.',
    },
    { name: 'json', description: 'Prints each event as a JSON object on a line: id, event, data.' },
    {
      name: 'api-key-file',
      value: 'FILE',
      description: `File with an API key of the node, for topic wallet. Default: the file that ${API_KEY_FILE_ENV} names.`,
    },
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
  const url = eventsUrl(args);
  const apiKey = await readApiKey(args, context);
  const show = args.has('json') ? jsonLine : textLine;
  const stop = new AbortController();
  const removers = (['SIGINT', 'SIGTERM'] as const).map((name) => context.onSignal(name, () => stop.abort()));
  let lastEventId: string | undefined;
  let failures = 0;
  try {
    while (!stop.signal.aborted) {
      try {
        for await (const { id, event } of withWatchdog(stop.signal, (signal) =>
          readEvents({ url, apiKey, lastEventId, signal }),
        )) {
          failures = 0;
          if (id !== '') lastEventId = id;
          if (event !== undefined) context.stdout.write(`${show(event)}\n`);
        }
      } catch (error) {
        if (stop.signal.aborted) break;
        if (!isTesseraError(error, 'peer_unreachable')) throw error;
        context.stderr.write(`tessera: no connection to ${url}: ${printable(errorMessage(error))}\n`);
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

function eventsUrl(args: ParsedArgs): string {
  const base = args.value('url') ?? DEFAULT_URL;
  try {
    const url = new URL('/v1/events', base);
    const topics = args.value('topics');
    if (topics !== undefined) url.searchParams.set('topics', topics);
    return url.href;
  } catch {
    throw new UsageError(`--url must be a URL such as ${DEFAULT_URL}, not "${base}"`);
  }
}

async function readApiKey(args: ParsedArgs, { env }: CliContext): Promise<string | undefined> {
  const file = args.value('api-key-file') ?? env[API_KEY_FILE_ENV];
  if (file === undefined) return undefined;
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (cause) {
    throw new TesseraError('invalid_request', `the API key file cannot be read: ${errorMessage(cause)}`, { cause });
  }
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
