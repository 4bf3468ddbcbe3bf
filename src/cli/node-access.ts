/** Chooses the node of a command, its API key, and the certificates to trust (docs/cli.md#which-node). */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { nodeFetch, type Trust } from '../client/node-fetch.js';
import type { Fetch } from '../client/transport.js';
import { type LoadedConfig, loadConfig, rolesOf } from '../config/load.js';
import type { Config } from '../config/schema.js';
import { runningNode } from '../db/folder-lock.js';
import { errorMessage, TesseraError } from '../lib/errors.js';
import { isLoopback } from '../lib/ip-address.js';
import { MAX_SECRET_FILE, MAX_WRITTEN_FILE, readBoundedText } from '../lib/read-bounded.js';
import type { NodeRole } from '../lib/roles.js';
import { isSystemError } from '../lib/system-error.js';
import { KEYSTORE_FILE } from '../wallet/keys/keystore.js';
import { type CliContext, type FlagSpec, flag, type ParsedArgs, UsageError } from './command.js';
import { API_KEY_FILE, API_KEY_FILE_ENV, CommandClient } from './command-client.js';
import { CONFIG_FLAGS, configInput } from './config-flags.js';

const CA_FILE_ENV = 'TESSERA_CA_FILE';

const CONFIG_AND_DATA = CONFIG_FLAGS.filter(({ name }) => name === 'config' || name === 'data');

export const CA_FILE_FLAG: FlagSpec = flag(
  '--ca-file FILE',
  'Certificates (PEM) of the authorities to trust for https, instead of those of Node.js. Default: the file that ' +
    `${CA_FILE_ENV} names; for the node of the configuration, its own api.tls.cert_file.`,
);

const API_KEY_FILE_FLAG: FlagSpec = flag(
  '-k, --api-key-file FILE',
  `File with an API key of the node. Default: the file that ${API_KEY_FILE_ENV} names; for a node on this machine, a key of ` +
    'its configuration (api.keys), else api-key in its data folder.',
);

/** The flags that name a node of one of the roles; `role` describes --role, `url` the default of --url. */
export function nodeFlags(roles: readonly NodeRole[], role: string, url: string): readonly FlagSpec[] {
  return [
    flag('-u, --url URL', `Base URL of the API of the node. Default: ${url}`),
    API_KEY_FILE_FLAG,
    CA_FILE_FLAG,
    flag('-r, --role ROLE', role, { completes: roles }),
    ...CONFIG_AND_DATA,
  ];
}

/** The kind of node that a command needs. */
export interface WantedNode {
  readonly roles: readonly NodeRole[];
  readonly refusal: (role: NodeRole) => string;
}

/** The configuration of the node that is meant. Throws `invalid_config`, and `UsageError` for one of a wrong role. */
export function nodeConfig(args: ParsedArgs, context: CliContext, wanted: WantedNode): LoadedConfig {
  const input = configInput(args, context);
  const { TESSERA_NODE__ROLE: envRole, TESSERA_CONFIG: envFile } = context.env;
  const isNamed = input.role ?? input.file ?? envRole ?? envFile;
  const chosen = isNamed === undefined ? wanted.roles[0] : oneOf(rolesOf(input), wanted);
  const loaded = loadConfig(chosen === undefined ? input : { ...input, role: chosen });
  const { role } = loaded.config.node;
  if (wanted.roles.includes(role)) return loaded;
  throw new UsageError(wanted.refusal(role));
}

/** Role in a process of several nodes that can do it; undefined with one node only, or none that can. */
function oneOf(roles: readonly NodeRole[] = [], { roles: able }: WantedNode): NodeRole | undefined {
  if (roles.length <= 1) return undefined;
  return able.find((role) => roles.includes(role));
}

/** The node that flags, environment and configuration name. Throws `UsageError`, or `node_unreachable` when it does not run. */
export function accessNode(args: ParsedArgs, context: CliContext, wanted: WantedNode) {
  const named = args.value('url');
  let read: LoadedConfig | undefined;
  const loaded = (): LoadedConfig => {
    read ??= nodeConfig(args, context, wanted);
    return read;
  };
  const config = (): Config => loaded().config;
  if (named === undefined) checkRuns(config());
  const url = named === undefined ? urlOf(config()) : checkUrl(named);
  const { protocol, hostname } = new URL(url);
  const isHere = named === undefined || isLoopback(hostname);
  if (protocol === 'http:' && !isHere) {
    context.stderr.write(`warning: ${url} is neither on this machine nor https: keys and passphrases can be read\n`);
  }
  const fetch = fetchFor(url, args, context, named === undefined ? config() : undefined);
  const keyFile = args.value(API_KEY_FILE_FLAG.name) ?? context.env[API_KEY_FILE_ENV];
  if (keyFile !== undefined) return { url, fetch, apiKey: readKey(keyFile, true) };
  // The key of a node on this machine is not sent to others.
  if (!isHere) return { url, fetch, apiKey: undefined };
  // With a URL, the configuration of a node of another role does not count.
  if (named !== undefined && !isOfWantedRole(args, context, wanted)) return { url, fetch, apiKey: undefined };
  return { url, fetch, apiKey: ownKey(loaded()) };
}

function isOfWantedRole(args: ParsedArgs, context: CliContext, wanted: WantedNode): boolean {
  try {
    return nodeConfig(args, context, wanted) !== undefined;
  } catch (error) {
    if (error instanceof UsageError) return false;
    throw error;
  }
}

/** A client for the node that flags, environment and configuration name. Throws as `accessNode`. */
export function connect(args: ParsedArgs, context: CliContext, wanted: WantedNode): CommandClient {
  return new CommandClient(accessNode(args, context, wanted), args, context);
}

export function publicClient(url: string, args: ParsedArgs, context: CliContext): CommandClient {
  return new CommandClient({ url, fetch: fetchFor(url, args, context, undefined) }, args, context);
}

/** Throws when the wallet's node does not run, or not yet: another node at the same port must not be taken for it. */
function checkRuns({ node }: Config): void {
  const { isThere, url } = runningNode(node.dataDir);
  if (url !== undefined || !existsSync(join(node.dataDir, KEYSTORE_FILE))) return;
  if (isThere) {
    throw new TesseraError(
      'node_unreachable',
      `the node of the wallet in ${node.dataDir} is starting, or another command has the folder: try again, or name the node with --url`,
    );
  }
  throw new TesseraError(
    'node_unreachable',
    `the node of the wallet in ${node.dataDir} does not run: start it, or name another node with --url`,
  );
}

/** URL of the configured node's API. A node that runs on its folder says so itself. */
function urlOf({ node, api }: Config): string {
  const { url } = runningNode(node.dataDir);
  if (url !== undefined) return reachable(new URL(url));
  const scheme = api.tls.certFile === undefined ? 'http' : 'https';
  return reachable(new URL(`${scheme}://${api.host.includes(':') ? `[${api.host}]` : api.host}:${api.port}`));
}

/** A node that listens on all addresses is asked on loopback. */
function reachable(url: URL): string {
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.hostname === '[::]') url.hostname = '[::1]';
  return url.origin;
}

/** True when the URL is that of the configured node: on this machine, any name for it will do. */
export function isNodeOf(url: string, config: Config): boolean {
  const [a, b] = [new URL(url), new URL(urlOf(config))];
  if (a.origin === b.origin) return true;
  return a.protocol === b.protocol && a.port === b.port && isLoopback(a.hostname) && isLoopback(b.hostname);
}

export function checkUrl(text: string, flag = 'url'): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.pathname !== '/' || url.search !== '') {
    throw new UsageError(`--${flag} must be like http://127.0.0.1:3000, not "${text}"`);
  }
  if (url.username !== '' || url.password !== '') throw new UsageError(`--${flag} must not hold a secret`);
  return url.origin;
}

function fetchFor(url: string, args: ParsedArgs, { env }: CliContext, own: Config | undefined): Fetch {
  if (!url.startsWith('https:')) return nodeFetch();
  const file = args.value(CA_FILE_FLAG.name) ?? env[CA_FILE_ENV];
  const trust = file === undefined ? ownCertificate(own) : { authorities: readCertificates(file) };
  return nodeFetch(trust);
}

/** The certificate of the configuration: the configured node, on this machine, has it, whatever name is in it. */
function ownCertificate(config: Config | undefined): Trust | undefined {
  const file = config?.api.tls.certFile;
  if (file === undefined) return undefined;
  try {
    return { certificate: readBoundedText(file, MAX_WRITTEN_FILE) };
  } catch {
    // The certificate may be readable by the node only: then those that Node.js trusts decide.
    return undefined;
  }
}

function readCertificates(file: string): string {
  try {
    const text = readBoundedText(file, MAX_WRITTEN_FILE);
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  } catch (error) {
    throw new UsageError(`the file of certificates ${file} cannot be read: ${errorMessage(error)}`);
  }
  throw new UsageError(`${file} holds no certificate in PEM`);
}

/** A key of the configured node that may do everything, else the key that the node or its process has made. */
function ownKey({ config: { api }, keyFolder }: LoadedConfig): string | undefined {
  if (api.auth === 'open') return undefined;
  if (api.keys.length === 0) return readKey(join(keyFolder, API_KEY_FILE), false);
  const { key } = api.keys.find((one) => one.routes === undefined && one.permissions === undefined) ?? {};
  return key;
}

/** The key in the file; undefined if there is no file and none `isRequired` (a node with `api.auth = "open"` has none). */
function readKey(file: string, isRequired: boolean): string | undefined {
  try {
    const key = readBoundedText(file, MAX_SECRET_FILE).trim();
    if (key === '' || /[^\x21-\x7e]/.test(key)) throw new Error('it holds no key');
    return key;
  } catch (error) {
    if (!isRequired && isSystemError(error, 'ENOENT')) return undefined;
    throw new UsageError(`the API key file ${file} cannot be used: ${errorMessage(error)}`);
  }
}
