/** `tessera wallet sweep`: moves funds at addresses that the words do not cover to addresses that they cover. */

import { sweepWallet } from '../../api/routes/wallet/operations.js';
import { stringifyExact } from '../../lib/json.js';
import type { Wallet } from '../../wallet/wallet.js';
import { type CliContext, flag, type OwnCommand, type ParsedArgs, UsageError } from '../command.js';
import { whileWaiting } from '../output.js';
import { showAmount } from './amounts.js';
import { ASKING_NODE_EXITS, connect, NODE_FLAGS, YES_FLAG } from './connection.js';
import { checkHasKeystore, folderConfig, withFolder } from './own-folder.js';
import { checkMayAsk, confirm } from './prompt.js';
import { needsPassphrase, PASSPHRASE, passphraseOf, secretFlag } from './secrets.js';

export const command: OwnCommand = {
  spec: {
    description: [
      'Works on the folder of a stopped node, or, with --online, on a running node. The recovery words cannot restore keys that ' +
        'were imported, or are older than the words. This command pays all tokens and items of such keys to new addresses of ' +
        'the same wallet, in transactions of up to 500 inputs. The node sends them when it runs; its history shows them as ' +
        'merges.',
      'Locked and unconfirmed funds stay: run the command again later. Keep the old keys: somebody may still pay to ' +
        'them.',
    ],
    flags: [
      ...NODE_FLAGS,
      secretFlag(PASSPHRASE, 'the passphrase of the wallet; not needed with --online'),
      flag('--online', 'Uses the running node, over its API.'),
      YES_FLAG,
    ],
    examples: {
      'tessera wallet sweep --data /var/lib/tessera/user': 'Asks, then makes the transactions.',
    },
    again: 'run the same command again: nothing is moved twice',
    exits: ASKING_NODE_EXITS,
  },
  async run(args, context) {
    checkMayAsk(args, context, 'pays');
    if (args.has('online')) return sweepOnline(args, context);
    if (args.value('url') !== undefined) throw new UsageError('--url is for a running node: add --online');
    const loaded = folderConfig(args, context);
    const { config } = loaded;
    checkHasKeystore(config);
    const isConfigured = args.value(PASSPHRASE.flag) === undefined && !needsPassphrase(loaded);
    const passphrase = isConfigured ? config.wallet.passphrase : await passphraseOf(args, context);
    const sweep = async (wallet: Wallet) => {
      const before = wallet.coverage.uncovered();
      const question = `${showAmount(before)} and the items beside them cannot be restored by the words. Move them?`;
      if (!args.has('yes')) await confirm(question, context);
      const made = await whileWaiting('signing', wallet.coverage.sweep(), context);
      return { made: made.map(({ hash }) => hash), before, left: wallet.coverage.uncovered() };
    };
    const swept = await withFolder(config, (withWallet) => withWallet({ passphrase }, sweep));
    const { made, before, left } = swept;
    const report = args.has('json')
      ? stringifyExact({ transactions: made, tokens: before - left, tokens_left: left })
      : `${made.length} transactions move ${showAmount(before - left)} when the node starts; ${showAmount(left)} stay`;
    context.stdout.write(`${report}\n`);
    return 0;
  },
};

async function sweepOnline(args: ParsedArgs, context: CliContext): Promise<number> {
  const client = connect(args, context);
  const question = `This moves what the words cannot restore in the wallet of ${client.url} to addresses that they do. Go on?`;
  if (!args.has('yes')) await confirm(question, context);
  const swept = await client.call(sweepWallet);
  const [moved, left] = [BigInt(swept.tokens), BigInt(swept.tokens_left)];
  const report = args.has('json')
    ? stringifyExact(swept)
    : `${swept.transactions.length} transactions move ${showAmount(moved)}; ${showAmount(left)} stay`;
  context.stdout.write(`${report}\n`);
  return 0;
}
