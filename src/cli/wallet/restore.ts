/** `tessera wallet restore`: a wallet out of its words, with every key that the chain has seen. */

import { existsSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { getReadiness } from '../../api/routes/common/operations.js';
import type { NodeClient } from '../../client/client.js';
import type { LoadedConfig } from '../../config/load.js';
import { errorMessage, TesseraError } from '../../lib/errors.js';
import { printable } from '../../lib/printable.js';
import { openBackup, type WalletBackup } from '../../wallet/backup-file.js';
import { AddressSearch, SEARCH_GAP } from '../../wallet/keys/address-search.js';
import { DerivedKeys } from '../../wallet/keys/derived-keys.js';
import { isSameWords, parseWords, type WalletWords } from '../../wallet/keys/words.js';
import type { Wallet } from '../../wallet/wallet.js';
import {
  type CliContext,
  ExitError,
  flag,
  integerFlag,
  type OwnCommand,
  type ParsedArgs,
  printed,
  UsageError,
} from '../command.js';
import { TIMEOUT_FLAG } from '../command-client.js';
import { readNamed, readNamedOrInput } from '../named-file.js';
import { CA_FILE_FLAG, checkUrl, publicClient } from '../node-access.js';
import { withProgress } from '../output.js';
import { showAmount } from './amounts.js';
import {
  type ChainSearchModules,
  type ChainSearchResult,
  type Patience,
  searchChain,
  takeBlocks,
} from './chain-search.js';
import { ROLE_FLAGS, YES_FLAG } from './connection.js';
import {
  EXTRA_WORD_FLAGS,
  extraWord,
  folderConfig,
  keystoreIn,
  newPassphrase,
  withFolder,
  wordsIn,
} from './own-folder.js';
import { askSecret, confirm, DECLINED, INTERRUPTED, isInteractive } from './prompt.js';
import { PASSPHRASE, passphraseOf, secretFlag } from './secrets.js';

const MAX_GAP = 10_000;
const STORAGE = 'http://127.0.0.1:3001';
const MEMPOOL = 'http://127.0.0.1:3003';

interface Work {
  readonly title: string;
  readonly left: string;
}

const READING_CHAIN: Work = { title: 'reading the chain', left: 'nothing was changed; run the command again' };
const READING_HISTORY: Work = {
  title: 'reading the history',
  left: 'the wallet is made, without the unread blocks; run the command again to go on',
};

interface Wanted {
  readonly words: WalletWords;
  readonly passphrase: string;
}

interface Backup extends Wanted {
  readonly content: WalletBackup;
}

export const command: OwnCommand = {
  spec: {
    description: [
      'Reads the chain from a storage node, asks a mempool node for unspent outputs, and creates the wallet of these ' +
        'recovery words in the data folder of a user or miner node, with every key that was ever paid, its funds and ' +
        'its history. A file of `tessera wallet backup` (--backup-file) restores the labels too, and keys that are ' +
        'not derived from the words.',
      'The search in an account ends after --gap unpaid addresses in a row. The command cannot know which unpaid ' +
        'addresses were handed out.',
      'In a folder with a wallet, whose node is stopped, it finds keys and blocks that an old copy of the folder ' +
        'lacks; then the words may be left out. If the command is interrupted, run it again: it continues.',
      'Both nodes must be ready: while a node catches up or heals, it lacks blocks. A busy or absent node is asked ' +
        'again for some minutes. If nothing is found, the words may be wrong: the command asks before it creates the ' +
        'wallet.',
    ],
    flags: [
      ...ROLE_FLAGS,
      flag('--words-file FILE', 'File with the recovery words; - for standard input. Default: asks for them.'),
      flag('--backup-file FILE', 'File of `tessera wallet backup`; its passphrase becomes that of the wallet.'),
      ...EXTRA_WORD_FLAGS,
      secretFlag(PASSPHRASE, 'the passphrase for the new wallet, or of the existing one'),
      flag('--storage URL', `API of a storage node. Default: ${STORAGE}.`),
      flag('--mempool URL', `API of a mempool node. Default: ${MEMPOOL}.`),
      CA_FILE_FLAG,
      TIMEOUT_FLAG,
      flag('--gap N', `Number of unpaid addresses in a row that end the search. Default: ${SEARCH_GAP}.`),
      flag('--anyway', 'Searches even if a node is not ready: what it lacks is not found.'),
      { ...YES_FLAG, description: 'Creates the wallet even if nothing is found.' },
    ],
    examples: {
      'tessera wallet restore --data /var/lib/tessera/user --storage https://storage.example --mempool https://mempool.example':
        'Asks for a new passphrase and for the words.',
      'tessera wallet restore --data /var/lib/tessera/user --passphrase-file /run/secrets/wallet --gap 2000':
        'Searches again, and further, for the existing wallet or for typed words.',
    },
    exits: {
      1: 'nothing was restored, or not everything: the message says why',
      [DECLINED]: 'nothing was found, and the answer to the question was no',
      [INTERRUPTED]: 'interrupted: the message says whether the wallet is made',
    },
  },
  async run(args, context) {
    const gap = integerFlag(args, 'gap', 1, MAX_GAP) ?? SEARCH_GAP;
    const loaded = folderConfig(args, context);
    const { config } = loaded;
    const clients = {
      storage: clientOf('storage', STORAGE, args, context),
      mempool: clientOf('mempool', MEMPOOL, args, context),
    };
    const file = keystoreIn(config);
    const isNew = !existsSync(file);
    const backup = await readBackup(args, context, config.network.name);
    const { words, passphrase } = isNew
      ? (backup ?? (await wanted(args, context, loaded)))
      : await existing(file, args, context, backup);
    await withFolder(config, async (withWallet) => {
      // A node that was started meanwhile may have made one.
      if (isNew && existsSync(file)) throw otherWords(file);
      if (!args.has('anyway')) await checkReady(Object.values(clients));
      const derived = await DerivedKeys.of(words);
      const search = new AddressSearch(derived, gap, backup?.content.handedOut);
      const found = await atWork(READING_CHAIN, context, (modules) =>
        searchChain(search, { ...clients, ...modules }),
      ).finally(() => derived.close());
      if (isNew && search.found.length === 0 && !args.has('yes')) await confirmEmpty(found, context);
      const uncovered = await withWallet({ passphrase, words }, async (wallet) => {
        if (backup !== undefined) await wallet.coverage.adopt(backup.content);
        await wallet.coverage.handOut(search.found);
        await atWork(READING_HISTORY, context, (modules) =>
          takeBlocks(wallet, found.height, { storage: clients.storage, ...modules }),
        );
        noteDifference(wallet, found, context);
        return wallet.coverage.uncovered();
      });
      const balance = { ...found.balance, tokens: found.balance.tokens + uncovered };
      report({ search, found: { ...found, balance }, file }, args, context);
    });
    return 0;
  },
};

function clientOf(flag: string, fallback: string, args: ParsedArgs, context: CliContext): NodeClient {
  return publicClient(checkUrl(args.value(flag) ?? fallback, flag), args, context);
}

async function existing(
  file: string,
  args: ParsedArgs,
  context: CliContext,
  backup: Backup | undefined,
): Promise<Wanted> {
  const given = args.value('words-file');
  if (given === undefined && EXTRA_WORD_FLAGS.some(({ name }) => args.has(name))) {
    throw new UsageError(`${file} has its words, and its BIP39 passphrase: give --words-file too, to compare them`);
  }
  const passphrase = backup?.passphrase ?? (await passphraseOf(args, context));
  const words = await wordsIn(file, passphrase);
  const named =
    given === undefined
      ? backup?.words
      : parseWords(await readNamedOrInput(given, context.stdin), await extraWord(args, context));
  if (named !== undefined && !isSameWords(named, words)) throw otherWords(file);
  return { words, passphrase };
}

async function readBackup(args: ParsedArgs, context: CliContext, network: string): Promise<Backup | undefined> {
  const file = args.value('backup-file');
  if (file === undefined) return undefined;
  if (args.value('words-file') !== undefined)
    throw new UsageError('the backup file has the words: give one of the two');
  const sealed = readNamed(file);
  const passphrase = await passphraseOf(args, context);
  const content = await openBackup(sealed, passphrase, network);
  return { words: content.words, passphrase, content };
}

async function wanted(args: ParsedArgs, context: CliContext, loaded: LoadedConfig): Promise<Wanted> {
  const given = args.value('words-file');
  if (given === undefined && !isInteractive(context)) {
    throw new UsageError('the words are missing: give --words-file FILE, - for standard input, or use a terminal');
  }
  const extra = await extraWord(args, context);
  const words =
    given === undefined
      ? await askWords(extra, context)
      : parseWords(await readNamedOrInput(given, context.stdin), extra);
  return { words, passphrase: await newPassphrase(args, context, loaded) };
}

async function askWords(extra: string, context: CliContext): Promise<WalletWords> {
  for (;;) {
    const typed = await askSecret('The words, in their order (they are not shown): ', context);
    try {
      return parseWords(typed, extra);
    } catch (error) {
      context.stderr.write(`${errorMessage(error)}\n`);
    }
  }
}

/** Throws the reasons of nodes that are not ready: such a node may lack payments, and would say that there are none. */
async function checkReady(nodes: readonly NodeClient[]): Promise<void> {
  const answers = await Promise.all(nodes.map((node) => node.call(getReadiness)));
  const problems = nodes.flatMap(({ url }, i) => answers[i]?.reasons.map((reason) => `${url}: ${reason}`) ?? []);
  if (problems.length === 0) return;
  throw new TesseraError(
    'node_unreachable',
    `a node is not ready, and what it lacks would not be found (${problems.join('; ')}): wait, or add --anyway`,
  );
}

async function atWork<T>(
  { title, left }: Work,
  context: CliContext,
  work: (modules: Omit<ChainSearchModules, 'storage' | 'mempool'>) => Promise<T>,
): Promise<T> {
  return withProgress([title, 'blocks'], context, async (long) => {
    const patience: Patience = {
      // Timers of `Clock` do not keep the process alive.
      pause: (ms) => setTimeout(ms, undefined, { signal: long.signal }),
      onWait: ({ message }) => context.stderr.write(`${printable(message)}: asking again\n`),
    };
    return work({ ...long, ...patience }).catch((error) => {
      if (!long.signal.aborted) throw error;
      throw new ExitError(INTERRUPTED, 'aborted', `interrupted: ${left}`);
    });
  });
}

/** Asks when no payment was found: wrong words have none either, and their wallet would be taken for an empty one. */
async function confirmEmpty({ height }: ChainSearchResult, context: CliContext): Promise<void> {
  const what =
    `no address of these words was ever paid, up to block ${height}: one of the words may be wrong, or the BIP39 passphrase ` +
    'wrong or missing, which gives another wallet';
  if (!isInteractive(context)) {
    throw new TesseraError('invalid_request', `${what}; no wallet was made (--yes makes it)`);
  }
  await confirm(`${what.charAt(0).toUpperCase() + what.slice(1)}. Make it all the same?`, context);
}

function otherWords(file: string): TesseraError {
  return new TesseraError('wallet_exists', `${file} belongs to a wallet with other words: name another folder`);
}

/** Warns when the mempool node and the storage node count differently: then one of the two is behind the other. */
function noteDifference(wallet: Wallet, { balance, height }: ChainSearchResult, { stderr }: CliContext): void {
  const inBlocks = wallet.coins.totals().running - wallet.coverage.uncovered();
  const isComparable = balance.uncounted === 0 && wallet.outgoing.inFlight().length === 0;
  if (!isComparable || inBlocks === balance.tokens) return;
  stderr.write(
    `the mempool node counts ${showAmount(balance.tokens)}, and the blocks of the storage node, up to ${height}, ` +
      `${showAmount(inBlocks)}: one of the two is behind, or a block is being made; the node takes in what is missing when ` +
      'it starts\n',
  );
}

interface Restored {
  readonly search: AddressSearch;
  readonly found: ChainSearchResult;
  readonly file: string;
}

function report({ search, found, file }: Restored, args: ParsedArgs, context: CliContext): void {
  const addresses = search.found.length;
  const { balance, height } = found;
  const { tokens, items, uncounted } = balance;
  const block_num = height < 0 ? null : height;
  const kinds = items.size === 0 ? '' : `, and items of ${items.size} kinds`;
  const rest = uncounted === 0 ? '' : `, without ${uncounted} with more outputs than the node lists`;
  const end = height < 0 ? 'the chain has no block' : `the last block read is ${height}`;
  const text = `${file}: ${addresses} addresses are known again; they hold ${showAmount(tokens)}${kinds}${rest}; ${end}`;
  printed(args, context, { keystore: file, addresses, block_num, tokens, items, uncounted }, text);
}
