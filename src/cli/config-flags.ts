/** The flags that set options of the configuration, shared by the commands that load one. */

import type { ConfigInput } from '../config/load.js';
import { OPTIONS, OPTIONS_BY_PATH } from '../config/option-table.js';
import type { FlagValue } from '../config/sources.js';
import { didYouMean } from '../config/suggest.js';
import { NODE_ROLES } from '../lib/roles.js';
import { type CliContext, type FlagSpec, flag, type ParsedArgs, UsageError } from './command.js';

const SHORTCUTS: Readonly<Record<string, string>> = {
  data: 'node.data_dir',
  name: 'node.name',
  'api-host': 'api.host',
  'api-port': 'api.port',
  'peer-host': 'peers.host',
  'peer-port': 'peers.port',
  'log-level': 'log.level',
  'log-format': 'log.format',
  cors: 'api.cors',
};

export const SET_FLAG: FlagSpec = flag(
  '-s, --set OPTION=VALUE',
  'Sets any option of the configuration: --set mining.threads=2. Lists are separated by commas.',
  { repeatable: true, completes: OPTIONS.map(({ path }) => `${path}=`) },
);

export const LOG_LEVEL_FLAG: FlagSpec = flag(
  '-l, --log-level LEVEL',
  'debug, info, warn, error or silent (log.level).',
  { completes: wordsOf('log.level') },
);

export const CONFIG_FLAGS: readonly FlagSpec[] = [
  flag(
    '-r, --role ROLE',
    'The role of the node: mempool, storage, miner or user. `tessera start` takes several, separated by commas, ' +
      'and runs a node for each.',
    { completes: NODE_ROLES },
  ),
  flag(
    '-c, --config FILE',
    'The config file, in TOML. Default: the file that TESSERA_CONFIG names, else the supplied file of the role.',
  ),
  flag('-d, --data DIR', 'The data folder of the node (node.data_dir).'),
  flag('-n, --name NAME', 'Name of the node in logs and metrics (node.name).'),
  flag('--api-host HOST', 'Address of the HTTP API (api.host).'),
  flag('-p, --api-port PORT', 'Port of the HTTP API (api.port).'),
  flag('--peer-host HOST', 'Address for links from other nodes (peers.host).'),
  flag('--peer-port PORT', 'Port for links from other nodes (peers.port).'),
  LOG_LEVEL_FLAG,
  flag('--log-format FORMAT', 'auto, json or pretty (log.format).', { completes: wordsOf('log.format') }),
  SET_FLAG,
];

function wordsOf(path: string): readonly string[] {
  const words: unknown = OPTIONS_BY_PATH.get(path)?.schema.enum;
  return Array.isArray(words) ? words.map(String) : [];
}

/** The values of `CONFIG_FLAGS`, for `loadConfig`. Throws `UsageError` for a malformed --set. */
export function configInput(args: ParsedArgs, context: CliContext): ConfigInput {
  const role = args.value('role');
  const file = args.value('config');
  return {
    env: context.env,
    flags: flagValues(args),
    ...(role === undefined ? {} : { role }),
    ...(file === undefined ? {} : { file }),
  };
}

export function flagValues(args: ParsedArgs): FlagValue[] {
  const shortcuts = Object.entries(SHORTCUTS).flatMap(([flag, option]) => {
    const value = args.value(flag);
    return value === undefined ? [] : [{ option, value, flag: `--${flag}` }];
  });
  return [...shortcuts, ...args.values('set').map(setting)];
}

function setting(text: string): FlagValue {
  const at = text.indexOf('=');
  if (at > 0) return { option: text.slice(0, at).trim(), value: text.slice(at + 1), flag: '--set' };
  const known = OPTIONS.map((option) => option.path);
  throw new UsageError(`--set ${text}: write OPTION=VALUE, as in --set api.port=3001${didYouMean(text, known)}`);
}
