/** `tessera trade …`: trades of a node's wallet with other wallets, over its API, and the files that pass between the parties. */

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Result } from '../api/operation.js';
import {
  acceptTrade,
  cancelTrade,
  completeTrade,
  getTrade,
  getTrades,
  offerTrade,
} from '../api/routes/wallet/trade-operations.js';
import { writeFileDurable } from '../db/write-file-durable.js';
import { utf8 } from '../lib/bytes.js';
import { errorMessage, isTesseraError } from '../lib/errors.js';
import { parseJsonFile, stringifyExact } from '../lib/json.js';
import { printable, printableJson } from '../lib/printable.js';
import { MAX_DOCUMENT_FILE, readBoundedText } from '../lib/read-bounded.js';
import {
  type CliContext,
  ExitError,
  type FlagSpec,
  flag,
  group,
  integerFlag,
  type OwnCommand,
  type ParsedArgs,
  printed,
  UsageError,
} from './command.js';
import { lookUntil } from './look-again.js';
import { writeNewFile } from './named-file.js';
import { doOnce, IDEMPOTENCY_KEY_FLAG } from './once.js';
import { table } from './output.js';
import { parseAmount, parseCount, showAmount } from './wallet/amounts.js';
import { ASKING_NODE_EXITS, connect, NODE_EXITS, NODE_FLAGS, YES_FLAG } from './wallet/connection.js';
import { askSecret, checkMayAsk, confirm } from './wallet/prompt.js';
import { givenSecret, PASSPHRASE, secretFlag } from './wallet/secrets.js';
import { UNKNOWN } from './writes.js';

export type Trade = Result<typeof getTrade>;

const FILE_MODE = 0o644;

const OUT_FLAG: FlagSpec = flag('--out FILE', 'The file to write for the other party. It must not exist yet.');

const RAW_FLAG: FlagSpec = flag('--raw', 'Tokens are in raw units.');

/** The asset in a text: `1.5` for tokens, `3@GENESIS_HASH` for items. Throws `UsageError`. */
export function parseAsset(text: string, isRaw: boolean) {
  const at = text.indexOf('@');
  if (at < 0) return { kind: 'token' as const, amount: parseAmount(text, isRaw) };
  return { kind: 'item' as const, amount: parseCount(text.slice(0, at)), genesis_hash: text.slice(at + 1) };
}

async function readDocumentFile(file: string): Promise<Record<string, string | number | object | null>> {
  let value: unknown;
  try {
    value = parseJsonFile(readBoundedText(file, MAX_DOCUMENT_FILE));
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${errorMessage(error)}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Record<string, string | number | object | null>;
  }
  throw new UsageError(`${file} holds no document of a trade`);
}

/**
 * Shows the trade after a step, and writes its document for the other party, if there is one, to the file of --out, else to standard
 * output: only if it `isForHand`, as no link has delivered it, and not with --json, as the trade has it.
 */
type HandOver = (trade: Trade, document: object | null, isForHand: boolean) => Promise<number>;

/**
 * Makes the file of --out, does the work, and removes the file when it is still empty. Throws `UsageError` when the file exists, and
 * `invalid_request` when it cannot be made: then no work was done.
 */
async function withOut(
  args: ParsedArgs,
  { stdout, stderr }: CliContext,
  work: (handOver: HandOver) => Promise<number>,
): Promise<number> {
  const file = args.value(OUT_FLAG.name);
  const isJson = args.has('json');
  let isGiven = false;
  const show = (document: object): unknown => stdout.write(`${printableJson(JSON.stringify(document, null, 2))}\n`);
  const give = async (path: string, document: object): Promise<void> => {
    try {
      await writeFileDurable(path, utf8(`${JSON.stringify(document, null, 2)}\n`), FILE_MODE);
      isGiven = true;
    } catch (error) {
      // The step is done: the document must not be lost. With --json the trade has it.
      if (!isJson) show(document);
      stderr.write(`warning: ${path} cannot be written (${errorMessage(error)}): the document is shown instead\n`);
    }
  };
  if (file !== undefined && existsSync(file)) throw new UsageError(`${file} exists; name another file`);
  if (file !== undefined) await writeNewFile(file, '', FILE_MODE);
  try {
    return await work(async (trade, document, isForHand) => {
      if (isJson) stdout.write(`${stringifyExact(trade)}\n`);
      if (document !== null && file !== undefined) await give(file, document);
      else if (document !== null && isForHand && !isJson) show(document);
      stderr.write(showTrade(trade));
      return 0;
    });
  } finally {
    if (file !== undefined && !isGiven) await rm(file, { force: true });
  }
}

function showAsset(asset: Trade['give']): string {
  if (asset.kind === 'token') return showAmount(BigInt(asset.amount));
  return `${asset.amount} item${BigInt(asset.amount) === 1n ? '' : 's'} ${printable(asset.genesis_hash ?? '')}`;
}

/** Shows Unix seconds; values beyond any date are shown unchanged. */
function showTime(seconds: Trade['expires_at']): string {
  const date = new Date(Number(seconds) * 1_000);
  return Number.isNaN(date.getTime()) ? `second ${seconds}` : date.toISOString();
}

export function showTrade({ trade_id: id, state, give, get, metadata, reason, expires_at: end }: Trade): string {
  return [
    `trade ${printable(id)}`,
    `  state    ${printable(state)}${reason === null ? '' : `: ${printable(reason)}`}`,
    `  gives    ${showAsset(give)}`,
    `  gets     ${showAsset(get)}`,
    ...(metadata === null ? [] : [`  metadata ${printable(metadata)}`]),
    `  stands until ${showTime(end)}`,
  ]
    .map((line) => `${line}\n`)
    .join('');
}

const MAX_VALID_FOR = 30 * 86_400;
const TRADE_ID = /^[0-9a-f]{64}$/;
const ENDS: ReadonlySet<string> = new Set(['done', 'cancelled', 'expired', 'failed']);
const ID = { name: 'ID', required: true, description: 'Its ID, as `tessera trade list` shows it.' };

const offer: OwnCommand = {
  spec: {
    description: [
      'Makes an offer, and reserves what it gives until the trade has ended. The offer is written to --out, or shown. Anyone ' +
        'who has it can accept it; the first acceptance counts. With --to it is sent to another node, which lists it.',
      'With --reachable the offer names the address of this node, and the taker’s node sends the acceptance there. ' +
        'Without it the acceptance is a file, for `tessera trade complete`.',
    ],
    flags: [
      flag('--give WHAT', 'What the wallet gives: 1.5, or 3@GENESIS_HASH.'),
      flag('--want WHAT', 'What the wallet gets: tokens or items, in the same form.'),
      RAW_FLAG,
      flag('--valid-for SECONDS', 'How long the offer is valid. Default: 3600.'),
      flag('--to HOST:PORT', 'A user or miner node to send the offer to.'),
      flag('--reachable', 'Other nodes can reach this node: it receives the acceptance over a link.'),
      OUT_FLAG,
      ...NODE_FLAGS,
      secretFlag(PASSPHRASE, 'the passphrase of the wallet'),
      IDEMPOTENCY_KEY_FLAG,
      YES_FLAG,
    ],
    examples: {
      'tessera trade offer --give 1.5 --want 3@GENESIS_HASH --out offer.json': 'Writes offer.json.',
      'tessera trade offer --give 1@GENESIS_HASH --want 20 --to 10.0.0.7:12360': 'Offers it to the node there.',
    },
    again: 'the message says how to repeat it safely',
    exits: ASKING_NODE_EXITS,
  },
  run: (args, context) =>
    withOut(args, context, async (handOver) => {
      const [give, want] = [args.value('give'), args.value('want')];
      if (give === undefined || want === undefined) throw new UsageError('say what is traded: --give and --want');
      const isRaw = args.has('raw');
      const assets = { give: parseAsset(give, isRaw), want: parseAsset(want, isRaw) };
      const validFor = integerFlag(args, 'valid-for', 1, MAX_VALID_FOR) ?? null;
      checkMayAsk(args, context, 'offers');
      const given = givenSecret(PASSPHRASE, args, context);
      const client = connect(args, context);
      const question = `Give ${showAsset(assets.give)} for ${showAsset(assets.want)}?`;
      if (!args.has('yes')) await confirm(question, context);
      const passphrase = given ?? (await askSecret(PASSPHRASE.question, context));
      const peer = args.value('to') ?? null;
      const body = { ...assets, valid_for: validFor, peer, reachable: args.has('reachable'), passphrase };
      const trade = await doOnce(offerTrade, { body }, client, { args, context });
      return handOver(trade, trade.offer, peer === null);
    }),
};

const accept: OwnCommand = {
  spec: {
    description: [
      'Accepts the offer in a file, or a received offer by its ID (`tessera trade list`), and reserves what it asks for. If the ' +
        'offer names the node of its maker, this node sends the acceptance there until the offer expires, and the trade ' +
        'continues by itself. Otherwise the acceptance is written to --out, or shown. Give it to the maker, and the answer to ' +
        '`tessera trade complete`.',
    ],
    arguments: [
      {
        name: 'OFFER',
        completes: 'files',
        required: true,
        description: 'File with the offer, or the ID of a received offer.',
      },
    ],
    flags: [OUT_FLAG, ...NODE_FLAGS, secretFlag(PASSPHRASE, 'the passphrase of the wallet'), YES_FLAG],
    examples: {
      'tessera trade accept offer.json --out acceptance.json': 'Asks, then accepts.',
    },
    again: 'run the same command again: an offer is accepted only once',
    exits: ASKING_NODE_EXITS,
  },
  run: (args, context) =>
    withOut(args, context, async (handOver) => {
      const [named = ''] = args.positionals;
      checkMayAsk(args, context, 'accepts');
      const given = givenSecret(PASSPHRASE, args, context);
      const client = connect(args, context);
      const offer = TRADE_ID.test(named)
        ? (await client.call(getTrade, { params: { trade_id: named } })).offer
        : await readDocumentFile(named);
      if (!args.has('yes'))
        await confirm(
          `Give ${printable(JSON.stringify(offer.want))} for ${printable(JSON.stringify(offer.give))}?`,
          context,
        );
      const passphrase = given ?? (await askSecret(PASSPHRASE.question, context));
      const trade = await client.call(acceptTrade, { body: { offer, passphrase } });
      return handOver(trade, trade.acceptance, trade.peer === null);
    }),
};

const complete: OwnCommand = {
  spec: {
    description: [
      'For the maker of an offer, FILE is the acceptance. The command sends the maker’s half, and writes the confirmation for ' +
        'the taker to --out, or shows it. For the taker, FILE is the confirmation. The command sends the taker’s half, and a ' +
        'block will have both halves or neither. A changed file, or a file of another trade, is refused. Using a file twice ' +
        'changes nothing.',
    ],
    arguments: [{ name: 'FILE', required: true, description: 'The acceptance or the confirmation.' }],
    flags: [OUT_FLAG, ...NODE_FLAGS],
    examples: {
      'tessera trade complete acceptance.json --out confirmation.json': 'The maker confirms.',
      'tessera trade complete confirmation.json': 'The taker sends its half too.',
    },
    again: 'run the same command again: using a file twice changes nothing',
    exits: NODE_EXITS,
  },
  run: (args, context) =>
    withOut(args, context, async (handOver) => {
      const document = await readDocumentFile(args.positionals[0] ?? '');
      const trade = await connect(args, context).call(completeTrade, { body: { document } });
      return handOver(trade, trade.side === 'maker' ? trade.confirmation : null, true);
    }),
};

const list: OwnCommand = {
  spec: {
    description: [
      'Newest first. Offers from other nodes are `received`: nothing is reserved for them before you accept them.',
    ],
    flags: NODE_FLAGS,
    examples: {
      'tessera trade list': 'Shows all open trades, and the last closed ones.',
    },
    exits: NODE_EXITS,
  },
  async run(args, context) {
    const { trades } = await connect(args, context).call(getTrades, {});
    const rows = trades.map((one) => [one.trade_id, one.state, showAsset(one.give), showAsset(one.get)]);
    const columns = ['TRADE', 'STATE', 'GIVES', 'GETS'];
    return printed(args, context, { trades }, rows.length === 0 ? 'no trades' : table(columns, rows));
  },
};

const watch: OwnCommand = {
  spec: {
    description: [
      'Prints each state of the trade until it ends. The status is 0 if it took place, and 1 if it was cancelled, ' +
        'expired or failed. If the node restarts meanwhile, the command asks it again.',
    ],
    arguments: [ID],
    flags: NODE_FLAGS,
    examples: {
      'tessera trade watch ID': 'Waits for the end of the trade.',
    },
    exits: {
      1: 'the trade did not take place, or the node cannot be reached',
      [UNKNOWN]: 'the node has not answered for ten minutes: the result of the trade is not known',
    },
  },
  async run(args, context) {
    const client = connect(args, context);
    let before = '';
    const look = async () => {
      const trade = await client.call(getTrade, { params: { trade_id: args.positionals[0] ?? '' } });
      if (trade.state !== before) {
        before = trade.state;
        context.stdout.write(args.has('json') ? `${stringifyExact(trade)}\n` : stateLine(trade));
      }
      return ENDS.has(trade.state) ? trade.state : undefined;
    };
    // A node that is not there from the start may not come.
    const end =
      (await look()) ??
      (await lookUntil(look, context).catch((error) => {
        if (!isTesseraError(error)) throw error;
        const message = `${errorMessage(error)}; the result of the trade is not known: look again later`;
        throw new ExitError(UNKNOWN, error.code, message);
      }));
    return end === 'done' ? 0 : 1;
  },
};

function stateLine({ state, reason }: Trade): string {
  return reason === null ? `${state}\n` : `${state}: ${printable(reason)}\n`;
}

const cancel: OwnCommand = {
  spec: {
    description: [
      'Ends a trade, and releases what it reserved. If this wallet has already sent its half, its inputs are first ' +
        'paid back to the wallet. Until a block has that, the trade is `cancelling` and may still take place.',
    ],
    arguments: [ID],
    flags: [...NODE_FLAGS, YES_FLAG],
    examples: {
      'tessera trade cancel ID': 'Asks, then cancels.',
    },
    again: 'look at it with tessera trade list, and run the command again if needed',
    exits: ASKING_NODE_EXITS,
  },
  async run(args, context) {
    const [id = ''] = args.positionals;
    const client = connect(args, context);
    if (!args.has('yes')) await confirm(`Cancel the trade ${id}?`, context);
    const trade = await client.call(cancelTrade, { params: { trade_id: id } });
    return printed(args, context, trade, `${id} ${trade.state}`);
  },
};

export const command: OwnCommand = group(
  'trade',
  [
    ['offer', 'Offers tokens or items in exchange for others', offer],
    ['accept', 'Accepts an offer', accept],
    ['complete', 'Continues a trade with the file of the other party', complete],
    ['list', 'Lists the trades of the wallet, and received offers', list],
    ['watch', 'Shows the progress of a trade, until its end', watch],
    ['cancel', 'Cancels a trade', cancel],
  ],
  {
    description: [
      'Two wallets exchange tokens or items in one step: a block has both halves or neither. One wallet makes an ' +
        'offer, the other accepts it, the first confirms. Offer, acceptance and confirmation are files. Nodes that ' +
        'can reach each other exchange them over a link.',
      'Give or want an amount of tokens in display units, such as 1.5, or a number of items of a class: 3@GENESIS_HASH.',
    ],
    examples: {
      'tessera trade offer --give 1.5 --want 3@GENESIS_HASH --out offer.json':
        'Offers one and a half display units for three items.',
      'tessera trade accept offer.json': 'Asks, then accepts it.',
    },
  },
);
