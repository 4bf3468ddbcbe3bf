/** `tessera trade offer`: offers tokens or items for others, in a file or to a node. */

import { offerTrade } from '../../api/routes/wallet/trade-operations.js';
import { stringifyExact } from '../../lib/json.js';
import { type CliContext, integerFlag, type OwnCommand, type ParsedArgs, UsageError } from '../command.js';
import { doOnce, IDEMPOTENCY_KEY_FLAG } from '../once.js';
import { connect, NODE_EXITS, NODE_FLAGS, YES_FLAG } from '../wallet/connection.js';
import { ASKING_EXITS, askSecret, checkMayAsk, confirm } from '../wallet/prompt.js';
import { givenSecret, PASSPHRASE, secretFlag } from '../wallet/secrets.js';
import { type HandOver, OUT_FLAG, parseAsset, RAW_FLAG, showAsset, showTrade, withOut } from './shown.js';

const MAX_VALID_FOR = 30 * 86_400;

export const command: OwnCommand = {
  spec: {
    description: [
      'Makes an offer, and reserves what it gives until the trade has ended. The offer is written to --out, or shown. Anyone ' +
        'who has it can accept it; the first acceptance counts. With --to it is sent to another node, which lists it.',
      'With --reachable the offer names the address of this node, and the taker’s node sends the acceptance there. ' +
        'Without it the acceptance is a file, for `tessera trade complete`.',
    ],
    flags: [
      { name: 'give', value: 'WHAT', description: 'What the wallet gives: 1.5, or 3@GENESIS_HASH.' },
      { name: 'want', value: 'WHAT', description: 'What the wallet gets: tokens or items, in the same form.' },
      RAW_FLAG,
      { name: 'valid-for', value: 'SECONDS', description: 'How long the offer is valid. Default: 3600.' },
      { name: 'to', value: 'HOST:PORT', description: 'A user or miner node to send the offer to.' },
      { name: 'reachable', description: 'Other nodes can reach this node: it receives the acceptance over a link.' },
      OUT_FLAG,
      ...NODE_FLAGS,
      secretFlag(PASSPHRASE, 'the passphrase of the wallet'),
      IDEMPOTENCY_KEY_FLAG,
      YES_FLAG,
    ],
    examples: [
      { line: 'tessera trade offer --give 1.5 --want 3@GENESIS_HASH --out offer.json', does: 'Writes offer.json.' },
      {
        line: 'tessera trade offer --give 1@GENESIS_HASH --want 20 --to 10.0.0.7:12360',
        does: 'Offers it to the node there.',
      },
    ],
    again: 'the message says how to repeat it safely',
    exits: {
      ...NODE_EXITS,
      ...ASKING_EXITS,
    },
  },
  run: (args, context) => withOut(args, context, (out) => offer(args, context, out)),
};

async function offer(args: ParsedArgs, context: CliContext, out: HandOver): Promise<number> {
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
  if (args.has('json')) context.stdout.write(`${stringifyExact(trade)}\n`);
  if (!args.has('json') || args.value(OUT_FLAG.name) !== undefined) {
    await out.give(peer === null || args.value(OUT_FLAG.name) !== undefined ? trade.offer : null);
  }
  context.stderr.write(showTrade(trade));
  return 0;
}
