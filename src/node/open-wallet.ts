/** Opens the wallet in a node's data directory: for the roles that have one, and for `tessera wallet new`. */

import { join } from 'node:path';
import { isTesseraError, TesseraError } from '../lib/errors.js';
import { KEYSTORE_FILE } from '../wallet/keys/keystore.js';
import type { WalletWords } from '../wallet/keys/words.js';
import { loadWallet, type Wallet } from '../wallet/wallet.js';
import type { RoleContext } from './roles/role.js';

export type WalletContext = Pick<RoleContext, 'config' | 'genesis' | 'dataDir' | 'clock' | 'random' | 'logger'> &
  Partial<Pick<RoleContext, 'metrics' | 'producers' | 'room' | 'keepsPassphrase'>> & {
    /** Words for a new wallet; random ones by default. */
    readonly words?: WalletWords | undefined;
    /** See `WalletOptions`. */
    readonly areWordsNew?: boolean | undefined;
    /** True when small outputs are not joined: for commands that only bring the wallet up to date. */
    readonly staysAsItIs?: boolean;
  };

/** Opens the wallet, or makes it. Throws like `Wallet.open`; an error about the passphrase says how to give it. */
export async function openWallet(context: WalletContext): Promise<Wallet> {
  const { config, dataDir, genesis } = context;
  const seedIndex = config.wallet.genesisSeedIndex;
  try {
    return await loadWallet(
      {
        keystoreFile: join(dataDir.path, KEYSTORE_FILE),
        networkName: config.network.name,
        passphrase: config.wallet.passphrase,
        // Wallets with a seed exist only on networks whose keys are public.
        allowBlankPassphrase: seedIndex !== undefined,
        keepsPassphrase: context.keepsPassphrase === true,
        aggregateAbove: context.staysAsItIs === true ? null : config.wallet.aggregateAbove,
        spendOwnChange: config.wallet.spendOwnChange,
        activationHeight: config.mining.asertActivationHeight,
        producers: context.producers,
        genesis: genesis.transactions,
        words: context.words,
        areWordsNew: context.areWordsNew,
        minOutputAmount: BigInt(config.network.minOutputAmount),
        ...(seedIndex === undefined ? {} : { seeds: genesis.walletSeeds[seedIndex] ?? [] }),
      },
      { ...context, kv: await dataDir.open('wallet'), logger: context.logger('wallet') },
    );
  } catch (error) {
    throw withAdvice(error, config.wallet.passphrase === '');
  }
}

function withAdvice(error: unknown, isMissing: boolean): unknown {
  const isNew = isTesseraError(error, 'blank_passphrase');
  if (!isNew && !isTesseraError(error, 'wrong_passphrase')) return error;
  const ways =
    'a file (wallet.passphrase_file), TESSERA_WALLET__PASSPHRASE, or typed when the node starts on a terminal';
  const what = isNew
    ? 'the wallet is new and needs a passphrase that is not blank'
    : isMissing
      ? 'the wallet has a passphrase and none was given'
      : 'the given passphrase does not open the wallet';
  return new TesseraError(error.code, `${what}: give it as ${ways}`, { cause: error });
}
