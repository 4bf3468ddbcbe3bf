/** `tessera wallet new`: the wallet of a node before its first start, with its passphrase and first address. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/schema.js';
import { DataDir } from '../../db/data-dir.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { stringifyExact } from '../../lib/json.js';
import { silentLogger } from '../../lib/logger.js';
import { systemRandom } from '../../lib/random.js';
import { KEYSTORE_FILE } from '../../wallet/keys/keystore.js';
import { type CliContext, type Command, type ParsedArgs, UsageError } from '../command.js';
import { JSON_FLAG, ROLE_FLAGS, walletConfig } from './connection.js';
import { INTERRUPTED } from './prompt.js';
import { askNewPassphrase, givenSecret, PASSPHRASE, secretFlag } from './secrets.js';
import { needsPassphrase } from './start-passphrase.js';
import { whileWaiting } from './waiting.js';

export const command: Command = {
  spec: {
    name: 'wallet new',
    summary: 'Makes the wallet of a node before its first start',
    description: [
      'Creates the data folder of a user or miner node if needed, and the wallet in it: the file keystore.json ' +
        'with the master key, encrypted under a passphrase that you choose, and a first address, which is printed. Needs no ' +
        'network. A folder that already has a wallet is left as it is (status 1).',
      'A node that starts without a wallet creates one with the passphrase of its configuration. This command lets you ' +
        'choose the passphrase and gives you an address before the first start. The node then needs the passphrase at each ' +
        'start: from wallet.passphrase_file or TESSERA_WALLET__PASSPHRASE, or typed on a terminal.',
      'Whoever has keystore.json, the folder db/wallet and the passphrase has the funds; if one of the three is lost, so ' +
        'are the funds. Keep copies.',
    ],
    flags: [...ROLE_FLAGS, secretFlag(PASSPHRASE, 'the passphrase of the new wallet'), JSON_FLAG],
    examples: [
      { line: 'tessera wallet new --data /var/lib/tessera/user', does: 'Asks twice for a passphrase.' },
      {
        line: 'tessera wallet new --role miner --config miner.toml --passphrase-file /run/secrets/wallet',
        does: 'The wallet of a miner, for a script.',
      },
    ],
    exits: { [INTERRUPTED]: 'interrupted at a question' },
  },
  async run(args, context) {
    const loaded = walletConfig(args, context);
    const { config } = loaded;
    const keystore = join(config.node.dataDir, KEYSTORE_FILE);
    if (existsSync(keystore))
      throw new TesseraError('invalid_request', `${keystore} exists: this folder has a wallet already`);
    const configured = needsPassphrase(loaded) ? undefined : config.wallet.passphrase;
    const passphrase = await choose(args, context, configured);
    const made = makeWallet({ ...config, wallet: { ...config.wallet, passphrase } });
    const address = await whileWaiting('making the wallet', made, context, systemClock);
    context.stderr.write(`Created ${keystore}. The first address of the wallet:\n`);
    context.stdout.write(args.has('json') ? `${stringifyExact({ address, keystore })}\n` : `${address}\n`);
    return 0;
  },
};

/** The passphrase from the flag or variable of this command, else as configured, else typed twice. */
async function choose(args: ParsedArgs, context: CliContext, configured: string | undefined): Promise<string> {
  const isNamed = args.value(PASSPHRASE.flag) !== undefined || context.env[PASSPHRASE.env] !== undefined;
  if (!isNamed && configured !== undefined) return configured;
  const passphrase =
    givenSecret(PASSPHRASE, args, context) ?? (await askNewPassphrase('Passphrase for the wallet: ', context));
  if (passphrase.trim() === '') throw new UsageError('the passphrase is blank: choose another');
  return passphrase;
}

async function makeWallet(config: Config): Promise<string> {
  // The composition root is imported only when it is needed, because it imports half the program.
  const [{ readGenesis }, { openWallet }] = await Promise.all([
    import('../../node/genesis-file.js'),
    import('../../node/open-wallet.js'),
  ]);
  const genesis = await readGenesis(config.network.genesisFile);
  const dataDir = await DataDir.open(config.node.dataDir, { role: config.node.role, networkName: config.network.name });
  try {
    const modules = { clock: systemClock, random: systemRandom, logger: () => silentLogger };
    const wallet = await openWallet({ config, genesis, dataDir, ...modules });
    try {
      return await wallet.newAddress();
    } finally {
      await wallet.close();
    }
  } finally {
    await dataDir.close();
  }
}
