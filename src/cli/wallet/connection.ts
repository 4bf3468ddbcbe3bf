/** Which node a wallet command talks to, and with which API key. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Operation, Result } from '../../api/operation.js';
import { type CallParameters, NodeClient } from '../../client/client.js';
import { type LoadedConfig, loadConfig } from '../../config/load.js';
import type { Config } from '../../config/schema.js';
import { errorMessage, isTesseraError, TesseraError } from '../../lib/errors.js';
import { isLoopback } from '../../lib/ip-address.js';
import { type CliContext, type FlagSpec, type ParsedArgs, UsageError } from '../command.js';
import { CONFIG_FLAGS, configInput } from '../config-flags.js';

const API_KEY_FILE = 'api-key';
const API_KEY_FILE_ENV = 'TESSERA_API_KEY_FILE';

/** Flags that say which node is meant. */
export const ROLE_FLAGS: readonly FlagSpec[] = [
  { name: 'role', short: 'r', value: 'ROLE', description: 'The node whose wallet it is: user (the default) or miner.' },
  ...CONFIG_FLAGS.filter(({ name }) => name === 'config' || name === 'data'),
];

/** Flags of every command that calls a node. */
export const NODE_FLAGS: readonly FlagSpec[] = [
  {
    name: 'url',
    short: 'u',
    value: 'URL',
    description: 'Base URL of the API of the node. Default: as configured, http://127.0.0.1:3000 for a user.',
  },
  {
    name: 'api-key-file',
    short: 'k',
    value: 'FILE',
    description:
      `File with an API key of the node. Without it ${API_KEY_FILE_ENV}, else api-key in the data folder of a node on ` +
      'this machine.',
  },
  ...ROLE_FLAGS,
];

export const JSON_FLAG: FlagSpec = { name: 'json', description: 'Prints JSON for programs instead.' };
export const YES_FLAG: FlagSpec = { name: 'yes', short: 'y', description: 'Asks nothing.' };

/** Exit status → when, of every command that calls a node. */
export const NODE_EXITS: Readonly<Record<number, string>> = {
  1: 'failed: the node refused, or cannot be reached',
};

/** The configuration of the node whose wallet is meant; the role is user when nothing says otherwise. */
export function walletConfig(args: ParsedArgs, context: CliContext): LoadedConfig {
  const input = configInput(args, context);
  const { TESSERA_NODE__ROLE: envRole, TESSERA_CONFIG: envFile } = context.env;
  const isNamed = input.role ?? input.file ?? envRole ?? envFile;
  const loaded = loadConfig(isNamed === undefined ? { ...input, role: 'user' } : input);
  const { role } = loaded.config.node;
  if (role === 'user' || role === 'miner') return loaded;
  throw new UsageError(`a ${role} node has no wallet: use --role user or --role miner`);
}

/** A client for the node that flags, environment and configuration name. Throws `UsageError`. */
export function connect(args: ParsedArgs, context: CliContext): NodeClient {
  const named = args.value('url');
  let loaded: Config | undefined;
  const config = (): Config => {
    loaded ??= walletConfig(args, context).config;
    return loaded;
  };
  const url = named === undefined ? urlOf(config()) : checkUrl(named);
  const { protocol, hostname } = new URL(url);
  const isLocal = isLoopback(hostname);
  if (protocol === 'http:' && !isLocal) {
    context.stderr.write(`warning: ${url} is neither on this machine nor https: keys and passphrases can be read\n`);
  }
  const keyFile = args.value('api-key-file') ?? context.env[API_KEY_FILE_ENV];
  if (keyFile !== undefined) return new WalletClient(url, readKey(keyFile, true));
  // The key of a node on this machine is not sent to others.
  const apiKey = isLocal ? readKey(join(config().node.dataDir, API_KEY_FILE), false) : undefined;
  return new WalletClient(url, apiKey);
}

/** Says what to do about a missing API key. Has no time limit, because the node slows down guesses on purpose. */
class WalletClient extends NodeClient {
  constructor(url: string, apiKey: string | undefined) {
    super({ url, apiKey, timeoutMs: 0 });
  }

  override call<O extends Operation>(operation: O, ...args: CallParameters<O>): Promise<Result<O>> {
    return super.call(operation, ...args).catch(explain);
  }
}

function explain(error: unknown): never {
  if (!isTesseraError(error, 'missing_api_key') && !isTesseraError(error, 'invalid_api_key')) throw error;
  const hint = `Name its file with --api-key-file or ${API_KEY_FILE_ENV}; a node keeps its own in <data dir>/${API_KEY_FILE}.`;
  throw new TesseraError(error.code, `${error.message} ${hint}`, { cause: error });
}

function urlOf({ api }: Config): string {
  const isAny = api.host === '0.0.0.0' || api.host === '::';
  const host = isAny ? '127.0.0.1' : api.host;
  const scheme = api.tls.certFile === undefined ? 'http' : 'https';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${api.port}`;
}

/** The base URL of an API that a flag names. Throws `UsageError`. */
export function checkUrl(text: string, flag = 'url'): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '') {
    throw new UsageError(`--${flag} must be like http://127.0.0.1:3000, not "${text}"`);
  }
  if (url.username !== '' || url.password !== '') throw new UsageError(`--${flag} must not hold a secret`);
  return url.origin;
}

/** The key in the file; undefined if there is no file and none `isRequired` (a node with `api.auth = "open"` has none). */
function readKey(file: string, isRequired: boolean): string | undefined {
  try {
    const key = readFileSync(file, 'utf8').trim();
    if (key === '' || /[^\x21-\x7e]/.test(key)) throw new Error('it holds no key');
    return key;
  } catch (error) {
    if (!isRequired && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new UsageError(`the API key file ${file} cannot be used: ${errorMessage(error)}`);
  }
}
