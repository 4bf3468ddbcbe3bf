/** `tessera dev`: runs a whole network in this process, with funded accounts, for trying things out. */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { MAX_TIME } from '../api/routes/dev/service.js';
import { type DevAccountsOptions, devAccounts, MAX_DEV_ACCOUNTS, normalMnemonic } from '../config/dev-accounts.js';
import { devConfig } from '../config/dev-config.js';
import { JOINT_API_PORT } from '../config/placing.js';
import type { FlagValue } from '../config/sources.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import type { Service } from '../lib/service.js';
import type { DevNetwork, DevNetworkOptions } from '../node/dev-network.js';
import { NodeLogger } from '../observability/logger.js';
import { type BannerFacts, devBanner, devJson } from './banner.js';
import {
  type CliContext,
  flag,
  integerFlag,
  type OwnCommand,
  type OwnSpec,
  type ParsedArgs,
  UsageError,
} from './command.js';
import { flagValues, LOG_LEVEL_FLAG, SET_FLAG } from './config-flags.js';
import { printFailure, runUntilStopped } from './lifecycle.js';
import { parseAmount } from './wallet/amounts.js';
import { WatchedScript, type WatchedScriptOptions } from './watched-script.js';

const HOST_ENV = 'TESSERA_DEV_HOST';
const MAX_INTERVAL_MS = 86_400_000;
/** Whole and decimal seconds: 0, 5, 0.25. */
const SECONDS = /^\d{1,5}(\.\d{1,3})?$/;
/** Largest offset of ports: the highest default port plus this must be a port. */
const MAX_PORT_OFFSET = 53_000;
const MAX_PORT = 65_535;

const spec: OwnSpec = {
  description: [
    'Runs a mempool, a storage, a miner and a user node in one process, on their default ports on loopback, without API keys. ' +
      'One more address serves all of them together: open that one. Two wallets and ten accounts hold funds; their keys are ' +
      'printed, and are the same at every start. NOT FOR PRODUCTION.',
    'A block is made as soon as a transaction waits for one; empty blocks are not made. Each start makes a new chain, which is ' +
      'removed at the end, unless --data names a folder for it, or --state a file.',
  ],
  flags: [
    flag('-a, --accounts N', `Number of accounts, up to ${MAX_DEV_ACCOUNTS}. Default: 10.`),
    flag(
      '--balance AMOUNT',
      'Balance of each account in block 0, in display units. Default: 100000000. The two wallets always have that.',
    ),
    flag(
      '-m, --mnemonic WORDS',
      'Derives the keys of the accounts from these 12 or 24 words, as `tessera wallet restore` does. Everyone on ' +
        'the machine can read the command line: never use words of a real wallet.',
    ),
    flag(
      '-b, --block-time SECONDS',
      'Makes a block at this interval, even an empty one. Default: 0, a block when a transaction waits.',
    ),
    flag('-i, --interval MS', 'The same in milliseconds.'),
    flag(
      '--no-mining',
      'Makes blocks only on request: `tessera mine`, POST /v1/dev/blocks. POST /v1/dev/automine resumes automatic ' +
        'blocks.',
    ),
    flag('-d, --data DIR', 'Keeps the chain in this folder and continues it at the next start.'),
    flag(
      '--fork URL',
      'Copies the chain of the storage node, or network of `tessera dev`, at this address, and continues it as a ' +
        'new chain. The blocks are checked. Funds of other owners are spent with their keys, or with --impersonate.',
    ),
    flag(
      '--impersonate',
      'Lets everybody spend from every address, without its key: `tessera faucet --from`. Such inputs are marked in the ' +
        'blocks, and the network has another name: nodes without this flag take neither its blocks nor its folder.',
    ),
    flag(
      '--clock SECONDS',
      'The clock of the chain stands at this Unix time, until it is set or moved on. Wallets have the same keys at every start: ' +
        'the same commands, one after the other, make blocks with the same hashes.',
    ),
    flag(
      '--watch FILE',
      'Runs this JavaScript file with Node.js after each start, and again on a clean chain whenever the file changes. It gets the ' +
        'addresses as TESSERA_URL, TESSERA_MEMPOOL_URL, TESSERA_STORAGE_URL, TESSERA_MINER_URL and TESSERA_USER_URL.',
      { completes: 'files' },
    ),
    flag(
      '--state FILE',
      'Loads the chain from this file, if it exists, and saves the chain there at the end. A kill loses what happened since ' +
        'the start; with --data nothing is lost.',
    ),
    flag(
      '-p, --port PORT',
      'Port of the shared address, which serves every route of the four nodes, and the pages. Default: ' +
        `${JOINT_API_PORT}. 0 takes any free port, off switches it off.`,
    ),
    flag(
      '--host ADDRESS',
      'IP address of the shared address. Default: the variable TESSERA_DEV_HOST (0.0.0.0 in the container image), ' +
        'else 127.0.0.1. Beyond loopback, everyone on the network can do everything except reading the secrets of ' +
        'the wallets.',
    ),
    flag(
      '--cors ORIGINS',
      'Origins of the web pages that may use the network, separated by commas, such as https://wallet.example. ' +
        'With all, any page in a browser on this machine can pay, mine and set the time. Default: loopback, pages ' +
        'of this machine.',
      { completes: ['loopback', 'all', 'off'] },
    ),
    flag('--port-offset N', 'Adds N to every port, so that two networks can run side by side.'),
    LOG_LEVEL_FLAG,
    SET_FLAG,
    flag('-q, --quiet', 'Prints errors only, and with --json the line of JSON.'),
  ],
  json:
    'Prints only one line of JSON when the network is ready, with URLs, accounts and their keys. The log goes to ' +
    'the error stream.',
  examples: {
    'tessera dev': 'Starts a new network and prints URLs, keys and requests to try.',
    'tessera dev --interval 1000 --data ./chain': 'Makes a block every second and keeps the chain in ./chain.',
    'tessera dev --port-offset 100': 'The same on ports 3100 to 3104, with the shared address at 8180.',
    'tessera dev --accounts 3 --balance 50.5 --mnemonic "$(cat words)"':
      'Makes three accounts from the recovery words in a file.',
    'tessera dev --watch scenario.mjs': 'Runs scenario.mjs on a new chain, each time that it is saved.',
    'tessera dev --block-time 5 --quiet --json': 'Makes a block every 5 seconds, and prints one line for a script.',
  },
  exits: { 130: 'ended by a second SIGINT', 143: 'ended by a second SIGTERM' },
};

/** Parts of a network that the command uses. */
type StartedNetwork = Service &
  Pick<DevNetwork, 'urls' | 'accounts' | 'mnemonic' | 'isUnsaved'> &
  Partial<Pick<DevNetwork, 'url'>> & { readonly control: WatchedScriptOptions['control'] };

type CreateDevNetwork = (options: DevNetworkOptions, modules: { readonly logger: NodeLogger }) => StartedNetwork;

export async function runDev(
  args: ParsedArgs,
  context: CliContext,
  load: () => Promise<{ readonly createDevNetwork: CreateDevNetwork }>,
): Promise<number> {
  const kept = args.value('data');
  const state = args.value('state');
  if (kept !== undefined && state !== undefined)
    throw new UsageError('--data and --state both keep the chain: give one');
  const watched = args.value('watch');
  if (watched !== undefined && !existsSync(watched)) throw new UsageError(`--watch: there is no file ${watched}`);
  const common = networkFlags(args, context);
  // Reports an invalid option before anything is made.
  const { log } = devConfig('mempool', { ...common, dataDir: kept ?? tmpdir() });
  // The folder is only named here. The nodes create it at their start, when signals are handled already.
  const dataDir = kept === undefined ? join(tmpdir(), `tessera-dev-${randomUUID()}`) : resolve(kept);
  const logger = NodeLogger.create(log, args.has('json') ? { out: context.stderr } : {});
  // The program of the nodes takes a second to load: without this line the command would seem to hang.
  if (!args.has('json') && !args.has('quiet')) context.stderr.write('Starting four nodes: a few seconds\n');
  let network: StartedNetwork | undefined;
  let script: WatchedScript | undefined;
  let isEnding = false;
  try {
    const { createDevNetwork } = await load();
    const made = createDevNetwork({ ...common, dataDir }, { logger });
    network = made;
    const onReady = () => {
      const places = { dataDir: kept === undefined ? null : dataDir, stateFile: common.stateFile };
      tell(args, context, { network: made, ...places, intervalMs: common.intervalMs, automine: common.automine });
      if (watched === undefined || isEnding) return;
      const say = (line: string) => args.has('quiet') || context.stderr.write(`${line}\n`);
      const { url, urls, control } = made;
      const output = args.has('json') ? 2 : 1;
      script = new WatchedScript({ file: resolve(watched), env: context.env, url, urls, control, output, say });
      script.start();
    };
    const running: Service = {
      failed: made.failed,
      start: () => made.start(),
      stop: async () => {
        isEnding = true;
        await script?.stop();
        await made.stop();
      },
    };
    return await runUntilStopped(running, { logger, context, onReady });
  } catch (error) {
    printFailure(error, context);
    return 1;
  } finally {
    if (network?.isUnsaved) printFailure(notSaved(common.stateFile, dataDir), context);
    else if (kept === undefined) await rm(dataDir, { recursive: true, force: true });
  }
}

/** Options of the network that flags give. */
function networkFlags(args: ParsedArgs, context: CliContext) {
  const intervalMs = intervalFlag(args);
  const state = args.value('state');
  const port: number | 'off' | undefined =
    args.value('port') === 'off' ? 'off' : integerFlag(args, 'port', 0, MAX_PORT);
  const host = hostFlag(args, context);
  return {
    accounts: accountFlags(args),
    ports: integerFlag(args, 'port-offset', 0, MAX_PORT_OFFSET) ?? 0,
    // --data names the folder of the network, not of one node.
    flags: [...quietFlag(args), ...flagValues(args).filter(({ option }) => option !== 'node.data_dir')],
    env: context.env,
    ...(port === undefined ? {} : { port }),
    ...(host === undefined ? {} : { host }),
    ...(intervalMs === undefined ? {} : { intervalMs }),
    automine: !args.has('no-mining'),
    impersonates: args.has('impersonate'),
    ...clockFlag(args),
    ...(state === undefined ? {} : { stateFile: resolve(state) }),
    ...forkFlag(args),
  };
}

function notSaved(stateFile: string | undefined, dataDir: string): TesseraError {
  const message = `the chain is not saved in ${stateFile}. It is in ${dataDir}: go on with tessera dev --data ${dataDir}`;
  return new TesseraError('write_failed', message);
}

interface Ready extends Pick<BannerFacts, 'dataDir' | 'stateFile' | 'intervalMs' | 'automine'> {
  readonly network: StartedNetwork;
}

function tell(args: ParsedArgs, { stdout }: CliContext, { network, ...facts }: Ready): void {
  const { url, urls, accounts, mnemonic } = network;
  // performance.now() counts from the start of the process.
  const all = { ...facts, url, urls, accounts, mnemonic, readyAfterMs: performance.now() };
  if (args.has('json')) stdout.write(devJson(all));
  else if (!args.has('quiet')) stdout.write(devBanner(all));
}

/** Address on which the network listens; undefined for loopback. Throws `UsageError`. */
function hostFlag(args: ParsedArgs, { env }: CliContext): string | undefined {
  const flag = args.value('host');
  const host = flag ?? env[HOST_ENV];
  if (host === undefined || isIP(host) !== 0) return host;
  throw new UsageError(`${flag === undefined ? HOST_ENV : '--host'} must be an IP address, not "${host}"`);
}

function intervalFlag(args: ParsedArgs): number | undefined {
  const seconds = args.value('block-time');
  const intervalMs = integerFlag(args, 'interval', 1, MAX_INTERVAL_MS);
  if (seconds === undefined) return intervalMs;
  if (intervalMs !== undefined) throw new UsageError('--block-time and --interval say the same: give one of them');
  const ms = Math.round(Number(seconds) * 1_000);
  if (!SECONDS.test(seconds) || ms > MAX_INTERVAL_MS) {
    throw new UsageError(`--block-time must be seconds from 0 to ${MAX_INTERVAL_MS / 1_000}, not "${seconds}"`);
  }
  return ms === 0 ? undefined : ms;
}

function clockFlag(args: ParsedArgs): Pick<DevNetworkOptions, 'clockAt'> {
  const clockAt = integerFlag(args, 'clock', 0, MAX_TIME);
  return clockAt === undefined ? {} : { clockAt };
}

/** The option `fork`, from the flag --fork. Throws `UsageError`. */
function forkFlag(args: ParsedArgs): Pick<DevNetworkOptions, 'fork'> {
  const fork = args.value('fork');
  if (fork === undefined) return {};
  if (!URL.canParse(fork)) throw new UsageError(`--fork must be a URL such as http://127.0.0.1:3001, not "${fork}"`);
  return { fork: new URL(fork).origin };
}

function accountFlags(args: ParsedArgs): DevAccountsOptions {
  const balance = args.value('balance');
  const mnemonic = args.value('mnemonic');
  const options = {
    count: integerFlag(args, 'accounts', 0, MAX_DEV_ACCOUNTS),
    balance: balance === undefined ? undefined : parseAmount(balance, false),
    mnemonic: mnemonic === undefined ? undefined : checked(() => normalMnemonic(mnemonic)),
  };
  checked(() => devAccounts(options));
  return options;
}

function checked<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new UsageError(errorMessage(error));
  }
}

function quietFlag(args: ParsedArgs): readonly FlagValue[] {
  return args.has('quiet') ? [{ option: 'log.level', value: 'error', flag: '--quiet' }] : [];
}

export const command: OwnCommand = {
  spec,
  run: (args, context) =>
    runDev(args, context, async () => {
      const { DevNetwork } = await import('../node/dev-network.js');
      return { createDevNetwork: (options, modules) => new DevNetwork(options, modules) };
    }),
};
