/** The folder of a stopped node: its configuration, its passphrase, its wallet. */

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type LoadedConfig, loadConfig } from '../../config/load.js';
import type { Config } from '../../config/schema.js';
import { DataDir } from '../../db/data-dir.js';
import { MARKER_FILE, readMarker } from '../../db/marker.js';
import { systemClock } from '../../lib/clock.js';
import { TesseraError } from '../../lib/errors.js';
import { silentLogger } from '../../lib/logger.js';
import { systemRandom } from '../../lib/random.js';
import { hasWallet, isNodeRole, WALLET_ROLES } from '../../lib/roles.js';
import { KEYSTORE_FILE, Keystore } from '../../wallet/keys/keystore.js';
import type { WalletWords } from '../../wallet/keys/words.js';
import type { Wallet } from '../../wallet/wallet.js';
import { type CliContext, type FlagSpec, flag, type ParsedArgs, UsageError } from '../command.js';
import { configInput } from '../config-flags.js';
import { walletConfig } from './connection.js';
import { isInteractive } from './prompt.js';
import {
  askNewPassphrase,
  askNewSecret,
  givenSecret,
  needsPassphrase,
  PASSPHRASE,
  passphraseSource,
  type SecretSource,
} from './secrets.js';

const EXTRA_WORD: SecretSource = {
  flag: 'extra-word-file',
  env: 'TESSERA_WALLET_EXTRA_WORD',
  question: 'Passphrase word: ',
};

export const EXTRA_WORD_FLAGS: readonly FlagSpec[] = [
  flag('--extra-word', 'Asks for the BIP39 passphrase (the “25th word”), which is kept apart from the words.'),
  {
    name: EXTRA_WORD.flag,
    value: 'FILE',
    description: `File with the BIP39 passphrase. Default: the variable ${EXTRA_WORD.env}, else none.`,
  },
];

/** The configuration of the wallet's node. The supplied file of a role, with its public keys, is read only when it is named. */
export function folderConfig(args: ParsedArgs, context: CliContext): LoadedConfig {
  const input = configInput(args, context);
  const isNamed = input.file ?? context.env.TESSERA_CONFIG;
  if (isNamed !== undefined) return walletConfig(args, context);
  const role = input.role ?? context.env.TESSERA_NODE__ROLE ?? WALLET_ROLES[0];
  if (!isNodeRole(role) || !hasWallet(role)) return walletConfig(args, context);
  return loadConfig({ ...input, role, file: null });
}

/** The passphrase of a new wallet: from flag or variable of the command, else as configured, else typed twice. */
export async function newPassphrase(args: ParsedArgs, context: CliContext, loaded: LoadedConfig): Promise<string> {
  const isNamed = args.value(PASSPHRASE.flag) !== undefined || context.env[PASSPHRASE.env] !== undefined;
  const isGiven = passphraseSource(loaded) !== undefined;
  // Wallets of development networks may have no passphrase: a script need not give one, a person is asked.
  if (!isNamed && (isGiven || (!needsPassphrase(loaded) && !isInteractive(context)))) {
    return loaded.config.wallet.passphrase;
  }
  const passphrase =
    givenSecret(PASSPHRASE, args, context) ?? (await askNewPassphrase('Passphrase for the wallet: ', context));
  if (passphrase.trim() === '') throw new UsageError('the passphrase is blank: choose another');
  return passphrase;
}

/** The BIP39 passphrase; empty when none is given or asked for. */
export async function extraWord(args: ParsedArgs, context: CliContext): Promise<string> {
  const isNamed = args.value(EXTRA_WORD.flag) !== undefined || context.env[EXTRA_WORD.env] !== undefined;
  if (isNamed) return givenSecret(EXTRA_WORD, args, context) ?? '';
  return args.has('extra-word') ? askNewSecret(EXTRA_WORD.question, context) : '';
}

/** The keystore in the folder of a node. */
export function keystoreIn({ node }: Config): string {
  return join(node.dataDir, KEYSTORE_FILE);
}

/** Throws `invalid_request` when the folder has no wallet. */
export function checkHasKeystore(config: Config): void {
  const keystore = keystoreIn(config);
  if (!existsSync(keystore))
    throw new TesseraError('invalid_request', `${keystore} is not there: name the data folder`);
}

/** The words of a keystore; a node may run on it. */
export async function wordsIn(file: string, passphrase: string): Promise<WalletWords> {
  const keystore = await Keystore.read({ file, passphrase }, { random: systemRandom, clock: systemClock });
  try {
    return keystore.words();
  } finally {
    keystore.close();
  }
}

/** Secrets that open the wallet in a folder, or make it of these words. */
export interface WalletSeal {
  readonly passphrase: string;
  readonly words?: WalletWords | undefined;
  /** True when the words were made for this wallet. */
  readonly areWordsNew?: true;
}

/** Opens or makes the wallet in the folder, and closes it when the work is done. */
export type WithWallet = <T>(seal: WalletSeal, work: (wallet: Wallet) => Promise<T>) => Promise<T>;

/** Locks the folder during the work: no node can start on it. A folder that had no wallet, and gets none, belongs to no node afterwards. */
export async function withFolder<T>(config: Config, work: (withWallet: WithWallet) => Promise<T>): Promise<T> {
  const { dataDir: path, role } = config.node;
  const isClaimed = (await readMarker(path).catch(() => null)) !== undefined;
  const dataDir = await DataDir.open(path, { role, networkName: config.network.name });
  let isOpened = false;
  try {
    return await work(async (seal, use) => {
      isOpened = true;
      return useWallet({ config, dataDir }, seal, use);
    });
  } finally {
    if (!isClaimed && !isOpened) await rm(join(path, MARKER_FILE), { force: true });
    await dataDir.close();
  }
}

async function useWallet<T>(
  { config, dataDir }: { readonly config: Config; readonly dataDir: DataDir },
  { passphrase, ...words }: WalletSeal,
  work: (wallet: Wallet) => Promise<T>,
): Promise<T> {
  // The composition root is imported when it is needed: it brings half the program.
  const [{ readGenesis }, { openWallet }] = await Promise.all([
    import('../../node/genesis-file.js'),
    import('../../node/open-wallet.js'),
  ]);
  const genesis = await readGenesis(config.network.genesisFile);
  const sealed = { ...config, wallet: { ...config.wallet, passphrase } };
  const modules = { clock: systemClock, random: systemRandom, logger: () => silentLogger };
  const wallet = await openWallet({ config: sealed, genesis, dataDir, ...words, staysAsItIs: true, ...modules });
  try {
    return await work(wallet);
  } finally {
    await wallet.close();
  }
}
